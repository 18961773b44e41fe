/** Building the addon with node-gyp from binding.gyp: for machines without cmake; CPU only. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OctavoError } from '../errors.js'
import type { BuildOptions } from './cmake.js'
import { runProcess } from './process.js'

/** node-gyp's script: the project's own, the one of the npm that started us, or of the npm beside node. */
export function findNodeGyp(folder: string): string | null {
  const starts = [folder]
  const npm = process.env['npm_execpath']
  if (npm !== undefined) starts.push(dirname(npm))
  starts.push(join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm'))
  for (const start of starts) {
    try {
      return require.resolve('node-gyp/bin/node-gyp.js', { paths: [start] })
    } catch {
      continue
    }
  }
  return null
}

/** Builds `build/Release/octavo.node`; throws OCTAVO_BUILD_FAILED with the tool's last words. */
export async function buildWithNodeGyp(nodeGyp: string, options: BuildOptions): Promise<void> {
  const args = [nodeGyp, 'rebuild', '--jobs', String(options.jobs)]
  if (options.debug) args.push('--debug')
  const prefix = join(dirname(process.execPath), '..')
  const headers = join(prefix, 'include', 'node', 'node_api.h')
  if (existsSync(headers)) args.push(`--nodedir=${prefix}`)
  const { status, tail } = await runProcess(process.execPath, args, options.folder, options.onLine)
  if (status === 0) return
  throw new OctavoError(
    'OCTAVO_BUILD_FAILED',
    `node-gyp ended with status ${status} (it needs python3, make and g++). Its last lines:\n${tail.join('\n')}`,
  )
}
