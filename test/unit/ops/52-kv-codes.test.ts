/** Caches of codes: bytes against the definition, attention against fp64 over the numbers they stand for. */
import { codedAttentionCases, codedWriteCases } from '../../ops-cases/kv-codes.js'
import { e4m3Code, e4m3Number, int8Row } from '../../ops-cases/reference-codes.js'
import { holdCpuToReference } from './cases.js'

test('the reference agrees with published examples', () => {
  const codes = [0.5, -1.25, 3, 100, 2 ** -7, 2 ** -9, 448, 1e9].map(e4m3Code)
  expect(codes).toEqual([0x30, 0xba, 0x44, 0x6c, 0x04, 0x01, 0x7e, 0x7e])
  expect(codes.slice(0, 3).map(e4m3Number)).toEqual([0.5, -1.25, 3])
  const { codes: bytes, scale } = int8Row([0.5, -1, 0.25, 0.9961])
  expect([...new Int8Array(bytes.buffer)]).toEqual([64, -127, 32, 127])
  expect(scale).toBeCloseTo(0.007874, 6)
})

holdCpuToReference([...codedWriteCases(), ...codedAttentionCases()])
