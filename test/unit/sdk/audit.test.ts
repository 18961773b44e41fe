import { memoryAudit, type NativeAudit } from '../../../lib/audit.js'

const MB = 1e6
const region = (
  name: 'weights' | 'kv',
  planned: number,
  held: number,
  ledger = held,
): NativeAudit['regions'][0] => ({
  region: name,
  plannedBytes: planned,
  heldBytes: held,
  ledgerBytes: ledger,
})

const audit: NativeAudit = {
  ledgerTime: 1000,
  driverTime: 3000,
  regions: [region('weights', 500, 500), region('kv', 300, 200)],
  contextBytes: 50,
  driver: { freeBytes: 1, totalBytes: 2, processBytes: 750 },
  driverBytes: 750,
  deviceBytes: 700,
  residualBytes: 0,
  limitBytes: 800,
  mappedResidentBytes: 0,
}

it('is exact when every byte agrees; a region may hold less than planned', () => {
  expect(memoryAudit(audit)).toMatchObject({
    verdict: 'exact',
    source: 'process',
    underLimit: true,
  })
  expect(memoryAudit(audit).regions.kv).toEqual({
    plannedBytes: 300,
    heldBytes: 200,
    ledgerBytes: 200,
    agrees: true,
  })
})

it.each([
  [1, 'close'],
  [12 * MB, 'close'],
  [-12 * MB, 'close'],
  [12 * MB + 1, 'apart'],
  [-12 * MB - 1, 'apart'],
])('a residual of %i bytes is %s', (residualBytes, verdict) => {
  expect(memoryAudit({ ...audit, residualBytes }).verdict).toBe(verdict)
})

it.each([
  ['the ledger shows other bytes', region('kv', 300, 200, 199)],
  ['more is held than planned', region('kv', 300, 301)],
])('is apart when %s', (_, kv) => {
  const found = memoryAudit({ ...audit, regions: [audit.regions[0]!, kv] })
  expect(found.verdict).toBe('apart')
  expect(found.regions.kv.agrees).toBe(false)
  expect(found.regions.weights.agrees).toBe(true)
})

it('says when the driver counts the whole device, and when it counts past the limit', () => {
  const driver = { ...audit.driver, processBytes: null }
  expect(memoryAudit({ ...audit, driver }).source).toBe('device')
  expect(memoryAudit({ ...audit, driverBytes: 801 }).underLimit).toBe(false)
})
