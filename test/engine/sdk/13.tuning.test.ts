/** `tune` on the CPU, where there is nothing to choose: the report is empty, no file is made, the tokens are the same. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadNative } from '../../../lib/native.js'
import { Device } from '../../../lib/ops/index.js'
import { continuation, expectNothingLive, golden, ledgerOf, loadStories } from './support.js'

const off = { enabled: false, seconds: 0, entries: [], unfinished: 0 }

test('the report is empty, and the tokens are the golden ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'octavo-tune-'))
  const engine = await loadStories({ tune: { file: join(folder, 'tuned.json') } })
  const plain = await loadStories()
  expect(engine.tuning()).toEqual({ ...off, enabled: true, seconds: expect.any(Number) as number })
  expect(engine.tuning().seconds).toBeLessThan(1)
  expect(plain.tuning()).toEqual(off)
  expect(ledgerOf(engine)).toEqual(ledgerOf(plain))
  await using session = engine.createSession()
  const prompt = golden[0].ids.slice(0, 5)
  const { tokens } = await session.generate(prompt, { maxNewTokens: 40 }).result
  expect(tokens).toEqual(continuation(golden[0], 5).slice(0, 40))
  expect(readdirSync(folder)).toEqual([])
  engine.check()
  engine.dispose()
  plain.dispose()
  expect(() => engine.tuning()).toThrow(expect.objectContaining({ code: 'OCTAVO_DISPOSED' }))
  rmSync(folder, { recursive: true })
  expectNothingLive()
})

test('of the CPU no product has tiles, nothing is measured and nothing is taken', () => {
  using device = Device.open('cpu')
  const { ops } = loadNative()
  const shape = { rows: 64, columns: 4096, depth: 4096 }
  expect(ops.linearTiles(device.handle, shape)).toEqual([])
  const plan = { rows: 64, columns: 64, sharing: 'none' } as const
  const tuned = { ...shape, plan, microseconds: 1, untunedMicroseconds: 2 }
  expect(ops.keepTuned(device.handle, tuned)).toBe(false)
  const call = { ...tuned, plan: { ...plan, sharing: 'all' as never } }
  expect(() => ops.keepTuned(device.handle, call)).toThrow(/sharing/)
  expect(() => ops.linearTiles(device.handle, { ...shape, rows: 0 })).toThrow(/rows/)
})
