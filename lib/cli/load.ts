/** Loads the engine for a command, with progress on stderr: a bar on a terminal, else one line. */
import { basename } from 'node:path'
import { Engine } from '../engine.js'
import type { EngineOptions, LoadProgress } from '../options/engine-options.js'
import { formatBytes } from './format.js'
import { tell } from './output.js'

const barWidth = 30

function drawBar({ doneBytes, totalBytes }: LoadProgress): void {
  const share = totalBytes === 0 ? 1 : doneBytes / totalBytes
  const filled = Math.round(share * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const figures = `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`
  tell(`\r\u001b[Kloading ${bar} ${Math.floor(share * 100)} %  ${figures}`)
}

export async function loadEngine(
  model: string | undefined,
  options: EngineOptions,
  signal: AbortSignal,
): Promise<Engine> {
  const started = performance.now()
  const terminal = process.stderr.isTTY
  const onProgress = terminal ? drawBar : undefined
  try {
    const engine = await Engine.load(model, { ...options, signal, onProgress })
    if (!terminal) tellLoaded(engine, performance.now() - started)
    return engine
  } finally {
    if (terminal) tell('\r\u001b[K')
  }
}

function tellLoaded({ model, device }: Engine, ms: number): void {
  const size = formatBytes(model.weightBytes)
  const seconds = (ms / 1000).toFixed(2)
  tell(`octavo: ${basename(model.folder)} (${size}) on ${device}, loaded in ${seconds} s\n`)
}
