import { watch } from '../../../lib/runtime/leaks.js'
import { collectUntil } from '../../helpers/collect-garbage.js'
import { inOwnProcess } from '../../helpers/own-process.js'

inOwnProcess(__filename, () => {
  test('a handle whose release throws is named in a warning, not in an uncaught exception', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const release = (): void => {
      throw new TypeError('broken')
    }
    const forget = (): void => watch({}, { what: 'a Thing', stack: 'created', release })
    forget()
    await collectUntil(() => warn.mock.calls.length > 0)
    expect(warn.mock.calls[0]?.[0]).toMatch(
      /^a Thing was .* releasing it failed: TypeError: broken/,
    )
  })
})
