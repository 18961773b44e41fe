// The other process of section `neighbour`: takes all but so many bytes of a device, says how many, and gives them back
// when its input ends.  node neighbour-process.cjs DEVICE LEAVE-BYTES
'use strict'
const { Device } = require('../../../dist/ops/index.js')

const page = 2 ** 21
const largest = 512 * page // of one buffer

function takeAllBut(device, leave) {
  const buffers = []
  for (;;) {
    const spare = device.memoryUse().freeBytes - leave
    const bytes = Math.floor(Math.min(largest, spare) / page) * page
    if (bytes < page) return buffers
    const buffer = device.buffer('u8', bytes)
    buffer.fillBytes(1) // host memory is taken when it is touched
    buffers.push(buffer)
  }
}

function main([id, leave]) {
  const device = Device.open(id)
  const buffers = takeAllBut(device, Number(leave))
  console.log(`holding ${buffers.reduce((sum, { bytes }) => sum + bytes, 0)}`)
  process.stdin.resume()
  process.stdin.on('end', () => {
    for (const buffer of buffers) buffer.dispose()
    device.dispose()
  })
}

if (require.main === module) main(process.argv.slice(2))
