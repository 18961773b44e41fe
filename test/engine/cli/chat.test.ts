/** The conversation's rules, on the embedded model with a template of its own. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Engine } from '../../../lib/index.js'
import { copyOfStories, makeEndless, stories } from '../sdk/support.js'
import { Command, octavo } from './command.js'

const template = '{{ bos_token }}{% for message in messages %}{{ message.content }} {% endfor %}'

let folder: string
let remove: () => Promise<void>
beforeAll(async () => {
  ;({ folder, remove } = await copyOfStories())
  const path = join(folder, 'tokenizer_config.json')
  const config = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...config, chat_template: template }))
})
afterAll(() => remove())

const chat = (...argv: string[]): Command =>
  new Command('chat', '--device', 'cpu', '--threads', '2', '--model', folder, ...argv)

/** What the library answers to the same conversation. */
async function answers(lines: string[], system?: string): Promise<string[]> {
  await using engine = await Engine.load(folder, { device: 'cpu', threads: 2, maxSequences: 1 })
  using session = engine.createSession()
  const messages = system === undefined ? [] : [{ role: 'system', content: system }]
  const texts: string[] = []
  for (const content of lines) {
    messages.push({ role: 'user', content })
    const { text, usage } = await session.chat(messages, { maxNewTokens: 20 }).result
    if (texts.length > 0) expect(usage.cachedTokens).toBeGreaterThan(10)
    messages.push({ role: 'assistant', content: text })
    texts.push(text)
  }
  return texts
}

describe('octavo chat', () => {
  it('answers a piped conversation, line by line, the answers alone on stdout', async () => {
    const run = chat('-n', '20', '--system', 'A story.')
    run.child.stdin.end('Lily had a ball.\n\nShe was happy.\n')
    const { code, stdout } = await run.ending
    const expected = await answers(['Lily had a ball.', 'She was happy.'], 'A story.')
    expect(code).toBe(0)
    expect(stdout).toBe(expected.map((text) => `${text}\n`).join(''))
  })

  it('forgets at /clear and ends at /exit', async () => {
    const run = chat('-n', '20')
    run.child.stdin.end('Lily had a ball.\n/clear\nLily had a ball.\n/exit\nTom.\n')
    const { code, stdout } = await run.ending
    const [text] = await answers(['Lily had a ball.'])
    expect(code).toBe(0)
    expect(stdout).toBe(`${text}\n${text}\n`)
  })

  it('tells a message that is too long and goes on, to end with code 1', async () => {
    const run = chat('-n', '20')
    run.child.stdin.end(`${'Lily had a ball. '.repeat(200)}\nLily had a ball.\n`)
    const { code, stdout, stderr } = await run.ending
    expect(code).toBe(1)
    expect(stderr).toContain('(OCTAVO_CONTEXT_EXCEEDED)')
    expect(stdout).toBe(`${(await answers(['Lily had a ball.']))[0]}\n`)
  })

  it('says that a model has no chat template', async () => {
    const { code, stderr } = await octavo('chat', '--device', 'cpu', '--model', stories)
    expect(code).toBe(1)
    expect(stderr).toContain('(OCTAVO_NO_CHAT_TEMPLATE)')
  })

  it('says so, and what is wrong with a template, before it reads the weights', async () => {
    const model = await copyOfStories()
    await rm(join(model.folder, 'model.safetensors'))
    const without = await octavo('chat', '--device', 'cpu', '--model', model.folder)
    expect(without.stderr).toContain('(OCTAVO_NO_CHAT_TEMPLATE)')
    await writeFile(join(model.folder, 'chat_template.jinja'), '{% if x %}')
    const broken = await octavo('chat', '--device', 'cpu', '--model', model.folder)
    await model.remove()
    expect(broken.code).toBe(1)
    expect(broken.stderr).toContain(
      'chat_template.jinja: the chat template "default" does not parse',
    )
    expect(broken.stderr).toContain('(OCTAVO_TEMPLATE_FAILED)')
  })

  it('ends with code 1, not that of a wrong command line, at a template that renders to nothing', async () => {
    const model = await copyOfStories()
    await writeFile(join(model.folder, 'chat_template.jinja'), '{% if false %}x{% endif %}')
    const run = new Command('chat', '--device', 'cpu', '--model', model.folder)
    run.child.stdin.end('Lily had a ball.\n')
    const { code, stdout, stderr } = await run.ending
    await model.remove()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('(OCTAVO_INVALID_ARGUMENT)')
  })

  it('takes no argument', async () => {
    const { code, stderr } = await octavo('chat', 'hello')
    expect(code).toBe(2)
    expect(stderr).toContain("chat takes no argument and got 'hello'")
  })

  it('at Ctrl-C stops the answer, then ends with code 130', async () => {
    await makeEndless(folder)
    const run = chat('-n', '60000')
    run.child.stdin.write('Lily had a ball.\n')
    await run.until((stdout) => stdout.includes(' '))
    run.child.kill('SIGINT')
    await run.until((stdout) => stdout.endsWith('\n'))
    const first = run.stdout.length
    run.child.stdin.write('Tom was sad.\n')
    await run.until((stdout) => stdout.length > first)
    run.child.kill('SIGINT')
    await run.until((stdout) => stdout.length > first && stdout.endsWith('\n'))
    const atThePrompt = setInterval(() => run.child.kill('SIGINT'), 500)
    const { code, signal, stderr } = await run.ending
    clearInterval(atThePrompt)
    // One more while it ends kills it: a shell says 130 of both.
    expect(signal === 'SIGINT' ? 130 : code).toBe(130)
    expect(stderr).not.toMatch(/Error|\n +at /)
  })
})
