/**
 * A CPU load in a real control group whose limit is 0.8 × the model: what of the weights can stays in its file, the
 * rest fits, and nothing is killed. Where no group can be made the tests are skipped, and their names say why.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { loadNative } from '../../../lib/native.js'
import { makeControlGroup } from '../../helpers/control-group.js'
import { root } from './support.js'

interface Synthetic {
  folder: string
  path: string
  bytes: number
  remove: () => void
}

const { writeSynthetic, dropCache } = require(join(root, 'scripts/bench/memory/synthetic.cjs')) as {
  writeSynthetic: (bytes: number) => Synthetic
  dropCache: (path: string) => void
}

// AddressSanitizer's own memory would count in the group.
const { group, problem } = loadNative().buildInfo.sanitizer
  ? { group: null, problem: 'AddressSanitizer keeps memory of its own' }
  : makeControlGroup()
const inGroup = group === null ? it.skip : it
const why = problem === '' ? '' : ` (not run: ${problem})`

let model: Synthetic
beforeAll(() => {
  if (group === null) return
  model = writeSynthetic(800e6)
  group.setLimit(Math.floor(0.8 * model.bytes))
})
afterAll(() => {
  if (group === null) return
  model.remove()
  group.remove()
})

/** Loads in the group and generates; what it prints as JSON. */
function loadInGroup(options: object): {
  status: number | null
  signal: string | null
  result: object
} {
  const script = `
    const { Engine } = require(${JSON.stringify(join(root, 'dist', 'index.js'))})
    const options = ${JSON.stringify({ device: 'cpu', threads: 2, maxSequences: 1, maxBatchTokens: 8, ...options })}
    ;(async () => {
      const engine = await Engine.load(${JSON.stringify(model.folder)}, options)
      const session = engine.createSession()
      const { tokens } = await session.generate([1, 2, 3], { maxNewTokens: 3, temperature: 0, ignoreEos: true }).result
      const { mappedBytes, regions, fits } = engine.plan()
      const { host, audit } = engine.memory({ audit: true })
      engine.dispose()
      return { tokens: tokens.length, mappedBytes, weights: regions.weights, fits, total: host.totalBytes, verdict: audit.verdict }
    })().catch(({ code, message }) => ({ code, message })).then((result) => console.log(JSON.stringify(result)))`
  dropCache(model.path) // cache that another group paid for would not count in ours
  const command = `'${process.execPath}' -e "$SCRIPT"`
  const env = { ...process.env, SCRIPT: script, NODE_OPTIONS: '' }
  const child = spawnSync('sh', ['-c', group!.enter(command)], { encoding: 'utf8', env })
  const { status, signal, stdout, stderr } = child
  if (stdout === '') throw new Error(`it ended with ${status ?? signal} and said: ${stderr}`)
  return { status, signal, result: JSON.parse(stdout) as object }
}

inGroup(`a model a quarter larger than the limit loads, generates and is not killed${why}`, () => {
  const { result } = loadInGroup({ kv: { blockSize: 16 }, memory: { limit: 1, kv: 4 * 2 ** 20 } })
  const limit = Math.floor((0.8 * model.bytes) / 4096) * 4096
  expect(result).toMatchObject({ tokens: 3, fits: true, verdict: 'exact', total: limit })
  const { mappedBytes, weights } = result as { mappedBytes: number; weights: number }
  expect(mappedBytes).toBeGreaterThan(0.2 * model.bytes)
  expect(weights + mappedBytes).toBeGreaterThanOrEqual(model.bytes)
  expect(weights).toBeLessThan(limit)
  expect(group!.kills()).toBe(0)
})

inGroup(
  `where every weight must be copied, it is refused with the numbers and not killed${why}`,
  () => {
    const { status, result } = loadInGroup({
      dtype: 'bf16',
      kv: { blockSize: 16 },
      memory: { limit: 1, kv: 4 * 2 ** 20 },
    })
    expect(status).toBe(0)
    expect(result).toMatchObject({
      code: 'OCTAVO_OUT_OF_MEMORY',
      message: expect.stringMatching(
        /does not fit by \d+ bytes.*weights \d+ bytes.*cpu has \d+ bytes free/,
      ) as string,
    })
    expect(group!.kills()).toBe(0)
  },
)
