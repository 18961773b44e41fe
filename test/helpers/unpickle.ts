/** Loads a pickle as PyTorch's viewer does: those of its opcodes that we write, one batch one call. */
export function unpickle(bytes: Buffer): unknown {
  const stack: unknown[] = []
  const marks: number[] = []
  const memo: unknown[] = []
  let at = 0
  const batch = (): unknown[] => stack.splice(marks.pop()!)
  const steps: Record<string, () => void> = {
    '\x80': () => expect(bytes[at++]).toBe(2),
    '(': () => marks.push(stack.length),
    N: () => stack.push(null),
    '\x88': () => stack.push(true),
    '\x89': () => stack.push(false),
    K: () => stack.push(bytes[at++]),
    M: () => stack.push(bytes.readUInt16LE((at += 2) - 2)),
    J: () => stack.push(bytes.readInt32LE((at += 4) - 4)),
    '\x8a': () => {
      expect(bytes[at++]).toBe(8)
      stack.push(Number(bytes.readBigInt64LE((at += 8) - 8)))
    },
    X: () => {
      const length = bytes.readUInt32LE((at += 4) - 4)
      stack.push(bytes.toString('utf8', at, (at += length)))
    },
    ']': () => stack.push([]),
    '}': () => stack.push({}),
    e: () => {
      const elements = batch()
      expect(elements.length).toBeLessThanOrEqual(1000)
      ;(stack.at(-1) as unknown[]).push(...elements)
    },
    u: () => {
      const entries = batch()
      const target = stack.at(-1) as Record<string, unknown>
      for (let i = 0; i < entries.length; i += 2) target[entries[i] as string] = entries[i + 1]
    },
    '\x86': () => stack.push(stack.splice(-2)),
    r: () => (memo[bytes.readUInt32LE((at += 4) - 4)] = stack.at(-1)),
    j: () => stack.push(memo[bytes.readUInt32LE((at += 4) - 4)]),
  }
  for (;;) {
    const opcode = String.fromCharCode(bytes[at++]!)
    if (opcode === '.') break
    const step = steps[opcode]
    if (step === undefined) throw new Error(`opcode ${opcode.charCodeAt(0)} at ${at - 1}`)
    step()
  }
  expect(at).toBe(bytes.length)
  expect(stack).toHaveLength(1)
  return stack[0]
}
