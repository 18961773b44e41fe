// Where the parts of a quantised parameter lie in the arena.
#pragma once

#include "model/weights.h"

namespace octavo {

/** A part of a parameter: its numbers, or its codes and what belongs to them. Offsets in the arena, in bytes. */
struct PiecePlace {
  const WeightPart* part = nullptr;
  int64_t firstRow = 0, rows = 0;
  DType dtype = DType::kF32;      // of a dense part, as it is stored
  size_t data = 0;                // codes, or numbers
  int64_t codeStride = 0;         // bytes
  size_t scales = 0, zeros = 0, groupIndex = 0;
  bool continues = false;         // codes, scales and zeros go on where those of the part before end

  /** Rows that share a scale on the device. */
  int32_t groupRows() const { return part->quantized->isRepeated() ? 1 : part->quantized->groupRows; }
  int64_t scaleRows() const { return (rows + groupRows() - 1) / groupRows(); }
};

/**
 * Parts of one kind lie end to end, so that they can be one matrix. `end` is where the arena ends so far and then;
 * `dtype` is that of dense parts, absent: each its own.
 */
std::vector<PiecePlace> placePieces(const WeightEntry& entry, std::optional<DType> dtype, size_t& end);

}  // namespace octavo
