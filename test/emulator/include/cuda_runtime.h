// The toolkit's types and host side, and what nvcc would know besides: the functions of device code, emulated.
#pragma once

#include_next <cuda_runtime.h>

#include "device/launch.h"
#include "device/memory.h"
#include "device/numbers.h"
#include "device/warp.h"
