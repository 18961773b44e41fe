/** `octavo doctor`: what is here and whether it works; the first thing to paste into a bug report. */
import { freemem, totalmem } from 'node:os'
import { fromNative } from '../errors.js'
import {
  loadNative,
  type NativeAddon,
  type NativeCudaStatus,
  type NativeDeviceInfo,
} from '../native.js'
import { Arguments, type Flags } from './arguments.js'
import { cgroupMemory, type CgroupMemory } from './cgroup.js'
import { exitCodes, exitCodesHelp } from './exit.js'
import { formatBytes } from './format.js'
import { output } from './output.js'
import { packageVersion } from './package-version.js'
import { UsageError } from './usage.js'

const help = `octavo doctor [--json]

Says which build of octavo this is, which devices it sees, whether its kernels run there, and how much memory there
is. Exit code 1 when the addon cannot be loaded.

      --json               the same as one JSON object
  -h, --help

${exitCodesHelp}
`

const flags: Flags = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }

interface DeviceReport extends NativeDeviceInfo {
  freeBytes: number | null
  processBytes: number | null
  /** A sentence, or '' */
  problem: string
}

interface AddonReport {
  version: string
  buildInfo: NativeAddon['buildInfo']
  cuda: NativeCudaStatus
  devices: DeviceReport[]
}

interface Diagnosis {
  octavo: string
  node: string
  platform: string
  host: { totalBytes: number; freeBytes: number; cgroup: CgroupMemory }
  /** null: it could not be loaded, and `problem` says why */
  addon: AddonReport | null
  problem: string
}

function examineDevice(addon: NativeAddon, device: NativeDeviceInfo): DeviceReport {
  try {
    const { freeBytes, processBytes } = addon.memoryUse(device.id)
    return { ...device, freeBytes, processBytes, problem: '' }
  } catch (error) {
    return { ...device, freeBytes: null, processBytes: null, problem: fromNative(error).message }
  }
}

function examineAddon(): { addon: AddonReport | null; problem: string } {
  try {
    const native = loadNative()
    const devices = native.listDevices().map((device) => examineDevice(native, device))
    const { version, buildInfo } = native
    return { addon: { version, buildInfo, cuda: native.cudaStatus(), devices }, problem: '' }
  } catch (error) {
    return { addon: null, problem: fromNative(error).message }
  }
}

function diagnose(): Diagnosis {
  return {
    octavo: packageVersion(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    host: { totalBytes: totalmem(), freeBytes: freemem(), cgroup: cgroupMemory() },
    ...examineAddon(),
  }
}

function describeCuda({ built, driverVersion, problem }: NativeCudaStatus): string {
  if (!built) return problem === '' ? 'not in this build' : problem
  const driver =
    driverVersion === 0
      ? 'no NVIDIA driver'
      : `driver for CUDA ${Math.floor(driverVersion / 1000)}.${Math.floor((driverVersion % 1000) / 10)}`
  return problem === '' ? `${driver}, kernels run` : `${driver}; ${problem}`
}

function describeDevice(device: DeviceReport): string {
  const { id, name, totalBytes, freeBytes, problem, computeMajor, computeMinor } = device
  const compute = computeMajor === 0 ? '' : `, compute ${computeMajor}.${computeMinor}`
  const free = freeBytes === null ? '' : `${formatBytes(freeBytes)} free of `
  const units = `${device.multiprocessors} ${id === 'cpu' ? 'threads' : 'multiprocessors'}`
  return `${name}${compute}, ${units}, ${free}${formatBytes(totalBytes)}${problem && `; ${problem}`}`
}

function describeCgroup({ limitBytes, usedBytes }: CgroupMemory): string {
  if (limitBytes === null) return 'no limit'
  const used = usedBytes === null ? '' : `, ${formatBytes(usedBytes)} used`
  return `limit ${formatBytes(limitBytes)}${used}`
}

function describe({ octavo, node, platform, host, addon, problem }: Diagnosis): [string, string][] {
  const lines: [string, string][] = [
    ['octavo', octavo],
    ['node', `${node} ${platform}`],
    ['memory', `${formatBytes(host.freeBytes)} free of ${formatBytes(host.totalBytes)}`],
    ['cgroup', describeCgroup(host.cgroup)],
  ]
  if (addon === null) return [...lines, ['addon', problem]]
  const { cuda, architectures, compiler, sanitizer } = addon.buildInfo
  const build = cuda ? `CUDA build (${architectures})` : 'CPU-only build'
  lines.push(['addon', `${build}, ${compiler}${sanitizer ? ', AddressSanitizer' : ''}`])
  lines.push(['cuda', describeCuda(addon.cuda)])
  for (const device of addon.devices) lines.push([device.id, describeDevice(device)])
  return lines
}

/** Runs the command; the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const args = new Arguments(argv, flags)
  if (args.has('help')) {
    await output.write(help)
    return exitCodes.done
  }
  const [extra] = args.positionals
  if (extra !== undefined) {
    throw new UsageError(`doctor takes no argument and got '${extra}'`)
  }
  const diagnosis = diagnose()
  const text = args.has('json')
    ? JSON.stringify(diagnosis, null, 2)
    : describe(diagnosis)
        .map(([name, value]) => `${name.padEnd(8)} ${value}`)
        .join('\n')
  await output.write(`${text}\n`)
  return diagnosis.addon === null ? exitCodes.failed : exitCodes.done
}
