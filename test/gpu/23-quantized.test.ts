/** Weights of codes on a card: the same bits as the CPU's where numbers are made, close where they are summed. */
import { dequantize, quantizedLinear, QuantizedWeight } from '../../lib/ops/index.js'
import type { Device, FloatDType, StoredWeight } from '../../lib/ops/index.js'
import { makeWeight, weightCases, weightName, type WeightCase } from '../ops-cases/quantized.js'
import { quantizedLinearCases, tiledLinearCases } from '../ops-cases/quantized-linear.js'
import { Random } from '../ops-cases/random.js'
import { Scope } from '../ops-cases/scope.js'
import { expectSameBits, holdCuda, useDevices } from './devices.js'

const devices = useDevices()

function numbersOf(
  device: Device,
  stored: StoredWeight,
  dtype: FloatDType,
  gap: number,
): Float32Array {
  using scope = new Scope(device)
  using weight = QuantizedWeight.upload(device, stored)
  const out = scope.matrix(dtype, stored.rows, stored.columns, null, gap)
  dequantize(out.view, weight)
  return out.read()
}

/** Long rows, many groups: several blocks of every kernel. */
const large: readonly WeightCase[] = [
  {
    layout: 'gptq',
    codeType: 'u4',
    shape: [512, 4224],
    groupColumns: 128,
    scaleType: 'fp16',
    zeros: true,
  },
  {
    layout: 'awq',
    codeType: 'u4',
    shape: [520, 2112],
    groupColumns: 64,
    scaleType: 'fp16',
    zeros: true,
  },
  {
    layout: 'gptq',
    codeType: 'u3',
    shape: [288, 2208],
    groupColumns: 32,
    scaleType: 'fp16',
    zeros: true,
  },
  {
    layout: 'rows',
    codeType: 'e4m3',
    shape: [576, 1536],
    groupRows: 128,
    groupColumns: 128,
    scaleType: 'fp32',
  },
]

describe.each([...weightCases, ...large].map((one) => [weightName(one), one] as const))(
  'numbers of %s',
  (_, one) => {
    it.each([
      ['fp32', 0],
      ['fp32', 3],
      ['bf16', 0],
      ['fp16', 5],
    ] as const)('as %s, gap %i', (dtype, gap) => {
      const { stored } = makeWeight(one, new Random(5))
      const ours = numbersOf(devices.cuda, stored, dtype, gap)
      expectSameBits(ours, numbersOf(devices.cpu, stored, dtype, gap))
    })
  },
)

/** Groups of columns that are not as many each: such a weight stays as it is stored. */
test('numbers of uneven act-order', () => {
  const one = { layout: 'rows', codeType: 'u4', shape: [70, 160], groupColumns: 32 } as const
  const { stored } = makeWeight({ ...one, scaleType: 'bf16', actOrder: true }, new Random(6))
  const groupIndex = Int32Array.from({ length: 160 }, (_, k) => (k * k) % 5)
  const uneven = { ...stored, groupIndex }
  const ours = numbersOf(devices.cuda, uneven, 'fp32', 0)
  expectSameBits(ours, numbersOf(devices.cpu, uneven, 'fp32', 0))
})

/** Through a weight that is the identity, whose sums are exact. */
function quantizedInputs(
  device: Device,
  codeType: 'i8' | 'e4m3',
  activations: NonNullable<StoredWeight['activations']>,
  x: Float32Array,
): Float32Array {
  const size = 256
  const codes = new Uint8Array(size * size)
  for (let i = 0; i < size; i++) codes[i * size + i] = codeType === 'i8' ? 1 : 0x38
  using scope = new Scope(device)
  using weight = QuantizedWeight.upload(device, {
    ...{ layout: 'rows', codeType, rows: size, columns: size, codes, activations },
    ...{ scaleType: 'fp32', scales: Float32Array.of(1) },
  })
  const rows = x.length / size
  const out = scope.matrix('fp32', rows, size, null)
  quantizedLinear(out.view, scope.matrix('fp32', rows, size, x).view, weight)
  return out.read()
}

describe.each(['i8', 'e4m3'] as const)('activations as %s', (codeType) => {
  const random = new Random(11)
  const x = random.values(8 * 256, 'fp32', 3)
  x.fill(0, 0, 256)
  x.set(
    [1e-9, 1e-5, 2 ** -10, 2 ** -9, 447, 448, 460, 464, 480, 1e4, 100, -100, 0.5, 1.5, -2.5],
    256,
  )
  it.each([
    { scaling: 'token' } as const,
    { scaling: 'static', inputScale: 1 } as const,
    { scaling: 'static', inputScale: 0.037 } as const,
    { scaling: 'group', group: 128 } as const,
    { scaling: 'group', group: 48 } as const,
  ])('%j', (how) => {
    const ours = quantizedInputs(devices.cuda, codeType, how, x)
    expectSameBits(ours, quantizedInputs(devices.cpu, codeType, how, x))
  })
})

describe('products', () => {
  holdCuda(devices, quantizedLinearCases(true))
})

describe('products of several tiles', () => {
  holdCuda(devices, tiledLinearCases())
})
