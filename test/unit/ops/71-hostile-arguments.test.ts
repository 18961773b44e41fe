/** Arrays, shapes, views and options that throw when they are read are refused, never met as they are. */
import * as ops from '../../../lib/ops/index.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'

function revoked(target: object): never {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy as never
}

const throwing = (target: object): never =>
  new Proxy(target, {
    get: () => {
      throw new TypeError('boom')
    },
    has: () => {
      throw new TypeError('boom')
    },
    getPrototypeOf: () => {
      throw new TypeError('boom')
    },
  }) as never

let device: ops.Device
beforeAll(() => {
  device = ops.Device.open('cpu', { threads: 1 })
})
afterAll(() => {
  device.dispose()
  expectNothingLive()
})

test.each([
  ['revoked', revoked],
  ['throwing', throwing],
])('a %s proxy', (_, make) => {
  const calls: [string, () => unknown][] = [
    ['options', () => ops.Device.open('cpu', make({}))],
    ['a shape', () => device.buffer('fp32', make([2]))],
    ...(['fp32', 'i32', 'u8', 'i64'] as const).map((dtype): [string, () => unknown] => [
      `values of ${dtype}`,
      () => device.from(dtype, [1], make([1])),
    ]),
    [
      'a view',
      () => {
        using out = device.buffer('fp32', [1, 1])
        ops.add(make({}), out)
      },
    ],
  ]
  for (const [name, call] of calls) {
    let code: unknown = 'no error'
    try {
      call()
    } catch (error) {
      code = (error as { code?: string }).code ?? error
    }
    expect([name, code]).toEqual([name, 'OCTAVO_INVALID_ARGUMENT'])
  }
  expect(device.ledger()).toEqual([])
})
