// Where each parameter lies in the arena, and as what.
#pragma once

#include "model/piece_layout.h"

namespace octavo {

struct ParameterPlace {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
  size_t offset = 0;                  // in the arena, aligned to 256
  bool mapped = false;                 // stays in its file: takes nothing of the arena
  const WeightEntry* entry = nullptr;  // in the manifest
  std::vector<PiecePlace> pieces;      // of a parameter with codes; `offset` and `dtype` are not used then
};

struct WeightLayout {
  std::vector<ParameterPlace> parameters;  // in load order
  size_t bytes = 0;                        // of the arena
  size_t mappedBytes = 0;                  // of the files

  /**
   * See Weights::load. With `mapFiles`, what lies in a file as it is needed is left there: one part, of the dtype it
   * is stored as, where elements are aligned; of dummy weights, nothing. Throws kCheckpointMismatch when a parameter has no entry.
   */
  static WeightLayout of(const ModelSpec& spec, const WeightManifest& manifest, DType dtype, bool keepFileDType,
                         bool mapFiles);
};

}  // namespace octavo
