/** The caching allocator over a device's own streams: memory goes on only when everybody has finished with it. */
import { memoryTesting, type Workspace } from '../helpers/memory-testing.js'
import { disposeAfter, openMemory, testing, type Memory } from '../helpers/native-testing.js'
import { refusal } from '../helpers/refusal.js'
import { SeededRandom } from '../helpers/seeded-random.js'
import { DriverMeter, type DeviceName } from './driver.js'

const KiB = 1024
const MiB = 2 ** 20

const open = (memory: Memory): Workspace => disposeAfter(new memoryTesting.Workspace(memory))

const every = (bytes: Uint8Array, value: number): boolean => bytes.every((byte) => byte === value)

/** One try: a block is given back while another stream, with so much work before it, has still to read it. */
function freeUnderUse(workspace: Workspace, work: number): boolean {
  const [own, other] = [workspace.stream(), workspace.stream()]
  const ballast = workspace.allocate(256 * MiB, other, 1).id
  const witness = workspace.allocate(2 * MiB, other, 1).id
  const block = workspace.allocate(2 * MiB, own, 1)
  workspace.fill(block.id, 7, own)
  workspace.synchronize(own)
  for (let round = 0; round < work; round++) workspace.fill(ballast, round & 255, other)
  workspace.copy(block.id, witness, other)
  workspace.recordStream(block.id, other)
  workspace.free(block.id, own)
  const next = workspace.allocate(2 * MiB, own, 2)
  workspace.fill(next.id, 9, own)
  const wasBusy = workspace.isBusy(other)
  if (wasBusy) expect(next.address).not.toBe(block.address)
  expect(every(workspace.read(witness, other), 7)).toBe(true)
  // The other stream has passed: now the block serves again.
  const later = workspace.allocate(2 * MiB, own, 3)
  if (wasBusy) expect(later.address).toBe(block.address)
  for (const id of [ballast, witness]) workspace.free(id, other)
  for (const { id } of [next, later]) workspace.free(id, own)
  for (const stream of [own, other]) workspace.releaseStream(stream)
  workspace.check()
  return wasBusy
}

/** Blocks of random sizes on four streams, each read late by another one; `slow` puts work before every read. */
function crossStreamTraffic(workspace: Workspace, slow: boolean): void {
  const random = new SeededRandom(3)
  const streams = Array.from({ length: 4 }, () => workspace.stream())
  const ballast = streams.map((stream) => workspace.allocate(64 * MiB, stream, 1).id)
  const witnesses: { id: number; stream: number; value: number }[] = []
  for (let round = 0; round < 150; round++) {
    const own = random.pick(streams)
    const other = random.pick(streams)
    const value = random.between(1, 255)
    const block = workspace.allocate(random.between(64 * KiB, 4 * MiB), own, 2).id
    workspace.fill(block, value, own)
    workspace.synchronize(own) // there is no other way to have `other` come after `own`
    const witness = workspace.allocate(64 * KiB, other, 3).id
    if (slow) workspace.fill(ballast[streams.indexOf(other)]!, value, other)
    workspace.copy(block, witness, other)
    if (other !== own) workspace.recordStream(block, other)
    workspace.free(block, random.next() < 0.5 ? own : other)
    witnesses.push({ id: witness, stream: other, value })
  }
  const wrong = witnesses.filter(
    ({ id, stream, value }) => !every(workspace.read(id, stream), value),
  )
  expect(wrong).toEqual([])
  for (const { id, stream } of witnesses) workspace.free(id, stream)
  streams.forEach((stream, index) => workspace.free(ballast[index]!, stream))
  workspace.check()
}

export function testStreams(device: DeviceName): void {
  let memory: Memory
  beforeEach(() => (memory = openMemory(device)))

  test('a block given back on its own stream serves there at once', () => {
    const workspace = open(memory)
    const [own, other] = [workspace.stream(), workspace.stream()]
    const first = workspace.allocate(3 * MiB, own, 1)
    workspace.fill(first.id, 5, own)
    workspace.free(first.id, own)
    const second = workspace.allocate(3 * MiB, own, 2)
    expect(second.address).toBe(first.address)
    expect(workspace.allocate(3 * MiB, other, 2).address).not.toBe(first.address)
    workspace.fill(second.id, 6, own)
    expect(every(workspace.read(second.id, own), 6)).toBe(true)
    workspace.check()
  })

  test('a block that another stream still reads waits for it', () => {
    const workspace = open(memory)
    let wasBusy = false
    for (let work = 4; !wasBusy && work <= 4096; work *= 4) {
      wasBusy = freeUnderUse(workspace, device === 'cpu' ? 1 : work)
      if (device === 'cpu') break
    }
    expect(wasBusy).toBe(device !== 'cpu') // the CPU has done its work when the call returns
  })

  test.each([true, false])(
    'nothing is overwritten before it was read (work before: %s)',
    (slow) => {
      crossStreamTraffic(open(memory), slow)
    },
  )

  test('what is trimmed is what the driver loses', () => {
    const workspace = open(memory)
    const meter = new DriverMeter(memory, device)
    const stream = workspace.stream()
    const ids = Array.from({ length: 30 }, () => workspace.allocate(8 * MiB, stream, 1).id)
    const reserved = (): number => workspace.statistics().reserved_bytes.all.current
    expect(reserved()).toBeGreaterThanOrEqual(240 * MiB)
    meter.expect(reserved())
    for (const id of ids) workspace.free(id, stream)
    meter.expect(reserved())
    expect(workspace.trim(64 * MiB)).toBeGreaterThanOrEqual(176 * MiB)
    expect(reserved()).toBeLessThanOrEqual(64 * MiB)
    meter.expect(reserved())
    workspace.trim(0)
    expect(reserved()).toBe(0)
    expect(memory.lines()).toEqual([])
    meter.expect(0)
    workspace.check()
    memory.check()
  })

  test('a failure on purpose is typed, and the next request is served', () => {
    const workspace = open(memory)
    const stream = workspace.stream()
    memory.failAfter(1)
    expect(refusal(() => workspace.allocate(MiB, stream, 1)).code).toBe('OCTAVO_OUT_OF_MEMORY')
    workspace.check()
    const { id } = workspace.allocate(MiB, stream, 1)
    workspace.fill(id, 3, stream)
    expect(every(workspace.read(id, stream), 3)).toBe(true)
  })

  test('the limit refuses with the numbers, and what is held stays exact', () => {
    memory.setLimit('workspace', 64 * MiB)
    const workspace = open(memory)
    const stream = workspace.stream()
    const { id } = workspace.allocate(40 * MiB, stream, 1)
    workspace.fill(id, 4, stream)
    const { code, message } = refusal(() => workspace.allocate(40 * MiB, stream, 1))
    expect(code).toBe('OCTAVO_OUT_OF_MEMORY')
    expect(message).toMatch(/40 MiB/)
    expect(every(workspace.read(id, stream), 4)).toBe(true)
    workspace.check()
  })

  test('where pages cannot be mapped singly it works as well, and gives everything back', () => {
    testing.allowPageMapping(false)
    try {
      const meter = new DriverMeter(memory, device)
      const workspace = open(memory)
      crossStreamTraffic(workspace, false)
      workspace.check()
      workspace.dispose()
      expect(memory.lines()).toEqual([])
      memory.check()
      meter.expect(0)
    } finally {
      testing.allowPageMapping(true)
    }
  })
}
