/** Element types of the safetensors format and the ones octavo runs. */
import type { NativeDType, NativeStoredDType } from '../native.js'

/** Bits of one element, by the format's names. */
export const elementBits: ReadonlyMap<string, number> = new Map([
  ['BOOL', 8],
  ['U8', 8],
  ['I8', 8],
  ['F8_E4M3', 8],
  ['F8_E5M2', 8],
  ['F8_E8M0', 8],
  ['F8_E4M3FNUZ', 8],
  ['F8_E5M2FNUZ', 8],
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ['U16', 16],
  ['I16', 16],
  ['F16', 16],
  ['BF16', 16],
  ['U32', 32],
  ['I32', 32],
  ['F32', 32],
  ['U64', 64],
  ['I64', 64],
  ['F64', 64],
  ['C64', 64],
])

/** The runtime's name of a weight's dtype; absent where the runtime has none. */
export const weightDTypes: ReadonlyMap<string, NativeDType> = new Map([
  ['F32', 'fp32'],
  ['BF16', 'bf16'],
  ['F16', 'fp16'],
])

/** The runtime's name of what a tensor of a quantised layer is made of; bytes are bytes to it. */
export const storedDTypes: ReadonlyMap<string, NativeStoredDType> = new Map<
  string,
  NativeStoredDType
>([...weightDTypes, ['I32', 'i32'], ['I64', 'i64'], ['U8', 'u8'], ['I8', 'u8'], ['F8_E4M3', 'u8']])
