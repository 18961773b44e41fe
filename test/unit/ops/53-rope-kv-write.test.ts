/** ropeKvWrite is headNorm, rope and kvWrite, which are held to fp64: bit for bit. */
import { Device } from '../../../lib/ops/index.js'
import { ropeWriteCases } from '../../ops-cases/rope-write.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

let cpu: Device
beforeAll(() => {
  cpu = Device.open('cpu')
})
afterEach(() => {
  expect(cpu.ledger()).toEqual([])
})
afterAll(() => {
  cpu.dispose()
  expectNothingLive()
})

test.each(ropeWriteCases().map((one) => [one.name, one] as const))('%s', (_, one) => {
  expect(one.fused(cpu)).toEqual(one.inTurn(cpu))
})
