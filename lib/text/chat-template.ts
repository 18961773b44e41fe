/** A model's chat template: messages to the text that the model was trained to continue. */

import { OctavoError } from '../errors.js'
import { JinjaTemplate } from './jinja-template.js'
import type { TemplateSource, TemplateSources } from './template-source.js'
import type { ChatMessage, ChatTemplate, ChatTemplateOptions } from './types.js'

/**
 * A Jinja template. Its text holds the special tokens, BOS included: encode it with
 * `addSpecialTokens: false`. Special tokens that a message spells out become special tokens too.
 */
export class JinjaChatTemplate implements ChatTemplate {
  private readonly templates: ReadonlyMap<string, JinjaTemplate>

  /**
   * `tokens`: special tokens by name, which templates read as variables. Throws OCTAVO_TEMPLATE_FAILED,
   * naming the file, for a template that does not parse.
   */
  constructor(
    sources: TemplateSources,
    private readonly tokens: Record<string, string>,
  ) {
    this.templates = new Map([...sources].map(([name, source]) => [name, parse(name, source)]))
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
      const words = (error as Error).message
      throw new OctavoError('OCTAVO_TEMPLATE_FAILED', `the chat template failed: ${words}`, {
        cause: error,
      })
    }
  }

  /** "tool_use" where there is one and tools are passed, "default" otherwise. */
  private choose(hasTools: boolean): JinjaTemplate {
    const { templates } = this
    const chosen = (hasTools && templates.get('tool_use')) || templates.get('default')
    if (chosen) return chosen
    const names = [...templates.keys()].join('", "')
    throw new OctavoError(
      'OCTAVO_TEMPLATE_FAILED',
      `the model has no chat template named "default", only "${names}"`,
    )
  }
}

function parse(name: string, { file, text }: TemplateSource): JinjaTemplate {
  try {
    return new JinjaTemplate(text)
  } catch (error) {
    const words = (error as Error).message
    throw new OctavoError(
      'OCTAVO_TEMPLATE_FAILED',
      `${file}: the chat template "${name}" does not parse: ${words}`,
      { cause: error },
    )
  }
}
