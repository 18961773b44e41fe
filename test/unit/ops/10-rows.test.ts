import { expectReference } from '../../ops-cases/compare.js'
import { linearCases } from '../../ops-cases/linear.js'
import * as rows from '../../ops-cases/rows.js'
import { attentionCases, kvWriteCases } from '../../ops-cases/attention.js'
import { Device } from '../../../lib/ops/index.js'

describe('the CPU agrees with fp64', () => {
  let cpu: Device
  beforeAll(() => {
    cpu = Device.open('cpu')
  })
  afterAll(() => {
    expect(cpu.ledger()).toEqual([])
    cpu.dispose()
  })

  const cases = [
    ...rows.convertCases(),
    ...rows.embeddingCases(),
    ...rows.gatherRowsCases(),
    ...rows.rmsNormCases(),
    ...rows.addRmsNormCases(),
    ...rows.addCases(),
    ...rows.swigluCases(),
    ...rows.headNormCases(),
    ...rows.ropeCases(),
    ...linearCases(),
    ...kvWriteCases(),
    ...attentionCases(),
  ]
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    expectReference(one, cpu)
  })
})
