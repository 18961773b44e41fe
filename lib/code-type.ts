/** What the codes of a quantised weight are, as the runtime names them; see cpp/ops/quantized_matrix.h. */

/** Unsigned integers of 2, 3, 4 or 8 bits, int8, or e4m3 numbers. */
export type CodeType = 'u2' | 'u3' | 'u4' | 'u8' | 'i8' | 'e4m3'

/** Bits of one code. */
export const codeBits: Readonly<Record<CodeType, number>> = {
  u2: 2,
  u3: 3,
  u4: 4,
  u8: 8,
  i8: 8,
  e4m3: 8,
}
