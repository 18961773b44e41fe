/**
 * The alphabet of byte-level BPE: each byte has a printable character, so that vocabularies are
 * text (GPT-2, `bytes_to_unicode`). Printable bytes stand for themselves, the others take
 * U+0100 and up in order.
 */

const printable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae

/** byte → its character */
export const byteCharacters: readonly string[] = characters()

/** character → its byte */
export const characterBytes: ReadonlyMap<string, number> = new Map(
  byteCharacters.map((character, byte) => [character, byte]),
)

function characters(): string[] {
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : next++),
  )
}
