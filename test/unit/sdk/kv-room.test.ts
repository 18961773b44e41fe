import { roomFor } from '../../../lib/runtime/kv-room.js'

const kv = {
  dtype: 'fp32',
  blockSize: 16,
  blockBytes: 100,
  tokenBytes: 6,
  blocks: 10,
  tokens: 160,
} as const

test.each([
  [{ promptTokens: 1 }, 159],
  [{ promptTokens: 159 }, 1],
  [{ promptTokens: 500 }, 1],
  [{ promptTokens: 1, samples: 8 }, 159],
  [{ promptTokens: 20, quotaBytes: 399 }, 28],
  [{ promptTokens: 20, quotaBytes: 5000 }, 140],
  [{ promptTokens: 20, quotaBytes: 99 }, 1],
  // 2 blocks of the prompt are full: 2 + 3 · 2 = 8 blocks, or with one more of each, 2 + 3 · 3 = 11
  [{ promptTokens: 40, samples: 3, quotaBytes: 1000 }, 24],
  [{ promptTokens: 40, samples: 3, quotaBytes: 1100 }, 40],
])('%p leaves %i', (demand, room) => {
  expect(roomFor({ samples: 1, quotaBytes: 0, ...demand }, kv)).toBe(room)
})
