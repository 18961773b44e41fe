// The native programs of the kernel benchmarks: where they are, how they are built and run.
'use strict'
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const { join, resolve } = require('node:path')

const defaultBuild = join(__dirname, '..', '..', '..', 'build')

const howTo =
  'It needs nvcc: configure with `cmake -S . -B build -DOCTAVO_CUDA=ON` (or `npm run build` where nvcc is), ' +
  'or name a program built elsewhere in OCTAVO_BENCH.'

/** $OCTAVO_BENCH, or the target of `build`, brought up to date. Throws with what to do where neither can be. */
function findProgram(target, environment = process.env, build = defaultBuild) {
  const named = environment.OCTAVO_BENCH
  if (named) {
    if (!existsSync(named)) throw new Error(`OCTAVO_BENCH names ${named}, which does not exist`)
    return resolve(named)
  }
  if (!existsSync(join(build, 'CMakeCache.txt')))
    throw new Error(`${target} is not built: there is nothing configured in ${build}. ${howTo}`)
  const { status, error } = spawnSync('cmake', ['--build', build, '--target', target], {
    env: environment,
    stdio: ['ignore', 2, 2],
  })
  if (error) throw new Error(`cmake cannot be run (${error.code}). ${howTo}`)
  if (status !== 0) throw new Error(`cmake could not build ${target} in ${build}. ${howTo}`)
  return join(build, 'scripts', 'bench', 'native', target)
}

/** The JSON objects of a program's output, one a line; throws naming the line that is none. */
function parseLines(text) {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return JSON.parse(line)
      } catch {
        throw new Error(`not a line of a benchmark: ${line}`)
      }
    })
}

const onlyArguments = (only) => only.flatMap((text) => ['--only', text])

function run(file, args) {
  const { status, signal, error, stdout } = spawnSync(file, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw new Error(`${file} cannot be run: ${error.message}`)
  return { ended: signal ?? status, stdout }
}

/** The names of the cases that the program's kernels cover. */
function listCases(program) {
  const { ended, stdout } = run(program, ['--list'])
  if (ended !== 0) throw new Error(`${program} --list ended with ${ended}`)
  return stdout.split('\n').filter((line) => line !== '')
}

/**
 * { card, measured, failure }: one object a case. A wrong result is status 1 and a case without a value; where the program
 * ended otherwise, `failure` says so and what it had measured is kept. One that named no card has nothing to say.
 */
function runProgram(program, only) {
  const { ended, stdout } = run(program, onlyArguments(only))
  const [head, ...measured] = parseLines(stdout)
  if (head?.card === undefined) throw new Error(`${program} ended with ${ended} and named no card`)
  const isWrong = ended === 1 && measured.some(({ value }) => value === undefined)
  const failure = ended === 0 || isWrong ? null : `${program} ended with ${ended}`
  return { card: head.card, measured, failure }
}

module.exports = { findProgram, listCases, onlyArguments, parseLines, runProgram }
