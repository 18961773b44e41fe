// The toolkit's types and host side, and what nvcc would know besides: the functions of device code, emulated.
#pragma once

#include_next <cuda_runtime.h>

#undef __launch_bounds__
#undef __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__

#include "device/launch.h"
#include "device/memory.h"
#include "device/numbers.h"
#include "device/warp.h"
