// What a load must know of a quantised part before it can say what kernels will see: read on the host, checked.
#pragma once

#include "model/checkpoint_files.h"
#include "model/piece_layout.h"

namespace octavo {

struct PieceValues {
  std::vector<int32_t> groupIndex;  // [columns]; empty: k / groupColumns, whatever the file says
  float inputScale = 0;

  /**
   * Throws kCheckpointInvalid for a group that does not exist and a scale that is no positive number,
   * kCheckpointMismatch for another stored shape, kIoFailed.
   */
  static PieceValues read(const std::string& parameter, const PiecePlace& piece, const CheckpointFiles& files);
};

}  // namespace octavo
