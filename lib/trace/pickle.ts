/** Python's pickle, as much of it as plain data needs, in the opcodes that PyTorch's viewer reads too. */

/** What can be pickled. Arrays become lists, objects dicts; a Pair becomes a tuple of two. */
export type Picklable =
  null | boolean | number | string | Pair | Picklable[] | { [key: string]: Picklable }

export class Pair {
  constructor(
    readonly first: Picklable,
    readonly second: Picklable,
  ) {}
}

const op = {
  proto: 0x80,
  stop: 0x2e, // .
  mark: 0x28, // (
  none: 0x4e, // N
  yes: 0x88,
  no: 0x89,
  byte: 0x4b, // K
  short: 0x4d, // M
  int: 0x4a, // J
  long: 0x8a,
  unicode: 0x58, // X
  list: 0x5d, // ]
  appends: 0x65, // e
  dict: 0x7d, // }
  setItems: 0x75, // u
  pair: 0x86,
  put: 0x72, // r
  get: 0x6a, // j
} as const

/** As Python batches them: a reader may take one batch as the arguments of one call. */
const batch = 1000

/** Bytes that grow. */
class Bytes {
  #buffer = Buffer.allocUnsafe(1 << 16)
  #length = 0

  #room(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#buffer.length * 2))
      this.#buffer.copy(larger, 0, 0, at)
      this.#buffer = larger
    }
    return at
  }

  byte(...values: number[]): void {
    for (const value of values) {
      const at = this.#room(1)
      this.#buffer[at] = value
    }
  }

  int32(value: number): void {
    const at = this.#room(4)
    this.#buffer.writeInt32LE(value, at)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.int32(length)
    const at = this.#room(length)
    this.#buffer.write(value, at, 'utf8')
  }

  all(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }
}

class Pickler {
  readonly bytes = new Bytes()
  /** Strings, and objects by identity: written once, then named by number. */
  readonly #memo = new Map<unknown, number>()

  write(value: Picklable): void {
    if (value === null) this.bytes.byte(op.none)
    else if (typeof value === 'boolean') this.bytes.byte(value ? op.yes : op.no)
    else if (typeof value === 'number') this.#integer(value)
    else if (!this.#known(value)) this.#once(value)
  }

  #known(value: unknown): boolean {
    const number = this.#memo.get(value)
    if (number === undefined) return false
    this.bytes.byte(op.get)
    this.bytes.int32(number)
    return true
  }

  #remember(value: unknown): void {
    this.bytes.byte(op.put)
    this.bytes.int32(this.#memo.size)
    this.#memo.set(value, this.#memo.size)
  }

  #once(value: string | Pair | Picklable[] | { [key: string]: Picklable }): void {
    if (typeof value === 'string') {
      this.bytes.byte(op.unicode)
      this.bytes.text(value)
      this.#remember(value)
    } else if (value instanceof Pair) {
      this.write(value.first)
      this.write(value.second)
      this.bytes.byte(op.pair)
    } else if (Array.isArray(value)) {
      this.bytes.byte(op.list)
      this.#remember(value)
      this.#inBatches(value, op.appends, (element) => this.write(element))
    } else {
      this.bytes.byte(op.dict)
      this.#remember(value)
      this.#inBatches(Object.entries(value), op.setItems, ([key, item]) => {
        this.write(key)
        this.write(item)
      })
    }
  }

  #inBatches<Element>(all: Element[], end: number, write: (element: Element) => void): void {
    for (let at = 0; at < all.length; at += batch) {
      this.bytes.byte(op.mark)
      for (const element of all.slice(at, at + batch)) write(element)
      this.bytes.byte(end)
    }
  }

  /** Safe integers only: nothing here is a fraction. */
  #integer(value: number): void {
    if (!Number.isSafeInteger(value))
      throw new RangeError(`${value} is no integer that can be pickled`)
    if (value >= 0 && value < 256) return this.bytes.byte(op.byte, value)
    if (value >= 0 && value < 65536) return this.bytes.byte(op.short, value & 255, value >> 8)
    if (value >= -(2 ** 31) && value < 2 ** 31) {
      this.bytes.byte(op.int)
      return this.bytes.int32(value)
    }
    this.bytes.byte(op.long, 8)
    const long = Buffer.alloc(8)
    long.writeBigInt64LE(BigInt(value))
    this.bytes.byte(...long)
  }
}

/** Protocol 2. Objects that are the same object in `value` are the same object when loaded. */
export function pickle(value: Picklable): Buffer {
  const pickler = new Pickler()
  pickler.bytes.byte(op.proto, 2)
  pickler.write(value)
  pickler.bytes.byte(op.stop)
  return pickler.bytes.all()
}
