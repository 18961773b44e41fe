/** Chat templates: where they lie, what they may read, how they fail. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  loadChatTemplate,
  loadText,
  type ChatMessage,
  type ChatTemplateOptions,
} from '../../../lib/text/index.js'
import { withFolder } from './fixtures'

const hello: ChatMessage[] = [{ role: 'user', content: 'Hi' }]
const config = { bos_token: '<s>', eos_token: { content: '</s>' } }

/** What `source`, in tokenizer_config.json, renders. */
async function render(
  source: unknown,
  messages: readonly ChatMessage[] = hello,
  options?: ChatTemplateOptions,
): Promise<string> {
  let rendered = ''
  const files = { 'tokenizer_config.json': { ...config, chat_template: source } }
  await withFolder(files, async (folder) => {
    const text = await loadText(folder)
    rendered = text?.template?.render(messages, options) as string
  })
  return rendered
}

const failed = (words: RegExp): Error =>
  expect.objectContaining({
    code: 'OCTAVO_TEMPLATE_FAILED',
    message: expect.stringMatching(words) as string,
  }) as Error

describe('places', () => {
  const from = (name: string): string => `from ${name}`

  test('chat_template.jinja, then tokenizer_config.json, then chat_template.json', async () => {
    const json = { chat_template: from('json') }
    const inConfig = { 'tokenizer_config.json': { chat_template: from('config') } }
    const cases: [Parameters<typeof withFolder>[0], string][] = [
      [{ 'chat_template.jinja': from('jinja'), ...inConfig, 'chat_template.json': json }, 'jinja'],
      [{ ...inConfig, 'chat_template.json': json }, 'config'],
      [{ 'chat_template.json': json }, 'json'],
    ]
    for (const [files, name] of cases) {
      await withFolder(files, async (folder) => {
        expect((await loadText(folder))?.template?.render(hello)).toBe(from(name))
      })
    }
  })

  test('additional_chat_templates holds the named ones', async () => {
    await withFolder({ 'chat_template.jinja': 'main' }, async (folder) => {
      mkdirSync(join(folder, 'additional_chat_templates'))
      writeFileSync(join(folder, 'additional_chat_templates', 'tool_use.jinja'), 'tools')
      writeFileSync(join(folder, 'additional_chat_templates', 'notes.txt'), 'none')
      const template = (await loadText(folder))?.template
      expect(template?.render(hello)).toBe('main')
      expect(template?.render(hello, { tools: [] })).toBe('tools')
    })
  })

  test('a list of named templates: tool_use where tools are passed', async () => {
    const list = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: '{{ tools | length }} tools' },
    ]
    expect(await render(list)).toBe('plain')
    expect(await render(list, hello, { tools: [{}, {}] })).toBe('2 tools')
    expect(await render(list.slice(0, 1), hello, { tools: [{}] })).toBe('plain')
    await expect(render([{ name: 'rag', template: '' }])).rejects.toThrow(failed(/only "rag"/))
  })

  test('a template of another shape is refused with its file', async () => {
    const refusal = { code: 'OCTAVO_TOKENIZER_INVALID' }
    await expect(render(5)).rejects.toThrow(expect.objectContaining(refusal) as Error)
    await expect(render([{ name: 'default' }])).rejects.toThrow(/template\[0\].template/)
    await expect(render(5)).rejects.toThrow(/tokenizer_config\.json: "chat_template"/)
  })
})

