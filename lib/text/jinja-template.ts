/** A Jinja template as Python renders it. */

import { jinja, type JinjaLibraryTemplate, type JinjaNode } from './libraries.js'
import { pythonText, type RuntimeValue } from './python-text.js'

/** The function that the rewritten template prints with; no template's own name. */
const printer = '__octavo_text'

/** Statements print what is inside them, comments nothing. */
const statements = new Set([
  ...['Program', 'If', 'For', 'Set', 'Macro', 'CallStatement', 'FilterStatement'],
  ...['Comment', 'Break', 'Continue', 'StringLiteral'],
])

/** Fields that hold what is printed in order. */
const blocks = new Set(['body', 'alternate', 'defaultBlock'])

/**
 * @huggingface/jinja 0.5.11 prints `true` for `True`, nothing for `None`, and JSON for lists and
 * mappings; tool calls with such arguments then read differently from what the model was trained
 * on. Wherever a value becomes text (`{{ … }}`, `~`, the filter `string`) the parsed template is
 * changed to call `pythonText` first.
 */
export class JinjaTemplate {
  private readonly template: JinjaLibraryTemplate

  /** Throws what the library throws for a template it cannot parse. */
  constructor(source: string) {
    this.template = new (jinja().Template)(source)
    rewrite(this.template.parsed, false)
  }

  render(variables: Record<string, unknown>): string {
    // The argument comes in a list: bare, the library would take its kind away.
    const print = ([value]: RuntimeValue[]): string => pythonText(value)
    return this.template.render({ ...variables, [printer]: print })
  }
}

/** `node` with every printing inside it changed; itself too, where it `isPrinted`. */
function rewrite(node: JinjaNode, isPrinted: boolean): JinjaNode {
  for (const [field, child] of Object.entries(node)) {
    node[field] = rewriteField(child, blocks.has(field))
  }
  if (node.type === 'BinaryExpression' && (node.operator as JinjaNode).value === '~') {
    node.left = printed(node.left as JinjaNode)
    node.right = printed(node.right as JinjaNode)
  }
  const filter = node.type === 'FilterExpression' ? (node.filter as JinjaNode) : null
  if (filter?.type === 'Identifier' && filter.value === 'string') {
    return printed(node.operand as JinjaNode)
  }
  return isPrinted && !statements.has(node.type) ? printed(node) : node
}

/** A field is a node, a list of nodes, a map from node to node, or plain data. */
function rewriteField(value: unknown, isBlock: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => rewriteField(item, isBlock))
  if (value instanceof Map) {
    return new Map([...value].map((pair) => rewriteField(pair, false) as [unknown, unknown]))
  }
  const isNode = typeof value === 'object' && value !== null && 'type' in value
  return isNode ? rewrite(value as JinjaNode, isBlock) : value
}

/** The call `printer([node])`, made by the library's own parser. */
function printed(node: JinjaNode): JinjaNode {
  const { parsed } = new (jinja().Template)(`{{ ${printer}([0]) }}`)
  const [call] = parsed.body as [{ args: [{ value: JinjaNode[] }] } & JinjaNode]
  call.args[0].value = [node]
  return call
}
