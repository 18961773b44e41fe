/** The embedded model's published greedy text, through the decoder alone. */
import {
  argmax,
  concat,
  greedy,
  logitsInChunks,
  openModel,
  randomChunks,
  type OpenedModel,
} from '../../helpers/decoding.js'
import { SeededRandom } from '../../helpers/seeded-random.js'
import { storiesGolden, storiesManifest, storiesSpec } from '../../helpers/stories-model.js'

const [story, dog] = storiesGolden
const load = { spec: storiesSpec, manifest: storiesManifest() }

function close({ model, memory }: OpenedModel): void {
  model.dispose()
  memory.check()
  expect(memory.lines()).toEqual([])
}

test('one pass over the story predicts every next token of it', () => {
  const opened = openModel(load)
  const ids = story!.ids
  const blocks = Array.from({ length: 20 }, (_, index) => 40 - 2 * index)
  const logits = concat(logitsInChunks(opened, ids, blocks, [ids.length]))
  const predicted = ids.map((_, position) =>
    argmax(logits.subarray(position * 512, (position + 1) * 512)),
  )
  expect(predicted.slice(0, -1)).toEqual(ids.slice(1))
  close(opened)
})

test.each([16, 32, 64])(
  'token by token from BOS it tells the story, in blocks of %i',
  (blockSize) => {
    const opened = openModel(load, { blockSize })
    const random = new SeededRandom(blockSize)
    const blocks = random.shuffle(Array.from({ length: 64 }, (_, id) => id)).slice(0, 17)
    const [told] = greedy(opened, [[1]], [blocks], story!.ids.length - 1)
    expect(told).toEqual(story!.ids)
    close(opened)
  },
)

test('both stories side by side in one batch, from prompts of several lengths', () => {
  const opened = openModel(load)
  const random = new SeededRandom(4)
  const ids = random.shuffle(Array.from({ length: 64 }, (_, id) => id))
  // BOS alone; "The little dog"; the first story from two points of it.
  const starts = [
    { golden: story!.ids, from: 1 },
    { golden: dog!.ids, from: 5 },
    { golden: story!.ids, from: 60 },
    { golden: story!.ids, from: 17 },
  ]
  const prompts = starts.map(({ golden, from }) => golden.slice(0, from))
  const tables = starts.map((_, index) => ids.slice(index * 16, index * 16 + 16))
  const told = greedy(opened, prompts, tables, 96)
  told.forEach((all, index) => {
    const { golden, from } = starts[index]!
    expect(all).toEqual(golden.slice(0, from + 96))
  })
  close(opened)
})

test('logits do not depend on how the prompt was cut or where its blocks lie', () => {
  const opened = openModel(load)
  const random = new SeededRandom(77)
  const ids = story!.ids
  const whole = concat(
    logitsInChunks(
      opened,
      ids,
      Array.from({ length: 17 }, (_, id) => id),
      [ids.length],
    ),
  )
  for (let round = 0; round < 5; round++) {
    const blocks = random.shuffle(Array.from({ length: 64 }, (_, id) => id)).slice(0, 17)
    const cut = concat(logitsInChunks(opened, ids, blocks, randomChunks(ids.length, random)))
    expect(Buffer.from(cut.buffer).equals(Buffer.from(whole.buffer))).toBe(true)
  }
  close(opened)
})
