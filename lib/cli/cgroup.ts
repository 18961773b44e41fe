/** The memory limit this process runs under, where a cgroup sets one. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface CgroupMemory {
  /** null: no limit */
  limitBytes: number | null
  usedBytes: number | null
}

function readNumber(path: string): number | null {
  try {
    const text = readFileSync(path, 'utf8').trim()
    const value = Number(text)
    // cgroup v1 writes "no limit" as the largest page-aligned 64-bit number.
    return text !== '' && value < 2 ** 60 ? value : null
  } catch {
    return null
  }
}

interface Hierarchy {
  root: string
  limit: string
  used: string
}

const v2: Hierarchy = { root: '/sys/fs/cgroup', limit: 'memory.max', used: 'memory.current' }
const v1: Hierarchy = {
  root: '/sys/fs/cgroup/memory',
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
}

/** The tightest limit between our group and the root, and what that group uses. */
function tightest({ root, limit, used }: Hierarchy, group: string): CgroupMemory | null {
  let best: CgroupMemory | null = null
  let folder = group
  for (;;) {
    const limitBytes = readNumber(join(root, folder, limit))
    if (limitBytes !== null && (best?.limitBytes == null || limitBytes < best.limitBytes)) {
      best = { limitBytes, usedBytes: readNumber(join(root, folder, used)) }
    }
    if (folder === '/' || folder === '.') return best
    folder = dirname(folder)
  }
}

/** Linux only; elsewhere, and without a limit, both figures are null. Never throws. */
export function cgroupMemory(): CgroupMemory {
  let groups = ''
  try {
    groups = readFileSync('/proc/self/cgroup', 'utf8')
  } catch {
    return { limitBytes: null, usedBytes: null }
  }
  const unified = /^0::(.*)$/m.exec(groups)?.[1]
  const memory = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1]
  const found =
    (memory === undefined ? null : tightest(v1, memory)) ??
    (unified === undefined ? null : tightest(v2, unified))
  return found ?? { limitBytes: null, usedBytes: null }
}
