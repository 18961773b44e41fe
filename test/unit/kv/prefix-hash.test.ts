/** The names of KV blocks: keyed hashes in chains. */
import { prefixTesting } from '../../helpers/prefix-testing.js'

const { prefixHash, prefixChain } = prefixTesting
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const key = Uint8Array.from({ length: 16 }, (_, index) => index)

// vectors_sip128 of the reference implementation: key 00 … 0f, messages of the bytes 00, 01, 02 …
test.each([
  [0, 'a3817f04ba25a8e66df67214c7550293'],
  [1, 'da87c1d86b99af44347659119b22fc45'],
  [7, 'a1f1ebbed8dbc153c0b84aa61ff08239'],
  [8, '3b62a9ba6258f5610f83e264f31497b4'],
  [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
])('SipHash-2-4-128 of %i bytes is the published one', (length, expected) => {
  const message = Uint8Array.from({ length }, (_, index) => index)
  expect(hex(prefixHash(key, message))).toBe(expected)
})

const base = {
  model: 'm',
  tenant: 't',
  blockSize: 4,
  tokens: Int32Array.from({ length: 14 }, (_, i) => i * i),
}
const chain = (change: Partial<typeof base> = {}, under: Uint8Array = key): string[] =>
  prefixChain(under, { ...base, ...change }).map(hex)

test('a chain names full blocks, each as the bytes of the name before it and of its tokens', () => {
  const names = prefixChain(key, base)
  expect(names).toHaveLength(3)
  const bytes = Buffer.concat([names[0]!, Buffer.from(base.tokens.slice(4, 8).buffer)])
  expect(hex(prefixHash(key, bytes))).toBe(hex(names[1]!))
})

test('an odd number of tokens a block is hashed whole', () => {
  const tokens = Int32Array.of(1, 2, 3)
  const last = chain({ blockSize: 3, tokens })
  expect(last).not.toEqual(chain({ blockSize: 3, tokens: Int32Array.of(1, 2, 4) }))
  const root = prefixHash(key, Buffer.from('1:mt'))
  const bytes = Buffer.concat([root, Buffer.from(tokens.buffer)])
  expect(last).toEqual([hex(prefixHash(key, bytes))])
})

test('a block has another name where any token before it, the model, the tenant or the key differs', () => {
  const names = chain()
  const changed = [
    chain({ tokens: base.tokens.map((token, index) => (index === 0 ? 99 : token)) }),
    chain({ model: 'n' }),
    chain({ tenant: '' }),
    chain({}, Uint8Array.from(key).fill(7, 15)),
    chain({ model: 'mt', tenant: '' }),
    chain({ model: '', tenant: 'mt' }),
  ]
  for (const others of changed) {
    for (const name of others) expect(names).not.toContain(name)
  }
  const later = chain({ tokens: base.tokens.map((token, index) => (index === 5 ? 99 : token)) })
  expect(later[0]).toBe(names[0])
  expect(later.slice(1)).not.toContain(names[1])
  expect(later[2]).not.toBe(names[2])
})
