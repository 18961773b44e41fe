/** Refusals of caches of codes, variants of attention and ropeKvWrite: each names what is wrong, nothing is computed. */
import * as ops from '../../../lib/ops/index.js'
import type { CodedKvCache, DeviceBuffer, FloatDType } from '../../../lib/ops/index.js'
import { loadNative } from '../../../lib/native.js'
import { openCpu, refusedWith as refused } from './cpu.js'

const { cpu, zeroed } = openCpu(1)
const fp32 = (shape: readonly number[]): DeviceBuffer<'fp32'> => zeroed('fp32', shape)
const bytes = (shape: readonly number[]): DeviceBuffer<'u8'> => zeroed('u8', shape)

const shape = { blocks: 2, layers: 1, kvHeads: 2, blockSize: 16, headDim: 8 }

function coded(dtype: 'fp8_e4m3' | 'int8', scaling?: CodedKvCache['scaling']): CodedKvCache {
  const whole = { ...shape, dtype, ...(scaling !== undefined && { scaling }) }
  return { ...whole, buffer: bytes([2, ops.kvBlockBytes(whole)]) }
}

test('bytes of a block', () => {
  const codes = 2 * 2 * 16 * 8
  expect(ops.kvBlockBytes({ ...shape, dtype: 'fp8_e4m3' })).toBe(codes)
  expect(ops.kvBlockBytes({ ...shape, dtype: 'fp8_e4m3', scaling: 'head' })).toBe(codes + 16)
  const three = { ...shape, dtype: 'fp8_e4m3', scaling: 'head', kvHeads: 3 } as const
  expect(ops.kvBlockBytes(three)).toBe(2 * 3 * 16 * 8 + 32) // 24 bytes, on the next 16
  expect(ops.kvBlockBytes({ ...shape, dtype: 'int8' })).toBe(codes + 2 * 2 * 16 * 4)
  refused(() => ops.kvBlockBytes({ ...shape, dtype: 'bf16' as never }), 'dtype is "bf16"')
  refused(() => ops.kvBlockBytes({ ...shape, dtype: 'int8', scaling: 'head' }), 'token for int8')
  refused(() => ops.kvBlockBytes({ ...shape, dtype: 'int8', layers: 0 }), 'layers is 0')
  expect(() => ops.kvBlockBytes({ ...shape, dtype: 'int8', head: 1 } as never)).toThrow(
    expect.objectContaining({ code: 'OCTAVO_UNKNOWN_OPTION' }),
  )
})

test('caches of codes and their scales', () => {
  const row = fp32([1, 2, 8])
  const write = (cache: ops.KvCacheArgument, options?: ops.KvScaleOptions) =>
    ops.kvWrite(cache, 0, row, row, [0], options)
  const tensor = coded('fp8_e4m3')
  write(tensor, { keyScale: 0.5, valueScale: 2 })
  write(coded('fp8_e4m3', 'head'), { keyScale: fp32([2]), valueScale: fp32([2]) })
  write(coded('int8'))
  refused(() => write({ ...tensor, blocks: 3 }), 'covers 1536 elements', '1024 of fp8_e4m3')
  refused(() => write({ ...coded('int8'), dtype: 'fp8_e4m3', scaling: 'token' }), 'tensor or head')
  refused(() => write({ ...tensor, buffer: fp32([2, 512]) as never }), 'a buffer of u8')
  refused(() => write({ ...tensor, buffer: null as never }), 'cache.buffer is null')
  refused(() => write({ ...tensor, blockSize: 8 }), 'blockSize is 8')
  for (const keyScale of [0, -1, NaN, Infinity, 1e-60, 'x' as never]) {
    refused(() => write(tensor, { keyScale }), 'keyScale is', 'above 0')
  }
  refused(() => write(coded('int8'), { keyScale: 1 }), 'int8 makes its own')
  refused(() => write(fp32([2, 1, 2, 2, 16, 8]), { valueScale: 1 }), 'a cache of floats')
  refused(() => write(coded('fp8_e4m3', 'head'), { keyScale: 1 }), 'keyScale is 1', 'a KV head')
  refused(() => write(coded('fp8_e4m3', 'head'), { valueScale: fp32([3]) }), 'size is 3')
  expect(() => write(tensor, { scale: 1 } as never)).toThrow(
    expect.objectContaining({ code: 'OCTAVO_UNKNOWN_OPTION' }),
  )
})

