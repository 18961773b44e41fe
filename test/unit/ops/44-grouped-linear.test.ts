import { Device, groupedLinear, QuantizedWeight } from '../../../lib/ops/index.js'
import { groupedLinearCases } from '../../ops-cases/grouped-linear.js'
import { Scope } from '../../ops-cases/scope.js'
import { holdCpuToReference } from './cases.js'

holdCpuToReference(groupedLinearCases(false))

describe('rows of experts', () => {
  function call(first: number[], rows: number[]): void {
    using device = Device.open('cpu')
    using scope = new Scope(device)
    using weight = QuantizedWeight.upload(device, {
      ...{ layout: 'rows', codeType: 'i8', rows: 8, columns: 4, codes: new Uint8Array(32) },
      ...{ scaleType: 'fp32', scales: new Float32Array(8) },
    })
    const out = scope.matrix('fp32', 6, 4, new Float32Array(24))
    const x = scope.matrix('fp32', 6, 4, new Float32Array(24))
    groupedLinear(out.view, x.view, weight, { first, rows })
  }

  test.each([
    [[0, 3], [3, 4], 'expert 1 has rows 3 to 7: expected rows of x, which has 6'],
    [[0, 2], [3, 3], 'expert 1 has rows 2 to 5'],
    [[-1, 2], [1, 3], 'expert 0 has rows -1 to 0'],
    [[0, 2], [-1, 3], 'expert 0 has rows 0 to -1'],
    [[0, 2, 4], [1, 1, 1], 'weight.rows is 8'],
    [[0, 2], [1], 'rows.length is 1'],
  ])('%j with %j: refused', (first, rows, words) => {
    expect(() => call(first, rows)).toThrow(words)
  })

  test('an expert without rows may begin anywhere', () => {
    expect(() => call([77, 0], [0, 6])).not.toThrow()
  })
})
