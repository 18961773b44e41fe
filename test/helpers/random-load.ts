/** Conversations of random requests, the same whoever runs them: only when a cancel strikes depends on the engine. */
import type { NativeFinish } from '../../lib/native.js'
import { story } from './goldens.js'
import type { RequestOptions, Running, TestEngine, Top } from './native-engine.js'
import { SeededRandom } from './seeded-random.js'

export interface Turn {
  options: RequestOptions
  cancelled: boolean
  tokens: number[]
  logprobs: number[]
  top: (Top | null)[]
  finishes: NativeFinish[]
}

const context = 512

export function randomSampling(random: SeededRandom): RequestOptions {
  const penalized = random.next() < 0.4
  return {
    temperature: random.pick([0, 0, 0.7, 1.4]),
    topK: random.pick([0, 0, 5, 40]),
    topP: random.pick([1, 0.9]),
    minP: random.pick([0, 0, 0.05]),
    seed: BigInt(random.between(0, 1000)),
    repetitionPenalty: penalized ? 1.3 : 1,
    frequencyPenalty: penalized ? random.pick([0, 0.4]) : 0,
    presencePenalty: penalized ? random.pick([0, 0.7]) : 0,
    biasTokens: Int32Array.of(random.between(0, 511)),
    biasValues: Float32Array.of(random.pick([0, -3, 3])),
    topLogprobs: random.pick([0, 0, 0, 4, 20]),
  }
}

/** A request whose end is often a token that nobody foresaw. */
function randomTurn(random: SeededRandom, before: number[]): RequestOptions {
  const begin = before.length === 0 ? story.slice(0, random.between(1, 90)) : before
  const prompt = [...begin, ...story.slice(1, random.between(2, 8))]
  const score = random.next() < 0.08
  const stops = random.next() < 0.5 ? [random.pick(story), random.pick(story)] : []
  return {
    ...randomSampling(random),
    prompt,
    score,
    maxNewTokens: score ? 0 : Math.min(random.between(1, 40), context - prompt.length),
    stopTokens: stops,
    priority: random.pick([0, 0, 1]),
    credits: random.pick([1, 3, 1000, 1000]),
  }
}

/** Lets it run to its end, however few its credits were, or cancels it when some tokens have come. */
async function meet(engine: TestEngine, running: Running, random: SeededRandom): Promise<boolean> {
  const cancelled = random.next() < 0.25
  const after = random.between(0, 12)
  const idle = random.between(0, 4)
  if (cancelled) {
    engine.native.grant(running.id, after + 2)
    if (random.next() < 0.7) await running.produced(after)
    for (let turn = 0; turn < idle; turn++) await new Promise(setImmediate)
    engine.native.cancel(running.id)
  } else {
    for (let turn = 0; turn < idle; turn++) await new Promise(setImmediate)
    engine.native.grant(running.id, 1000)
  }
  await running.finish
  return cancelled
}

async function runTurn(
  engine: TestEngine,
  session: number,
  options: RequestOptions,
  random: SeededRandom,
): Promise<Turn> {
  const running = engine.start(session, options)
  const cancelled = await meet(engine, running, random)
  const { tokens, logprobs, top, finishes } = running
  return { options, cancelled, tokens, logprobs, top, finishes }
}

/** Three turns, each on top of the one before unless that was cancelled; sometimes a fork goes another way. */
async function converse(engine: TestEngine, seed: number): Promise<Turn[]> {
  const random = new SeededRandom(seed)
  const session = engine.native.createSession()
  const others: number[] = []
  const turns: Turn[] = []
  let before: number[] = []
  for (let count = 0; count < 3; count++) {
    const turn = await runTurn(engine, session, randomTurn(random, before), random)
    turns.push(turn)
    before = turn.cancelled ? [] : [...turn.options.prompt!, ...turn.tokens]
    if (before.length > 150) before = []
    if (random.next() > 0.3) continue
    const fork = engine.native.forkSession(session)
    others.push(fork)
    turns.push(await runTurn(engine, fork, randomTurn(random, before), random))
  }
  for (const each of [session, ...others]) await engine.native.disposeSession(each)
  return turns
}

/** So many conversations, some at a time. */
export async function runLoad(engine: TestEngine, seed: number, count: number): Promise<Turn[]> {
  const turns: Turn[][] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      turns[index] = await converse(engine, seed * 10_000 + index)
      if (index % 10 === 0) engine.native.check()
    }
  }
  await Promise.all(Array.from({ length: 9 }, work))
  return turns.flat()
}

const shortest = (one: Turn, other: Turn): number =>
  Math.min(one.tokens.length, other.tokens.length)

/** The same bits of everything that both have come to; all of it where nothing was cancelled. */
export function expectSameTurns(actual: Turn[], expected: Turn[]): void {
  expect(actual).toHaveLength(expected.length)
  actual.forEach((turn, index) => {
    const other = expected[index]!
    const length = turn.cancelled ? shortest(turn, other) : Infinity
    const seen = ({ tokens, logprobs, top }: Turn): object => ({
      tokens: tokens.slice(0, length),
      logprobs: logprobs.slice(0, length),
      top: top.slice(0, length),
    })
    expect(seen(turn)).toEqual(seen(other))
    for (const { tokens, finishes } of [turn, other]) {
      expect(finishes).toHaveLength(1)
      expect(finishes[0]!.outputTokens).toBe(tokens.length)
    }
    if (turn.cancelled) return
    expect(turn.finishes[0]!.reason).toBe(other.finishes[0]!.reason)
    expect(turn.finishes[0]!.logits).toEqual(other.finishes[0]!.logits)
  })
}
