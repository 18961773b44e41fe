// What the tiles of mma.sync cost (sm_80): the part of linear_plan.cc that A100-class cards use.
#pragma once

#include "cuda/gemm/linear_plan.h"

namespace octavo::cuda {

/** False where the matrices are smaller than the tile and its kernel moves edges inwards, or has no instance of it. */
bool canUseAmpereTile(const LinearShape& shape, const LinearTile& tile);

/** Predicted clocks. */
double ampereClocks(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits);

}  // namespace octavo::cuda
