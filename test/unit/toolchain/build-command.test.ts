/** `octavo build`'s arguments and refusals; the builds themselves are test/package. */
import { errorCodes } from '../../../lib/errors.js'
import { run } from '../../../lib/cli/build.js'

const path = process.env['PATH']
const cxx = process.env['CXX']

afterEach(() => {
  process.env['PATH'] = path
  if (cxx === undefined) delete process.env['CXX']
  else process.env['CXX'] = cxx
  delete process.env['OCTAVO_CUDA']
  jest.restoreAllMocks()
})

it.each([
  [['--cuda', 'maybe'], 'OCTAVO_INVALID_ARGUMENT', /--cuda is 'maybe'; it takes on, off or auto/],
  [['--jobs', '0'], 'OCTAVO_INVALID_ARGUMENT', /--jobs is '0'/],
  [['--jobs', '1.5'], 'OCTAVO_INVALID_ARGUMENT', /--jobs is '1\.5'/],
  [['--jobs', 'many'], 'OCTAVO_INVALID_ARGUMENT', /--jobs is 'many'/],
  [['--job', '2'], 'OCTAVO_UNKNOWN_OPTION', /--job; did you mean --jobs\?/],
  [['everything'], 'OCTAVO_INVALID_ARGUMENT', /everything/],
] as const)('refuses %j', async (argv, code, sentence) => {
  expect(errorCodes).toContain(code)
  await expect(run([...argv])).rejects.toMatchObject({
    code,
    message: expect.stringMatching(sentence),
  })
})

it('refuses a wrong OCTAVO_CUDA as it refuses the option', async () => {
  process.env['OCTAVO_CUDA'] = 'yes'
  await expect(run([])).rejects.toMatchObject({ code: 'OCTAVO_INVALID_ARGUMENT' })
})

it('prints its help on stdout', async () => {
  const write = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((...[, written]: unknown[]) => {
      ;(written as () => void)()
      return true
    })
  expect(await run(['--help'])).toBe(0)
  expect(String(write.mock.calls[0]?.[0])).toMatch(/--cuda on\|off\|auto/)
})

it('names the compiler that is missing', async () => {
  process.env['PATH'] = '/nowhere'
  delete process.env['CXX']
  await expect(run([])).rejects.toMatchObject({
    code: 'OCTAVO_BUILD_FAILED',
    message: expect.stringMatching(/no C\+\+ compiler on PATH/),
  })
})

it.each(['/some/where/g++', 'no-such-compiler', 'no-such-compiler -m64'])(
  'refuses CXX=%j, which is no program',
  async (compiler) => {
    process.env['CXX'] = compiler
    await expect(run([])).rejects.toMatchObject({
      code: 'OCTAVO_BUILD_FAILED',
      message: `CXX is '${compiler}', and there is no such program; mend or unset it`,
    })
  },
)

it('does not fall back to a build without CUDA when CUDA was asked for', async () => {
  process.env['PATH'] = '/nowhere'
  process.env['CXX'] = process.execPath
  await expect(run(['--cuda', 'on'])).rejects.toMatchObject({
    code: 'OCTAVO_BUILD_FAILED',
    message: expect.stringMatching(/--cuda on needs cmake, but cmake is not on PATH/),
  })
})