describe('what a template reads', () => {
  test('messages, the generation prompt, tokens by name, variables', async () => {
    const source =
      '{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token is defined }}' +
      '{{ add_generation_prompt }}{{ enable_thinking }}'
    const variables = { enable_thinking: false }
    expect(await render(source, hello, { variables })).toBe('<s>Hi</s>FalseTrueFalse')
    const none = { variables, addGenerationPrompt: false }
    expect(await render(source, hello, none)).toBe('<s>Hi</s>FalseFalseFalse')
  })

  test('tools and documents are none, not undefined, when not passed', async () => {
    const source = '{{ tools is none }} {{ documents is none }} {{ other is defined }}'
    expect(await render(source)).toBe('True True False')
    expect(await render(source, hello, { variables: { documents: ['x'] } })).toBe(
      'True False False',
    )
  })

  test('variables may replace a token, never the messages', async () => {
    const source = '{{ bos_token }}{{ messages | length }}'
    const variables = { bos_token: '<b>', messages: [] }
    expect(await render(source, hello, { variables })).toBe('<b>1')
  })

  test.each([
    ['{{ true }} {{ none }} {{ 1.0 }} {{ 2 }} [{{ missing }}]', 'True None 1.0 2 []'],
    ["{{ 'a' ~ true ~ none ~ 1.0 ~ missing }}", 'aTrueNone1.0'],
    [
      '{{ false | string }} {{ none | string }} {{ {"a": true} | string }}',
      "False None {'a': True}",
    ],
    ["{{ [1, true, none, 'x', (1, 2)] }}", "[1, True, None, 'x', (1, 2)]"],
    [`{{ ["it's", 'say "hi"', 'a\\n', '\\''] }}`, `["it's", 'say "hi"', 'a\\n', "'"]`],
    ['{% macro m(x) %}{{ x }}{% endmacro %}{{ m(true) }}{{ m(none) }}', 'TrueNone'],
    ['{% for x in [true, none] %}{{ x }}{% else %}{% endfor %}', 'TrueNone'],
    [
      '{% if true %}{{ false }}{% endif %}{% if false %}{% else %}{{ none }}{% endif %}',
      'FalseNone',
    ],
    ['{% set x %}{{ true }}{% endset %}{{ x }}{# none #}', 'True'],
    ["{{ ('a' ~ true) | upper }}{{ {'k': 'a' ~ false}['k'] }}", 'ATRUEaFalse'],
  ])('%s prints as in Python', async (source, printed) => {
    // tested with jinja2 3.1
    expect(await render(source)).toBe(printed)
  })

  test('tojson keeps characters and does not escape for HTML', async () => {
    const source = '{{ messages[0].content | tojson }}'
    const content = 'ü 東京 🙂 <b> & "q" \'s\' \n'
    expect(await render(source, [{ role: 'user', content }])).toBe(
      '"ü 東京 🙂 <b> & \\"q\\" \'s\' \\n"',
    )
  })

  test('content may be null or parts', async () => {
    const source =
      '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% elif m.content is none %}-' +
      '{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}'
    const messages = ['a', null, [{ type: 'text', text: 'b' }]].map((content) => ({
      role: 'user',
      content,
    }))
    expect(await render(source, messages)).toBe('a-b')
  })

  test('blocks are trimmed, loops break, generation blocks render, namespaces keep', async () => {
    const source =
      '{% set ns = namespace(n=0) %}\n    {% for m in messages[::-1] %}\n' +
      '{% set ns.n = ns.n + 1 %}\n{% if loop.index0 == 1 %}{% break %}{% endif %}\n{% endfor %}\n' +
      '{% generation %}{{ ns.n }}{% endgeneration %}'
    expect(await render(source, [...hello, ...hello, ...hello])).toBe('2')
  })
})

describe('failures', () => {
  test("raise_exception gives the template's own words", async () => {
    const source = "{{ raise_exception('Roles must alternate, got ' + messages[0].role) }}"
    await expect(render(source)).rejects.toThrow(failed(/Roles must alternate, got user/))
  })

  test('a template that is no Jinja is refused when rendered, by its file', async () => {
    const broken = '{% for %}'
    const cases: [Parameters<typeof withFolder>[0], RegExp][] = [
      [{ 'chat_template.jinja': broken }, /chat_template\.jinja: the chat template "default" does/],
      [
        { 'tokenizer_config.json': { chat_template: [{ name: 'default', template: broken }] } },
        /tokenizer_config\.json: the chat template "default" does not parse: /,
      ],
      [{ 'chat_template.json': { chat_template: broken } }, /chat_template\.json: the chat templ/],
    ]
    for (const [files, words] of cases) {
      await withFolder(files, async (folder) => {
        const template = (await loadText(folder))!.template!
        expect(template.problem).toEqual(failed(words))
        expect(() => template.render(hello)).toThrow(failed(words))
      })
    }
  })

  test.each([
    ['{{', /does not parse: it ends too early$/],
    ['{% if x %}', /does not parse: it ends too early$/],
    [`{{ ${'('.repeat(50_000)}`, /does not parse: it nests too deep$/],
  ])('what ends in a failure inside the parser is said of the template', async (source, words) => {
    await expect(render(source)).rejects.toThrow(failed(words))
  })

  test('a broken template for tools leaves the others alone', async () => {
    const templates = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: '{% for %}' },
    ]
    expect(await render(templates)).toBe('plain')
    const withTools = render(templates, hello, { tools: [{}] })
    await expect(withTools).rejects.toThrow(failed(/"tool_use" does not parse/))
  })

  test('the template alone is the one that comes with the tokenizer', async () => {
    const files = { 'tokenizer_config.json': { ...config, chat_template: '{{ bos_token }}!' } }
    await withFolder(files, async (folder) => {
      expect((await loadChatTemplate(folder))?.render(hello)).toBe('<s>!')
    })
    await withFolder({}, async (folder) => expect(await loadChatTemplate(folder)).toBeNull())
  })

  test('messages that are none, or of a kind no template reads', async () => {
    const call = render('x', 'Hi' as unknown as ChatMessage[])
    await expect(call).rejects.toThrow(
      expect.objectContaining({ code: 'OCTAVO_INVALID_ARGUMENT' }) as Error,
    )
    await expect(render('x', [{ role: 'user', content: '', n: 5n }])).rejects.toThrow(failed(/5/))
    const circular: ChatMessage = { role: 'user', content: '' }
    circular.self = circular
    await expect(render('x', [circular])).rejects.toThrow(failed(/call stack/))
  })
})
