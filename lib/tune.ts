/** Before and after a load with the option `tune`: what is known of the card, and what was measured anew. */
import type { NativeAddon, NativeDeviceInfo, NativeEngine } from './native.js'
import type { NativeTuneOptions } from './native-tuning.js'
import { messageOf } from './options/reader.js'
import type { TuneSettings } from './options/tune-options.js'
import { defaultTuningFile, readTuningFile, warnOfTuning, writeTuningFile } from './tuning-file.js'

/** The device that will be opened: the first CUDA device where any will do. Undefined: the CPU, or none. */
function cudaDevice(
  addon: Pick<NativeAddon, 'listDevices'>,
  device: string,
): NativeDeviceInfo | undefined {
  if (device === 'cpu') return undefined
  const id = device === 'auto' || device === 'cuda' ? 'cuda:0' : device
  return addon.listDevices().find((each) => each.id === id)
}

/** null, with a process warning, where the system knows no folder of the user's. */
function fileOf({ file }: TuneSettings, card: string): string | null {
  if (file !== null) return file
  try {
    return defaultTuningFile(card)
  } catch (error) {
    warnOfTuning(`what is measured is not kept, as there is no folder for it: ${messageOf(error)}`)
    return null
  }
}

/** Reads the file of the card. On the CPU there is none: nothing is measured there. */
export async function tuneOptions(
  addon: Pick<NativeAddon, 'listDevices' | 'version'>,
  device: string,
  settings: TuneSettings,
): Promise<NativeTuneOptions> {
  const { seconds } = settings
  const found = cudaDevice(addon, device)
  if (found === undefined) return { seconds, card: '', multiprocessors: 0, known: [] }
  const { name: card, multiprocessors } = found
  const of = { octavo: addon.version, card, multiprocessors }
  const file = fileOf(settings, card)
  const known = file === null ? [] : await readTuningFile(file, of)
  return { seconds, card, multiprocessors, known }
}

/** Writes what was measured, by the name of the card that measured it. Never throws. */
export async function keepTuning(
  addon: Pick<NativeAddon, 'version'>,
  native: Pick<NativeEngine, 'tuning'>,
  settings: TuneSettings,
): Promise<void> {
  const { card, multiprocessors, entries } = native.tuning()
  const measured = entries.filter(({ wasKnown }) => !wasKnown)
  if (measured.length === 0) return
  const tuned = measured.map(({ wasKnown: _, ...entry }) => entry)
  const of = { octavo: addon.version, card, multiprocessors }
  const file = fileOf(settings, card)
  if (file !== null) await writeTuningFile(file, of, tuned)
}
