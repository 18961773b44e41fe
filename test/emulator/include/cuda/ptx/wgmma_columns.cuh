// cuda/ptx/wgmma_columns.cuh, emulated: the emulated product takes any width.
#pragma once

#include "cuda/ptx/wgmma.cuh"
