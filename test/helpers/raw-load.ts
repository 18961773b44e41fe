/** A NativeLoad without its callbacks: it can be sent to a worker or a child process. */
import type { NativeLoad } from '../../lib/native.js'
import { defaultOptions, greedy } from './native-engine.js'
import { storiesManifest, storiesSpec } from './stories-model.js'
import { join } from 'node:path'

export type PlainLoad = Omit<NativeLoad, 'onProgress' | 'onEvents'>

export function plainLoad(testing: NativeLoad['options']['testing'] = {}): PlainLoad {
  return {
    device: 'cpu',
    threads: 1,
    spec: storiesSpec,
    manifest: storiesManifest(),
    options: { ...defaultOptions, testing },
  }
}

export const plainRequest = greedy
/** Of the build that is tested: `loadNative` looks there too. */
export const addonPath = join(
  process.env['OCTAVO_PREBUILD'] ?? join(__dirname, '../..'),
  'build/Release/octavo.node',
)
