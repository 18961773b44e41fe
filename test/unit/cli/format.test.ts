import { formatBytes } from '../../../lib/cli/format.js'

it.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1.00 KiB'],
  [1044992, '1021 KiB'],
  [16 * 2 ** 20, '16.0 MiB'],
  [150 * 2 ** 30, '150 GiB'],
  [2 ** 52, '4096 TiB'],
])('%d bytes read as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))
