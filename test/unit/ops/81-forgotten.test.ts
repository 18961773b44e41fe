/** Buffers and devices that are forgotten: released, and named in a process warning. */
import { Device, liveObjects } from '../../../lib/ops/index.js'
import { collectUntil } from '../../helpers/collect-garbage.js'
import { expectNothingLive } from '../../helpers/nothing-live.js'
import { inOwnProcess } from '../../helpers/own-process.js'

inOwnProcess(__filename, () => {
  /** Drops what `make` returns and waits until `gone`; the warnings since, as [kind, where]. */
  async function warningsAfterDropping(
    make: () => unknown,
    gone: () => boolean,
  ): Promise<[string, string][]> {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    try {
      make()
      await collectUntil(gone)
      const calls = emit.mock.calls as unknown as [string, { code: string; detail: string }][]
      const ours = calls.filter(([, { code }]) => code === 'OCTAVO_UNDISPOSED')
      return ours.map(([message, { detail }]) => [message.split(' was')[0]!, detail])
    } finally {
      emit.mockRestore()
    }
  }

  test('a buffer that is dropped is released and named', async () => {
    using device = Device.open('cpu', { threads: 1 })
    const make = () => [device.buffer('fp32', 100), device.buffer('fp32', 9).dispose()]
    const warnings = await warningsAfterDropping(make, () => liveObjects().buffers === 0)
    expect(warnings).toEqual([
      ['a DeviceBuffer', expect.stringMatching(/^created\n\s+at .*81-forgotten\.test/)],
    ])
    expect(device.ledger()).toEqual([])
  })

  test('a device that is dropped is released and named, with what lies on it', async () => {
    const make = () => Device.open('cpu', { threads: 1 }).buffer('fp32', 100).length
    const warnings = await warningsAfterDropping(make, () => liveObjects().devices === 0)
    expectNothingLive()
    expect(warnings).toContainEqual([
      'a Device',
      expect.stringMatching(/^created\n\s+at .*81-forgotten\.test/),
    ])
  })

  test('buffers that went with their device are not named', async () => {
    let collected = false
    const registry = new FinalizationRegistry(() => (collected = true))
    const make = (): void => {
      const device = Device.open('cpu', { threads: 1 })
      registry.register(device.buffer('fp32', 100), undefined)
      device.dispose()
    }
    expect(await warningsAfterDropping(make, () => collected)).toEqual([])
    expectNothingLive()
  })

  test('a buffer keeps its device alive', async () => {
    const buffer = (() => Device.open('cpu', { threads: 1 }).from('i32', 2, [5, 6]))()
    let tries = 0
    await collectUntil(() => ++tries > 5)
    expect(Array.from(buffer.read())).toEqual([5, 6])
    buffer.device.dispose()
    expectNothingLive()
  })
})
