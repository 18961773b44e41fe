/** A model's chat template: messages to the text that the model was trained to continue. */

import { OctavoError } from '../errors.js'
import { messageOf } from '../options/reader.js'
import { JinjaTemplate } from './jinja-template.js'
import type { TemplateSource, TemplateSources } from './template-source.js'
import type { ChatMessage, ChatTemplate, ChatTemplateOptions } from './types.js'

/**
 * A Jinja template. Its text holds the special tokens, BOS included: encode it with
 * `addSpecialTokens: false`. Special tokens that a message spells out become special tokens too.
 */
export class JinjaChatTemplate implements ChatTemplate {
  private readonly templates: ReadonlyMap<string, JinjaTemplate | OctavoError>

  /**
   * `tokens`: special tokens by name, which templates read as variables. A template that does not parse is
   * refused when it is to be rendered: a model generates without one.
   */
  constructor(
    sources: TemplateSources,
    private readonly tokens: Record<string, string>,
  ) {
    this.templates = new Map([...sources].map(([name, source]) => [name, parse(name, source)]))
  }

  get problem(): OctavoError | null {
    const template = this.templates.get('default') ?? this.unnamed()
    return template instanceof JinjaTemplate ? null : template
  }

  render(messages: readonly ChatMessage[], options: ChatTemplateOptions = {}): string {
    if (!Array.isArray(messages)) {
      throw new OctavoError(
        'OCTAVO_INVALID_ARGUMENT',
        `messages must be an array, not ${typeof messages}`,
      )
    }
    const { addGenerationPrompt = true, tools = null, variables = {} } = options
    const template = this.choose(tools !== null)
    if (!(template instanceof JinjaTemplate)) throw template
    try {
      // transformers passes tools and documents always: templates ask "is none", not "is defined".
      return template.render({
        documents: null,
        ...this.tokens,
        ...variables,
        messages,
        tools,
        add_generation_prompt: addGenerationPrompt,
      })
    } catch (error) {
      const sentence = `the chat template failed: ${messageOf(error)}`
      throw new OctavoError('OCTAVO_TEMPLATE_FAILED', sentence, { cause: error })
    }
  }

  /** "tool_use" where there is one and tools are passed, "default" otherwise. */
  private choose(hasTools: boolean): JinjaTemplate | OctavoError {
    const { templates } = this
    return (hasTools && templates.get('tool_use')) || templates.get('default') || this.unnamed()
  }

  private unnamed(): OctavoError {
    const names = [...this.templates.keys()].join('", "')
    return new OctavoError(
      'OCTAVO_TEMPLATE_FAILED',
      `the model has no chat template named "default", only "${names}"`,
    )
  }
}

function parse(name: string, { file, text }: TemplateSource): JinjaTemplate | OctavoError {
  try {
    return new JinjaTemplate(text)
  } catch (error) {
    const words = parserWords(error as Error)
    return new OctavoError(
      'OCTAVO_TEMPLATE_FAILED',
      `${file}: the chat template "${name}" does not parse: ${words}`,
      { cause: error },
    )
  }
}

/** The parser's sentence; where it ran past the last token or out of stack, its error speaks of its own code. */
function parserWords({ name, message }: Error): string {
  if (name === 'TypeError') return 'it ends too early'
  return name === 'RangeError' ? 'it nests too deep' : message
}