test('the addon refuses what the SDK never sends', () => {
  const native = loadNative().ops
  const row = fp32([1, 2, 8])
  const heads = { offset: 0, dtype: 'fp32', tokens: 1, heads: 2, dim: 8, tokenStride: 16 } as const
  const { buffer, ...sizes } = coded('int8')
  const call = (changes: object) => {
    const cache = { ...sizes, buffer: buffer.handle, scaling: 'token', offset: 0, ...changes }
    const both = { ...heads, buffer: row.handle }
    native.kvWrite(cpu().handle, {
      cache: cache as never,
      layer: 0,
      key: both,
      value: both,
      slots: BigInt64Array.of(0n),
      keyScale: 1,
      valueScale: 1,
      keyHeadScales: null,
      valueHeadScales: null,
    })
  }
  call({})
  refused(() => call({ offset: 4 }), 'offset is 4')
  refused(() => call({ scaling: 'head' }), "'token' for int8")
  refused(() => call({ scaling: undefined }), 'scaling')
  refused(() => call({ dtype: 'i32' }), 'fp8_e4m3 or int8')
  refused(() => call({ dtype: 'fp8_e4m3' }), "'tensor' or 'head'")
})

test('variants of attention', () => {
  const cache = fp32([1, 1, 2, 2, 16, 8])
  const [query, out] = [fp32([1, 4, 8]), fp32([1, 4, 8])]
  using bf16Heads = cpu().buffer('bf16', 4)
  using halves = cpu().buffer('fp16', [1, 4])
  const batch = { layer: 0, queryStart: [0, 1], contextLength: [1], blockTable: [0] }
  const call = (changes: Partial<ops.AttentionOptions>, over: ops.KvCacheArgument = cache) =>
    ops.pagedAttention(out, query, over, { ...batch, ...changes })
  call({ softCap: 2, sinks: fp32([4]), logSumExp: fp32([1, 4]) })
  call({ keyScale: 2, valueScale: 3 }, coded('fp8_e4m3'))
  for (const softCap of [-1, NaN, Infinity]) refused(() => call({ softCap }), 'softCap is')
  refused(() => call({ sinks: fp32([2]) }), 'sinks.size is 2', 'query.heads is 4')
  refused(() => call({ sinks: bf16Heads as never }), 'sinks is bf16')
  refused(() => call({ sinks: 3 as never }), 'sinks is 3')
  refused(() => call({ logSumExp: fp32([4]) }), 'logSumExp has shape [4]')
  refused(() => call({ logSumExp: fp32([2, 4]) }), 'logSumExp.rows is 2')
  refused(() => call({ logSumExp: fp32([1, 3]) }), 'logSumExp.columns is 3')
  refused(() => call({ logSumExp: halves as never }), 'logSumExp is fp16')
  const shared = fp32([4, 1])
  refused(() => call({ logSumExp: shared, sinks: shared }), 'logSumExp and sinks share memory')
  refused(() => call({ keyScale: 1 }), 'a cache of floats has none')
  refused(() => call({ valueScale: 1 }, coded('int8')), 'the blocks hold theirs')
  refused(() => call({ keyScale: 0 }, coded('fp8_e4m3')), 'keyScale is 0')
})

test('ropeKvWrite', () => {
  const cache = fp32([1, 1, 2, 2, 16, 8])
  const [query, key, value] = [fp32([1, 4, 8]), fp32([1, 2, 8]), fp32([1, 2, 8])]
  const usual = { layer: 0, slots: [3], positions: [3], inverseFrequencies: [1, 0.1, 0.01, 0.001] }
  const call = (changes: Partial<ops.RopeKvWriteOptions>, of = { query, key, value }) =>
    ops.ropeKvWrite(cache, of.query, of.key, of.value, { ...usual, ...changes })
  call({ queryNorm: fp32([8]), keyNorm: fp32([8]), epsilon: 0 })
  refused(() => call({ slots: [16] }), 'slots[0] is 16', '15')
  refused(() => call({ slots: [0, 1] }), 'slots.length is 2')
  refused(() => call({ positions: [0, 1] }), 'positions.length is 2')
  refused(() => call({ inverseFrequencies: [1] }), 'length is 2')
  refused(() => call({ queryNorm: fp32([7]) }), 'queryNorm.size is 7')
  refused(() => call({ keyNorm: fp32([9]) }), 'keyNorm.size is 9')
  refused(() => call({ epsilon: -1 }), 'epsilon is -1')
  refused(() => call({ layer: 1 }), 'layer is 1')
  refused(() => call({}, { query, key, value: key }), 'key and value share memory')
  refused(() => call({}, { query: key, key, value }), 'query and key share memory')
  const inside: DeviceBuffer<FloatDType> = cache
  const view = { buffer: inside, tokens: 1, heads: 2, dim: 8 }
  refused(() => ops.ropeKvWrite(cache, query, key, view, usual), 'cache and value share memory')
  expect(() => call({ window: 1 } as never)).toThrow(
    expect.objectContaining({ code: 'OCTAVO_UNKNOWN_OPTION' }),
  )
})
