/** Work that could be done and is not raises an alarm; the engine goes on serving what it can. */
import { TestEngine } from '../helpers/native-engine.js'
import { refusal } from '../helpers/refusal.js'

test('a request that could run while nothing does is named, with what there is', async () => {
  const engine = await TestEngine.load({ testing: { neverPlan: true } })
  const session = engine.native.createSession()
  engine.native.check()
  const paused = engine.start(session, { maxNewTokens: 20, credits: 0 })
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  engine.native.check() // its caller takes nothing: nothing is wrong
  const other = engine.native.createSession()
  const stuck = engine.start(other, { maxNewTokens: 20 })
  let said = ''
  while (said === '') {
    await new Promise(setImmediate)
    try {
      engine.native.check()
    } catch (error) {
      said = (error as Error).message
    }
  }
  expect(refusal(() => engine.native.check()).code).toBe('OCTAVO_INTERNAL')
  expect(said).toMatch(/nothing runs that could: \d+ of \d+ KV blocks are free/)
  expect(said).toContain(
    `request ${stuck.id} of session ${other} (waiting, 1 tokens, holds 0 of 2 blocks)`,
  )
  for (const { id } of [paused, stuck]) engine.native.cancel(id)
  await Promise.all([paused.finish, stuck.finish])
  await engine.native.disposeSession(session)
  expect(engine.native.report()).toMatchObject({ blocksOwned: 0, waiting: 0 })
  engine.native.dispose()
})

test('an engine that serves raises none, and agrees with itself after every step', async () => {
  const engine = await TestEngine.load({ testing: { checkSteps: 1 } })
  const runs = Array.from({ length: 12 }, (_, index) =>
    engine.start(engine.native.createSession(), { maxNewTokens: 10 + 7 * index }),
  )
  await Promise.all(runs.map(({ finish }) => finish))
  engine.native.check()
  await engine.close()
})
