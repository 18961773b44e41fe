// Products of a warpgroup on tiles of 8-bit codes in shared memory (PTX ISA, "wgmma", sm_90a): 32 of K at a time, both
// operands in rows of K. Where element d[i] stands: see wgmma.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

/** What the codes are, and what their products are added up in. */
struct E4m3Codes {
  using Sum = float;  // of some 14 bits: promote the sums of 128 products to fp32
};
struct Int8Codes {
  using Sum = int32_t;  // exact
};

// clang-format off
#define OCTAVO_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define OCTAVO_NAMES_32 OCTAVO_NAMES_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define OCTAVO_NAMES_64 OCTAVO_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define OCTAVO_SUMS_4(kind, i) kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3])
#define OCTAVO_SUMS_16(kind, i) \
  OCTAVO_SUMS_4(kind, i), OCTAVO_SUMS_4(kind, i + 4), OCTAVO_SUMS_4(kind, i + 8), OCTAVO_SUMS_4(kind, i + 12)
#define OCTAVO_SUMS_32(kind, i) OCTAVO_SUMS_16(kind, i), OCTAVO_SUMS_16(kind, i + 16)
#define OCTAVO_SUMS_64(kind, i) OCTAVO_SUMS_32(kind, i), OCTAVO_SUMS_32(kind, i + 32)

/** d[64×N] (+)= a[64×32] · b[N×32]ᵀ. */
#define OCTAVO_MULTIPLY_CODES(codes, count, columns, types, kind, scaled, a_, b_, p_)                              \
  __device__ __forceinline__ void multiplyCodes(codes, codes::Sum (&d)[count], uint64_t a, uint64_t b,             \
                                                int accumulates) {                                                 \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k32." types " {" OCTAVO_NAMES_##count "}, " a_ ", "  \
                 b_ ", p" scaled ";\n}"                                                                            \
                 : OCTAVO_SUMS_##count(kind, 0)                                                                    \
                 : "l"(a), "l"(b), "r"(accumulates));                                                              \
  }

OCTAVO_MULTIPLY_CODES(E4m3Codes, 16, "32", "f32.e4m3.e4m3", "+f", ", 1, 1", "%16", "%17", "%18")
OCTAVO_MULTIPLY_CODES(E4m3Codes, 32, "64", "f32.e4m3.e4m3", "+f", ", 1, 1", "%32", "%33", "%34")
OCTAVO_MULTIPLY_CODES(E4m3Codes, 64, "128", "f32.e4m3.e4m3", "+f", ", 1, 1", "%64", "%65", "%66")
OCTAVO_MULTIPLY_CODES(Int8Codes, 16, "32", "s32.s8.s8", "+r", "", "%16", "%17", "%18")
OCTAVO_MULTIPLY_CODES(Int8Codes, 32, "64", "s32.s8.s8", "+r", "", "%32", "%33", "%34")
OCTAVO_MULTIPLY_CODES(Int8Codes, 64, "128", "s32.s8.s8", "+r", "", "%64", "%65", "%66")

#undef OCTAVO_MULTIPLY_CODES
#undef OCTAVO_SUMS_64
#undef OCTAVO_SUMS_32
#undef OCTAVO_SUMS_16
#undef OCTAVO_SUMS_4
#undef OCTAVO_NAMES_64
#undef OCTAVO_NAMES_32
#undef OCTAVO_NAMES_16
// clang-format on

/** Keeps uses of accumulators on their side of a wait or fence. */
template <int kCount>
__device__ __forceinline__ void pinSums(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pinSums(int32_t (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace octavo::cuda::ptx
