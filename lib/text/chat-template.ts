/** A model's chat template: messages to the text that the model was trained to continue. */

import { OctavoError } from '../errors.js'
import { JinjaTemplate } from './jinja-template.js'
import type { TemplateSources } from './template-source.js'
import type { ChatMessage, ChatTemplate, ChatTemplateOptions } from './types.js'

/**
 * A Jinja template. Its text holds the special tokens, BOS included: encode it with
 * `addSpecialTokens: false`. Special tokens that a message spells out become special tokens too.
 */
export class JinjaChatTemplate implements ChatTemplate {
  private readonly parsed = new Map<string, JinjaTemplate>()

  /** `tokens`: special tokens by name, which templates read as variables. Nothing is parsed yet. */
  constructor(
    private readonly sources: TemplateSources,
    private readonly tokens: Record<string, string>,
  ) {}

  render(messages: readonly ChatMessage[], options: ChatTemplateOptions = {}): string {
    if (!Array.isArray(messages)) {
      throw new OctavoError(
        'OCTAVO_INVALID_ARGUMENT',
        `messages must be an array, not ${typeof messages}`,
      )
    }
    const { addGenerationPrompt = true, tools = null, variables = {} } = options
    const name = this.choose(tools !== null)
    try {
      // transformers passes tools and documents always: templates ask "is none", not "is defined".
      return this.template(name).render({
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
  private choose(hasTools: boolean): string {
    const name = hasTools && this.sources.has('tool_use') ? 'tool_use' : 'default'
    if (this.sources.has(name)) return name
    const names = [...this.sources.keys()].join('", "')
    throw new OctavoError(
      'OCTAVO_TEMPLATE_FAILED',
      `the model has no chat template named "default", only "${names}"`,
    )
  }

  private template(name: string): JinjaTemplate {
    let parsed = this.parsed.get(name)
    if (parsed === undefined) {
      parsed = new JinjaTemplate(this.sources.get(name) as string)
      this.parsed.set(name, parsed)
    }
    return parsed
  }
}
