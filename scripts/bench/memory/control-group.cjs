// A control group with a memory limit for a bench of several processes, where the machine lets us make one (Linux,
// versions 1 and 2, as a user who may).
'use strict'
const { mkdirSync, readFileSync, rmdirSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

/** The folder that counts this process's memory, and the name of its limit. */
function ownFolder() {
  const groups = readFileSync('/proc/self/cgroup', 'utf8')
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1]
  const firstMount = /^(?:\S+ ){3}\S+ (\S+) .* - cgroup \S+ \S*\bmemory\b/m.exec(mounts)?.[1]
  if (first !== undefined && firstMount !== undefined)
    return { folder: join(firstMount, first), limit: 'memory.limit_in_bytes' }
  const second = /^0::(.*)$/m.exec(groups)?.[1]
  const secondMount = /^(?:\S+ ){3}\S+ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
  if (second === undefined || secondMount === undefined)
    throw new Error('no control group of this process counts memory')
  return { folder: join(secondMount, second), limit: 'memory.max' }
}

/** { enter(command): a shell command that runs it in the group, remove() }. Throws, in words, where there is none. */
function makeControlGroup(limitBytes) {
  const own = ownFolder()
  const folder = join(own.folder, `octavo-bench-${process.pid}`)
  mkdirSync(folder)
  try {
    writeFileSync(join(folder, own.limit), String(limitBytes))
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
  const enter = (command) => `echo $$ > '${join(folder, 'cgroup.procs')}' && exec ${command}`
  return { enter, remove: () => rmdirSync(folder) }
}

module.exports = { makeControlGroup }
