/** A case of an op, and how its outputs on a device are held to the reference or to another device. */
import type { FloatDType } from '../../lib/ops/dtype.js'
import type { Device } from '../../lib/ops/index.js'
import { Random } from './random.js'

export type Outputs = Record<string, ArrayLike<number>>

export interface OpCase {
  name: string
  /** Runs the op on fresh tensors of the device. The same inputs every time. */
  run(device: Device): Outputs
  /** The same in fp64, by independent code, not rounded to the output's dtype. */
  reference(): Outputs
  /** |actual − expected| ≤ absolute + relative · |expected|, for every element. */
  tolerance: { relative: number; absolute: number }
}

/** A case whose inputs are made when it is first used, from random numbers that its name alone decides. */
export function lazyCase(name: string, make: (random: Random) => Omit<OpCase, 'name'>): OpCase {
  let made: Omit<OpCase, 'name'> | undefined
  const get = (): Omit<OpCase, 'name'> => (made ??= make(new Random(seedOf(name))))
  return {
    name,
    run: (device) => get().run(device),
    reference: () => get().reference(),
    get tolerance() {
      return get().tolerance
    },
  }
}

/** FNV-1a. */
function seedOf(name: string): number {
  let hash = 0x811c9dc5
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193)
  return hash
}

/** The largest relative error of rounding to each dtype: half a unit in the last place. */
export const unit: Record<FloatDType, number> = { fp32: 2 ** -24, bf16: 2 ** -8, fp16: 2 ** -11 }

/** For results near 1 in size, made of `terms` roundings. */
export function toleranceOf(dtype: FloatDType, terms = 1): OpCase['tolerance'] {
  const arithmetic = 2 ** -22 * Math.sqrt(terms)
  return {
    relative: unit[dtype] + 2 ** -21,
    absolute: arithmetic + (dtype === 'fp16' ? 2 ** -25 : 0),
  }
}

/**
 * What a sum of `terms` products of numbers near 1 may miss on tensor cores. They cut off what does not fit beside the
 * largest addend (Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021), so every 16 products a sum near
 * sqrt(terms) loses half a unit in the last place on average, always towards zero: beyond 512 terms more than what
 * averages out.
 */
export const tensorSumError = (terms: number): number =>
  2 ** -19 * Math.sqrt(terms) * (1 + terms / 512)

export function expectReference(testCase: OpCase, device: Device): void {
  expectClose(testCase, testCase.run(device), testCase.reference())
}

/** For a device under test against the CPU, whose own error the tolerance covers a second time. */
export function expectSameAs(testCase: OpCase, device: Device, cpu: Device): void {
  expectClose(testCase, testCase.run(device), testCase.run(cpu), 2)
}

function expectClose(testCase: OpCase, actual: Outputs, expected: Outputs, slack = 1): void {
  for (const [name, want] of Object.entries(expected)) {
    const got = actual[name]
    if (got?.length !== want.length) {
      throw new Error(
        `${testCase.name}: ${name} has ${got?.length} elements, expected ${want.length}`,
      )
    }
    for (let i = 0; i < want.length; i++) requireClose(testCase, name, i, got[i]!, want[i]!, slack)
  }
}

function requireClose(
  { name, tolerance }: OpCase,
  output: string,
  index: number,
  got: number,
  want: number,
  slack: number,
): void {
  if (Object.is(got, want) || got === want) return
  const allowed = slack * (tolerance.absolute + tolerance.relative * Math.abs(want))
  if (Math.abs(got - want) <= allowed) return
  throw new Error(`${name}: ${output}[${index}] is ${got}, expected ${want} ± ${allowed}`)
}
