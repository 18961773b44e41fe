// Products of a warpgroup of widths beyond those of wgmma.cuh, both sides in shared memory (PTX ISA, "wgmma", sm_90a):
// columns of the output fitted to the size of a matrix. Where element d[i] stands: see wgmma.cuh.
#pragma once

#include "cuda/ptx/wgmma.cuh"

namespace octavo::cuda::ptx {

// clang-format off
#define OCTAVO_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define OCTAVO_NAMES_16 OCTAVO_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define OCTAVO_NAMES_24 OCTAVO_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define OCTAVO_NAMES_32 OCTAVO_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define OCTAVO_NAMES_40 OCTAVO_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define OCTAVO_NAMES_48 OCTAVO_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define OCTAVO_NAMES_56 OCTAVO_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define OCTAVO_NAMES_64 OCTAVO_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define OCTAVO_NAMES_72 OCTAVO_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define OCTAVO_NAMES_80 OCTAVO_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define OCTAVO_NAMES_88 OCTAVO_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define OCTAVO_NAMES_96 OCTAVO_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define OCTAVO_NAMES_104 OCTAVO_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define OCTAVO_NAMES_112 OCTAVO_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define OCTAVO_SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
  "+f"(d[i + 6]), "+f"(d[i + 7])
#define OCTAVO_SUMS_16(i) OCTAVO_SUMS_8(i), OCTAVO_SUMS_8(i + 8)
#define OCTAVO_SUMS_24(i) OCTAVO_SUMS_16(i), OCTAVO_SUMS_8(i + 16)
#define OCTAVO_SUMS_48(i) OCTAVO_SUMS_24(i), OCTAVO_SUMS_24(i + 24)
#define OCTAVO_SUMS_96(i) OCTAVO_SUMS_48(i), OCTAVO_SUMS_48(i + 48)
#define OCTAVO_SUMS_112(i) OCTAVO_SUMS_96(i), OCTAVO_SUMS_16(i + 96)

#define OCTAVO_PRODUCT(count, columns, type, a_, b_, p_)                                                          \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\n"                                                   \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" OCTAVO_NAMES_##count "}, " \
               a_ ", " b_ ", p, 1, 1, 0, 0;\n}"                                                                   \
               : OCTAVO_SUMS_##count(0)                                                                           \
               : "l"(a), "l"(b), "r"(accumulates))

/** d[64×columns] (+)= a[64×16] · b[columns×16]ᵀ. */
#define OCTAVO_MULTIPLY_TILES(count, columns, a_, b_, p_)                                                 \
  template <DType kType>                                                                                  \
  __device__ __forceinline__ void multiplyTiles(float (&d)[count], uint64_t a, uint64_t b, int accumulates) { \
    if constexpr (kType == DType::kBF16) OCTAVO_PRODUCT(count, columns, "bf16", a_, b_, p_);             \
    else OCTAVO_PRODUCT(count, columns, "f16", a_, b_, p_);                                               \
  }

OCTAVO_MULTIPLY_TILES(8, "16", "%8", "%9", "%10")
OCTAVO_MULTIPLY_TILES(16, "32", "%16", "%17", "%18")
OCTAVO_MULTIPLY_TILES(24, "48", "%24", "%25", "%26")
OCTAVO_MULTIPLY_TILES(48, "96", "%48", "%49", "%50")
OCTAVO_MULTIPLY_TILES(96, "192", "%96", "%97", "%98")
OCTAVO_MULTIPLY_TILES(112, "224", "%112", "%113", "%114")

#undef OCTAVO_MULTIPLY_TILES
#undef OCTAVO_PRODUCT
#undef OCTAVO_SUMS_112
#undef OCTAVO_SUMS_96
#undef OCTAVO_SUMS_48
#undef OCTAVO_SUMS_24
#undef OCTAVO_SUMS_16
#undef OCTAVO_SUMS_8
#undef OCTAVO_NAMES_112
#undef OCTAVO_NAMES_104
#undef OCTAVO_NAMES_96
#undef OCTAVO_NAMES_88
#undef OCTAVO_NAMES_80
#undef OCTAVO_NAMES_72
#undef OCTAVO_NAMES_64
#undef OCTAVO_NAMES_56
#undef OCTAVO_NAMES_48
#undef OCTAVO_NAMES_40
#undef OCTAVO_NAMES_32
#undef OCTAVO_NAMES_24
#undef OCTAVO_NAMES_16
#undef OCTAVO_NAMES_8
// clang-format on

}  // namespace octavo::cuda::ptx
