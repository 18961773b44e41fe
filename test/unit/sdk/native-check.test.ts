/** The addon's file: what is said when there is none, or one that does not fit. */
import { checkAddon } from '../../../lib/native-check.js'
import { findAddon, loadNative, type NativeAddon } from '../../../lib/native.js'
import { refusal } from '../../refusal.js'

const own = process.env['OCTAVO_PREBUILD']
const setFolder = (folder: string | undefined): void => {
  if (folder === undefined) delete process.env['OCTAVO_PREBUILD']
  else process.env['OCTAVO_PREBUILD'] = folder
}
afterEach(() => setFolder(own))

const without = (name: keyof NativeAddon): Partial<NativeAddon> => ({
  ...loadNative(),
  [name]: undefined,
})
const check = (addon: Partial<NativeAddon>): NativeAddon => checkAddon(addon, loadNative().version)

it('takes the addon of this package', () => {
  expect(check(loadNative())).toBe(loadNative())
})

it('names OCTAVO_PREBUILD where it leads nowhere, and does not advise a build', () => {
  setFolder('/no/such/folder')
  expect(findAddon).toThrow(
    refusal('OCTAVO_NATIVE_MISSING', 'environment variable OCTAVO_PREBUILD, /no/such/folder'),
  )
  expect(findAddon).not.toThrow(/octavo build/)
})

it.each(['cudaStatus', 'listDevices', 'memoryUse', 'loadEngine', 'liveObjects', 'ops'] as const)(
  'refuses an addon without %s',
  (name) => {
    setFolder(undefined)
    expect(() => check(without(name))).toThrow(
      refusal('OCTAVO_NATIVE_MISSING', `the octavo.node found lacks ${name}: it is of an older`),
    )
    expect(() => check(without(name))).toThrow(/build it again with `npx octavo build`/)
  },
)

it.each([
  ['linear', { linear: undefined }, 'lacks ops.linear: it'],
  ['two ops', { sample: 1, open: null }, 'lacks ops.open, ops.sample: it'],
])('refuses an addon whose ops have no %s', (_, lost, sentence) => {
  const older = { ...loadNative(), ops: { ...loadNative().ops, ...lost } } as unknown as NativeAddon
  expect(() => check(older)).toThrow(refusal('OCTAVO_NATIVE_MISSING', sentence))
})

it('checks all that octavo/ops calls', () => {
  const { ops } = loadNative()
  for (const name of Object.keys(ops)) {
    const older = { ...loadNative(), ops: { ...ops, [name]: undefined } }
    expect(() => check(older)).toThrow(`lacks ops.${name}: it is of an older build`)
  }
})

it('refuses an addon of another version, naming where it comes from', () => {
  setFolder('/some/folder')
  expect(() => checkAddon(loadNative(), '99.0.0')).toThrow(
    refusal('OCTAVO_NATIVE_MISSING', 'this package is 99.0.0: it comes from the folder'),
  )
})
