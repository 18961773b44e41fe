/** Node 20.3 has no `Symbol.dispose`: a class that is made before the polyfill ran is not disposable there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const lib = join(__dirname, '..', '..', '..', 'lib')
const disposable = (readdirSync(lib, { recursive: true }) as string[]).filter(
  (file) =>
    file.endsWith('.ts') &&
    /\[Symbol\.(dispose|asyncDispose)\]/.test(readFileSync(join(lib, file), 'utf8')),
)

it.each(disposable)('%s loads the polyfill first of all', (file) => {
  const text = readFileSync(join(lib, file), 'utf8')
  expect(text.match(/^import (?!type ).*$/m)?.[0]).toMatch(/^import '(\.\.?\/)+polyfill\.js'$/)
})

it('finds the classes that are disposable', () => {
  expect(disposable).toEqual(expect.arrayContaining(['engine.ts', 'session.ts']))
})
