/** A refusal is made whatever the refused value does when it is looked at. */
import { invalid } from '../../../lib/options/reader.js'
import { refusal } from '../../refusal.js'

const throwing = {
  get constructor(): never {
    throw new Error('looked at')
  },
}
const revoked = Proxy.revocable([], {})
revoked.revoke()

it.each([
  [{ constructor: { name: Symbol('x') } }, 'an object (no class)'],
  [{ constructor: { name: '' } }, 'an object (no class)'],
  [{ constructor: null }, 'an object (no class)'],
  [Object.create(null), 'an object (no class)'],
  [throwing, 'an object (no class)'],
  [revoked.proxy, 'an object (no class)'],
  [new Date(0), 'an object (Date)'],
  [Symbol('x'), 'Symbol(x)'],
])('shows value %#', (value, shown) => {
  expect(invalid('x', value, 'a number')).toEqual(
    refusal('OCTAVO_INVALID_ARGUMENT', `x is ${shown}; it must be a number`),
  )
})
