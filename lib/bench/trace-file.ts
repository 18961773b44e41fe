/** Published request traces as workloads: Azure's CSV and Mooncake's JSON lines. */
import { readFile } from 'node:fs/promises'
import { ioFailed } from '../disk.js'
import { OctavoError } from '../errors.js'
import { show } from '../options/reader.js'
import type { Arrival } from './arrivals.js'

/** Tokens that one hash id of a Mooncake trace stands for. */
export const traceBlockTokens = 512

const csvHeader = 'TIMESTAMP,ContextTokens,GeneratedTokens'

const refuse = (path: string, line: number, problem: string): OctavoError =>
  new OctavoError('OCTAVO_INVALID_ARGUMENT', `${path}, line ${line}: ${problem}`)

function tokens(path: string, line: number, name: string, value: unknown): number {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (Number.isSafeInteger(count) && (count as number) >= 0) return count as number
  throw refuse(path, line, `${name} is ${show(value)}; it must be a number of tokens`)
}

/** Milliseconds since 1970, to the last of the seven digits that Azure's clock has. */
function timeOf(path: string, line: number, text: string): number {
  const [, day, clock, fraction = ''] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?/.exec(text) ?? []
  const seconds = Date.parse(`${day}T${clock}Z`)
  if (!Number.isNaN(seconds)) return seconds + Number(`0${fraction}`) * 1000
  throw refuse(path, line, `the time is ${show(text)}; it must be like 2023-11-16 18:17:03.97`)
}

function csvArrival(path: string, line: number, text: string): Arrival {
  const [time = '', input, output] = text.split(',')
  return {
    atMs: timeOf(path, line, time),
    inputTokens: tokens(path, line, 'ContextTokens', input),
    outputTokens: tokens(path, line, 'GeneratedTokens', output),
    blocks: [],
  }
}

function jsonArrival(path: string, line: number, text: string): Arrival {
  let row: Record<string, unknown>
  try {
    row = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    throw refuse(path, line, `${show(text)} is no JSON`)
  }
  const { timestamp, input_length: input, output_length: output, hash_ids: blocks = [] } = row
  if (typeof timestamp !== 'number' || !Number.isFinite(timestamp)) {
    throw refuse(path, line, `timestamp is ${show(timestamp)}; it must be milliseconds`)
  }
  if (!Array.isArray(blocks) || !blocks.every((id) => Number.isSafeInteger(id) && id >= 0)) {
    throw refuse(path, line, `hash_ids is ${show(blocks)}; it must be a list of whole numbers`)
  }
  return {
    atMs: timestamp,
    inputTokens: tokens(path, line, 'input_length', input),
    outputTokens: tokens(path, line, 'output_length', output),
    blocks: blocks as number[],
  }
}

/** In the order of their times, the first of which becomes 0. Throws OCTAVO_INVALID_ARGUMENT naming file and line. */
export function parseTrace(path: string, text: string): Arrival[] {
  const lines = text.split(/\r?\n/)
  const isCsv = lines[0]?.trim() === csvHeader
  if (!isCsv && !lines[0]?.startsWith('{')) {
    const known = `"${csvHeader}" or JSON lines with timestamp, input_length and output_length`
    throw refuse(path, 1, `it is no trace that octavo reads: it must begin with ${known}`)
  }
  const arrivals: Arrival[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || (isCsv && index === 0)) continue
    arrivals.push((isCsv ? csvArrival : jsonArrival)(path, index + 1, line))
  }
  if (arrivals.length === 0) throw refuse(path, 1, 'it has no requests')
  arrivals.sort((a, b) => a.atMs - b.atMs)
  const first = arrivals[0]!.atMs
  for (const arrival of arrivals) arrival.atMs -= first
  return arrivals
}

/** Throws OCTAVO_IO_FAILED too. */
export async function readTrace(path: string): Promise<Arrival[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw ioFailed(path, error)
  })
  return parseTrace(path, text)
}

export interface TraceScale {
  /** Of all times: 0.5 is twice as fast. */
  time: number
  /** Of all lengths, which stay at least one token. */
  length: number
  /** The first so many requests. */
  requests: number
}

/** The same shape at another speed and another length. */
export function scaleTrace(arrivals: readonly Arrival[], scale: TraceScale): Arrival[] {
  const tokensOf = (count: number): number => Math.max(1, Math.round(count * scale.length))
  return arrivals.slice(0, scale.requests).map((arrival) => ({
    atMs: arrival.atMs * scale.time,
    inputTokens: tokensOf(arrival.inputTokens),
    outputTokens: tokensOf(arrival.outputTokens),
    blocks: arrival.blocks,
  }))
}
