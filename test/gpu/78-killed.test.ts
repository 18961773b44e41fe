/** A process that is killed in mid-stream leaves nothing on the card: the driver has back what it held. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { serialize } from 'node:v8'
import { loadNative } from '../../lib/native.js'
import { greedy } from '../helpers/native-engine.js'
import { addonPath, plainLoad } from '../helpers/raw-load.js'

const kvBytes = 2 ** 31

const code = `
const { addon, load, request } = require('node:v8').deserialize(require('node:fs').readFileSync(0))
const said = (events) => events.tokens.length && process.stdout.write('token\\n')
const loading = require(addon).loadEngine({ ...load, onProgress() {}, onEvents: said })
loading.promise.then((engine) => engine.submit(engine.createSession(), request))
`

/** Free memory of the card, whoever takes it: that of a dead process cannot be asked for by its id. */
const freeBytes = (): number => loadNative().memoryUse('cuda:0').freeBytes

test('what a killed process held the driver has back', async () => {
  const load = plainLoad()
  const data = {
    addon: addonPath,
    load: {
      ...load,
      device: 'cuda:0',
      options: {
        ...load.options,
        memoryLimit: 4 * kvBytes,
        kvBytes,
        testing: { inelasticKv: true },
      },
    },
    request: { ...greedy, maxNewTokens: 500 },
  }
  const before = freeBytes()
  const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(serialize(data))
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>
  await Promise.race([once(child.stdout, 'data'), exited])
  const held = before - freeBytes()
  child.kill('SIGKILL')
  const [, signal] = await exited
  expect(signal).toBe('SIGKILL')
  expect(held).toBeGreaterThan(kvBytes)
  const end = Date.now() + 60_000
  while (before - freeBytes() > kvBytes / 2 && Date.now() < end) await sleep(50)
  expect(before - freeBytes()).toBeLessThan(kvBytes / 2)
})
