/** The rules by which CUDA sources become C++ for the emulator, and that they refuse what they do not understand. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..', '..', '..')
const { translate, isTranslated } = jest.requireActual<{
  translate: (text: string) => string
  isTranslated: (name: string) => boolean
}>('../../emulator/translate.cjs')

describe('launches', () => {
  test('a kernel, its grid and its arguments', () => {
    expect(translate('  scale<<<rows, 256, 0, stream>>>(out, f(a, b));')).toBe(
      '  ::octavo::emulator::launcher("scale", scale, rows, 256, 0, stream)(out, f(a, b));',
    )
  })

  test('commas in brackets separate nothing; template arguments belong to the name', () => {
    expect(translate('if (x) run::scale<kType, 8><<<dim3(a, b), 32>>>({out, x});')).toBe(
      'if (x) ::octavo::emulator::launcher("run::scale<kType, 8>", run::scale<kType, 8>, dim3(a, b), 32)({out, x});',
    )
  })

  test('template arguments that are left to the compiler', () => {
    const kernel = 'template <class T>\n__global__ void __launch_bounds__(32) copy(T* to) {}\n'
    expect(translate(`${kernel}void f() { copy<<<1, 32, 0, stream>>>(to); }`)).toContain(
      'deducingLauncher("copy", [](auto... all) { copy(all...); }, 1, 32, 0, stream)(to);',
    )
  })

  test('lines stay where they were', () => {
    const text = 'void f() {\n  g<<<a,\n      b, 0,\n      stream>>>(\n      c);\n}\n'
    expect(translate(text).split('\n').length).toBe(text.split('\n').length)
  })

  test.each([
    ['a launch that does not end', 'f<<<a, b;\n'],
    ['a launch of a form that is not known', 'f<<<a>>>(b);'],
    ['a launch without arguments', 'f<<<a, b>>>;'],
    ['a launch of something that is no name', '(f)<<<a, b>>>(c);'],
  ])('%s is refused', (sentence, text) => {
    expect(() => translate(`\n${text}`)).toThrow(`2: ${sentence}`)
  })
})

describe('shared memory', () => {
  test('dynamic memory', () => {
    expect(translate('extern __shared__ __align__(128) uint8_t bytes[];')).toBe(
      'uint8_t* const bytes = static_cast<uint8_t*>(::octavo::emulator::dynamicShared());',
    )
  })

  test('variables, each with its place', () => {
    const translated = translate('__shared__ __align__(16) float a[kRows][kColumns + 1], b;')
    expect(translated).toContain(
      'auto& a = ::octavo::emulator::shared<float[kRows][kColumns + 1], 16>(aPlace);',
    )
    expect(translated).toContain('auto& b = ::octavo::emulator::shared<float, 16>(bPlace);')
    expect(translated).toContain('static constinit ::octavo::emulator::SharedPlace aPlace;')
  })

  test('a form that is not known is refused', () => {
    expect(() => translate('__shared__ float* a;')).toThrow('1: there is no rule for this')
    expect(() => translate('__shared__ float a[8] = {};')).toThrow('1: there is no rule for this')
  })
})

test('comments and literals are left alone', () => {
  const text =
    '// a<<<b, c>>>(d);\n/* __shared__ float a[2]; asm("x"); */ const char* s = "f<<<1, 2>>>(3)";\n'
  expect(translate(text)).toBe(text)
})

test('the architecture is the emulated one', () => {
  expect(translate('#if __CUDA_ARCH__ >= 900 && defined(__CUDA_ARCH_FEAT_SM90_ALL)')).toBe(
    '#if OCTAVO_EMULATED_CUDA_ARCH >= 900 && defined(OCTAVO_EMULATED_FEAT_SM90_ALL)',
  )
})

test.each(['asm volatile("bar.sync 1;");', '__constant__ float table[4];'])(
  '%s is refused: PTX belongs to cuda/ptx, and nothing else has a rule',
  (text) => {
    expect(() => translate(text)).toThrow('there is no rule for this')
  },
)

const sources = readdirSync(join(root, 'cuda'), { recursive: true, encoding: 'utf8' })
test.each(sources.filter(isTranslated))('cuda/%s is understood', (name) => {
  const text = readFileSync(join(root, 'cuda', name), 'utf8')
  expect(translate(text).split('\n').length).toBe(text.split('\n').length)
})
