// What a matrix descriptor of wgmma says of an operand in shared memory (PTX ISA, "Matrix descriptor format"; strides
// as the canonical layouts have them).
#pragma once

#include <cstdint>
#include <string>

#include "tensor/numbers.h"
#include "tensor/swizzle.h"

namespace octavo::emulator {

struct Descriptor {
  uint32_t start, leading, stride;  // bytes
  uint32_t baseOffset;
  Swizzle swizzle;

  explicit Descriptor(uint64_t bits);
};

/** An operand of one instruction: `rows` of M or N, 32 bytes of K; isTransposed: M or N along its rows of memory. */
struct Operand {
  Descriptor descriptor;
  Format format;
  int rows;
  bool isTransposed;

  /** Why the hardware could not read it, or not as it was meant; empty where it can. */
  std::string refusal() const;
  /** To floats: element (row, k) at to[row · rowStep + k · depthStep]. `window`: address 0 of the block. */
  void read(const uint8_t* window, float* to, int rowStep, int depthStep) const;

 private:
  uint32_t chunkAt(int row, int k) const;
};

}  // namespace octavo::emulator
