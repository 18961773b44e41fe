/** The examples of README, docs/ and the doc comments, as programs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(__dirname, '..', '..', '..')

export interface Block {
  /** Where it stands: `docs/chat.md:12`. */
  place: string
  language: 'ts' | 'js' | 'sh'
  code: string
}

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.startsWith('api'))
    .map((name) => join(folder, name))
    .sort()
}

/** Fenced blocks of a text, `line` being where the text begins in its file. */
function fenced(file: string, text: string, line = 1): Block[] {
  const blocks: Block[] = []
  for (const match of text.matchAll(/^```(ts|js|sh)\n([\s\S]*?)^```$/gm)) {
    const before = text.slice(0, match.index).split('\n').length
    const [, language, code] = match as unknown as [string, Block['language'], string]
    blocks.push({ place: `${file}:${line + before}`, language, code })
  }
  return blocks
}

function ofMarkdown(file: string): Block[] {
  return fenced(file, readFileSync(join(root, file), 'utf8'))
}

/** Everything after an @example of a doc comment, without the stars. */
function ofSource(file: string): Block[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)]
    .filter(([comment]) => comment.includes('@example'))
    .flatMap((match) => {
      const line = text.slice(0, match.index).split('\n').length
      return fenced(file, match[0].replace(/^[ \t]*\* ?/gm, ''), line)
    })
}

export function allBlocks(): Block[] {
  const pages = ['README.md', 'CONTRIBUTING.md', ...filesBelow('docs', '.md')]
  return [...pages.flatMap(ofMarkdown), ...filesBelow('lib', '.ts').flatMap(ofSource)]
}
