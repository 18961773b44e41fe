// The pieces of a quantised parameter as kernels see them.
#pragma once

#include "model/piece_values.h"

namespace octavo {

/**
 * Parts that lie end to end and are alike become one matrix. `onHost`: activations stay as they are, whatever the
 * checkpoint says. Group indices are where `placePieces` put them.
 */
LinearWeight viewOf(const std::vector<PiecePlace>& pieces, const std::vector<PieceValues>& values, void* arena,
                    bool onHost);

}  // namespace octavo
