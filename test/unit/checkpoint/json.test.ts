import { openSync, closeSync, ftruncateSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { syntaxErrorOffset } from '../../../lib/checkpoint/json-syntax.js'
import { readJson } from '../../../lib/checkpoint/json.js'
import { makeFolder, refusal } from './folders.js'
import { randomOf } from './random.js'

const readText = (text: string | Uint8Array) =>
  readJson(join(makeFolder({ 'config.json': text }), 'config.json'))

test('reads an object', async () => {
  const fields = await readText('{"hidden_size": 64, "name": "é"}')
  expect(fields.integer('hidden_size')).toBe(64)
  expect(fields.optionalString('name')).toBe('é')
})

test.each([
  ['{"a": 1,\n "b": }', /config\.json is not valid JSON: .*\(line 2, column 7\)/],
  ['{"a": NaN}', /line 1, column 7/],
  ['{"a": 1', /line 1, column 8/],
  ['', /config\.json is not valid JSON: it ends too early \(line 1, column 1\)/],
  ['{"a": [1, 2,]}', /unexpected "\]\}" \(line 1, column 13\)/],
  ['{"a" 1}', /unexpected "1\}" \(line 1, column 6\)/],
  ["{'a': 1}", /line 1, column 2/],
  ['{"a": "tab\there"}', /line 1, column 7/],
  ['{"a": 01}', /unexpected "01\}" \(line 1, column 7\)/],
  ['{} {}', /line 1, column 4/],
  ['[1]', /must hold a JSON object, it holds a list/],
  ['null', /it holds null/],
  ['3', /it holds a number/],
])('broken JSON %j is placed', async (text, sentence) => {
  await expect(readText(text)).rejects.toMatchObject(refusal('OCTAVO_CHECKPOINT_INVALID', sentence))
})

test('the place agrees with JSON.parse on what is JSON', () => {
  const random = randomOf(1)
  const alphabet = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"\\n"',
    '0',
    '-1.5e3',
    'true',
    'null',
    ' ',
    '\n',
    '"',
    '.',
    '1',
  ]
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: random(9) }, () => alphabet[random(alphabet.length)]).join('')
    let valid = true
    try {
      JSON.parse(text)
    } catch {
      valid = false
    }
    // In valid text nothing is unexpected before the end; in broken text what comes before the place can be
    // completed, so the place is at most the text's end.
    if (valid) expect([text, syntaxErrorOffset(text)]).toEqual([text, text.length])
    else expect(syntaxErrorOffset(text)).toBeLessThanOrEqual(text.length)
  }
})

test('bytes that are not UTF-8', async () => {
  const problem = refusal('OCTAVO_CHECKPOINT_INVALID', 'config.json is not valid UTF-8')
  await expect(readText(Uint8Array.from([0x7b, 0xff, 0x7d]))).rejects.toMatchObject(problem)
})

test('nesting deeper and strings longer than any stack', async () => {
  const long = '{"a": "' + 'x\\n'.repeat(1_000_000)
  await expect(readText(long)).rejects.toMatchObject({ code: 'OCTAVO_CHECKPOINT_INVALID' })
  await expect(readText('['.repeat(1_000_000))).rejects.toMatchObject({
    code: 'OCTAVO_CHECKPOINT_INVALID',
  })
})

test('a missing file, a folder and a huge file', async () => {
  const folder = makeFolder()
  const path = join(folder, 'config.json')
  await expect(readJson(path)).rejects.toMatchObject(
    refusal('OCTAVO_IO_FAILED', `${path}: it does not exist`),
  )
  mkdirSync(path)
  await expect(readJson(path)).rejects.toMatchObject(
    refusal('OCTAVO_IO_FAILED', 'not a regular file'),
  )
  const huge = join(folder, 'huge.json')
  const file = openSync(huge, 'w')
  ftruncateSync(file, 5e9)
  closeSync(file)
  const problem = 'huge.json has 5000000000 bytes; at most 100000000 are read'
  await expect(readJson(huge)).rejects.toMatchObject(refusal('OCTAVO_CHECKPOINT_INVALID', problem))
})

test('an aborted signal', async () => {
  const signal = AbortSignal.abort()
  const path = join(makeFolder({ 'config.json': {} }), 'config.json')
  await expect(readJson(path, signal)).rejects.toMatchObject({ code: 'OCTAVO_CANCELLED' })
})
