/** The exact end of every test that took native objects: none is left. */
import { loadNative, type NativeLiveObjects } from '../../lib/native.js'

export const nothingLive: NativeLiveObjects = {
  engines: 0,
  devices: 0,
  buffers: 0,
  streams: 0,
  events: 0,
  graphs: 0,
  pinned: 0,
}

export function expectNothingLive(): void {
  expect(loadNative().liveObjects()).toEqual(nothingLive)
}
