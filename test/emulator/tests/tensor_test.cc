// What the emulator promises of tensor cores. Ends with 1 when a promise is broken.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <vector>

#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma_codes.cuh"
#include "cuda/ptx/wgmma_left.cuh"
#include "cuda/ptx/wgmma_registers.cuh"
#include "tests/promise.h"

namespace octavo::emulator {
namespace {

namespace ptx = octavo::cuda::ptx;

constexpr uint32_t kLeft = 1024, kRight = kLeft + 8192;

/** Small integers: every sum is exact, in any order. */
int leftOf(int row, int k) { return (row * 7 + k * 3) % 9 - 4; }
int rightOf(int column, int k) { return (column * 5 + k * 11) % 7 - 3; }
int sumOf(int row, int column, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += leftOf(row, k) * rightOf(column, k);
  return sum;
}

uint16_t bf16(int value) { return __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(value))); }
uint32_t pairOf(int low, int high) { return bf16(low) | static_cast<uint32_t>(bf16(high)) << 16; }

/** Puts 16-bit element (row, column) of slabs of 64 columns, swizzled by 128 bytes; `rows` in a slab. */
void put(uint32_t from, int rows, int row, int column, uint16_t value) {
  const int at = column / 64 * rows * 128 + row * 128 + (((column % 64 >> 3) ^ (row & 7)) << 4) + (column & 7) * 2;
  *reinterpret_cast<uint16_t*>(sharedPointer(from + static_cast<uint32_t>(at))) = value;
}
void putCode(uint32_t from, int row, int column, uint8_t value) {
  const int at = row * 128 + (((column >> 4) ^ (row & 7)) << 4) + (column & 15);
  *sharedPointer(from + static_cast<uint32_t>(at)) = value;
}

template <class Sum, int kCount>
bool areRight(const Sum (&sums)[kCount], int depth) {
  const int warp = self().number / 32 % 4, g = self().lane / 4, t = self().lane % 4;
  bool right = true;
  for (int i = 0; i < kCount; ++i) {
    const int row = 16 * warp + g + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * t + i % 2;
    right = right && sums[i] == static_cast<Sum>(sumOf(row, column, depth));
  }
  return right;
}

/** The left registers of step `step`, as mma.m16n8k16 has them. */
void fillLeft(uint32_t (&left)[4], int step) {
  const int warp = self().number / 32 % 4, g = self().lane / 4, t = self().lane % 4;
  for (int i = 0; i < 4; ++i) {
    const int row = warp * 16 + g + i % 2 * 8, k = step * 16 + t * 2 + i / 2 * 8;
    left[i] = pairOf(leftOf(row, k), leftOf(row, k + 1));
  }
}

template <int kColumns>
void warpgroupsMultiply() {
  constexpr DType kType = DType::kBF16;
  bool right = true;
  const std::string failure = launch(2, 256, [&] {
    const int thread = self().number % 128;
    if (self().number < 128) {
      for (int i = thread; i < 64 * 64; i += 128) put(kLeft, 64, i / 64, i % 64, bf16(leftOf(i / 64, i % 64)));
      for (int i = thread; i < kColumns * 64; i += 128) {
        put(kRight, kColumns, i / 64, i % 64, bf16(rightOf(i / 64, i % 64)));
      }
    }
    namedBarrier(0, 0, true);
    float sums[kColumns / 2], other[kColumns / 2];
    uint32_t left[4][4];
    ptx::fenceProducts();
    for (int step = 0; step < 4; ++step) {
      ptx::multiplyTiles<kType>(sums, ptx::tileDescriptor(kLeft) + 2 * step, ptx::tileDescriptor(kRight) + 2 * step,
                                step > 0);
    }
    sums[0] = NAN;
    ptx::commitProducts();
    for (int step = 0; step < 4; ++step) {
      fillLeft(left[step], step);
      ptx::multiplyLeft<kType>(other, left[step], ptx::tileDescriptor(kRight) + 2 * step, step > 0);
    }
    ptx::commitProducts();
    ptx::waitProducts<1>();
    right = right && areRight(sums, 64);
    ptx::waitProducts<0>();
    right = right && areRight(other, 64);
  });
  expect("a warpgroup multiplies, its left side in memory or in registers", failure.empty() && right);
}

void rightSidesAreTransposed() {
  constexpr int kColumns = 128, kDepth = 64;
  bool right = true;
  const std::string failure = launch(1, 128, [&] {
    for (int i = self().number; i < kDepth * kColumns; i += 128) {
      put(kRight, kDepth, i / kColumns, i % kColumns, bf16(rightOf(i % kColumns, i / kColumns)));
    }
    namedBarrier(0, 0, true);
    float sums[kColumns / 2];
    ptx::fenceProducts();
    for (int step = 0; step < 4; ++step) {
      uint32_t left[4];
      fillLeft(left, step);
      ptx::multiplyRegisters<DType::kBF16>(sums, left, ptx::transposedDescriptor(kRight + step * 2048u, kDepth * 128),
                                           step > 0);
    }
    ptx::commitProducts();
    ptx::waitProducts<0>();
    right = right && areRight(sums, kDepth);
  });
  expect("right sides may have K along their rows", failure.empty() && right);
}

template <class Codes, class Sum = typename Codes::Sum>
void codesMultiply(Codes codes, uint8_t (*codeOf)(int)) {
  constexpr int kDepth = 128;
  bool right = true;
  const std::string failure = launch(1, 128, [&] {
    for (int i = self().number; i < 64 * kDepth; i += 128) {
      putCode(kLeft, i / kDepth, i % kDepth, codeOf(leftOf(i / kDepth, i % kDepth)));
      putCode(kRight, i / kDepth, i % kDepth, codeOf(rightOf(i / kDepth, i % kDepth)));
    }
    namedBarrier(0, 0, true);
    Sum sums[32];  // 64 columns
    ptx::fenceProducts();
    for (int step = 0; step < 4; ++step) {
      ptx::multiplyCodes(codes, sums, ptx::tileDescriptor(kLeft) + 2 * step, ptx::tileDescriptor(kRight) + 2 * step,
                         step > 0);
    }
    ptx::commitProducts();
    ptx::waitProducts<0>();
    right = right && areRight(sums, kDepth);
  });
  expect("codes of 8 bits are multiplied", failure.empty() && right);
}

void warpsMultiply() {
  bool right = true;
  const std::string failure = launch(1, 64, [&] {
    const int lane = self().lane, g = lane / 4, t = lane % 4;
    // Rows of 48 bytes, so that ldmatrix takes what its lanes point to.
    for (int i = lane; i < 16 * 16; i += 32) {
      const auto at = static_cast<uint32_t>(i / 16 * 48 + i % 16 * 2);
      *reinterpret_cast<uint16_t*>(sharedPointer(kLeft + at)) = bf16(leftOf(i / 16, i % 16));
      *reinterpret_cast<uint16_t*>(sharedPointer(kRight + at)) = bf16(i / 16 < 8 ? rightOf(i / 16, i % 16) : 0);
    }
    namedBarrier(0, 0, true);
    uint32_t a[4], b0, b1;
    ptx::loadMatrices(a, kLeft + static_cast<uint32_t>((lane & 7) + 8 * (lane >> 3 & 1)) * 48 + (lane >> 4) * 16u);
    ptx::loadTwoMatrices(b0, b1, kRight + static_cast<uint32_t>(lane & 7) * 48 + (lane >> 3 & 1) * 16u);
    float sums[4] = {};
    ptx::multiplyAdd<DType::kBF16>(sums, a, b0, b1);
    for (int i = 0; i < 4; ++i) right = right && sums[i] == static_cast<float>(sumOf(g + i / 2 * 8, 2 * t + i % 2, 16));
    const uint32_t transposed = ptx::transposeMatrix(pairOf(g * 8 + 2 * t, g * 8 + 2 * t + 1));
    right = right && transposed == pairOf(2 * t * 8 + g, (2 * t + 1) * 8 + g);
    int32_t codes[4] = {1, 1, 1, 1};
    uint32_t words[4];
    const auto word = [](int (*of)(int, int), int row, int k) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) bits |= (static_cast<uint32_t>(of(row, k + i)) & 255) << i * 8;
      return bits;
    };
    for (int i = 0; i < 4; ++i) words[i] = word(leftOf, g + i % 2 * 8, 4 * t + i / 2 * 16);
    ptx::multiplyAddInt8(codes, words, word(rightOf, g, 4 * t), word(rightOf, g, 4 * t + 16));
    for (int i = 0; i < 4; ++i) right = right && codes[i] == 1 + sumOf(g + i / 2 * 8, 2 * t + i % 2, 32);
  });
  expect("a warp multiplies what ldmatrix brings", failure.empty() && right);
}

void mistakesAreFound() {
  const auto multiply = [](uint64_t left) {
    float sums[32];
    ptx::fenceProducts();
    ptx::multiplyTiles<DType::kBF16>(sums, left, ptx::tileDescriptor(kRight), false);
    ptx::commitProducts();
    ptx::waitProducts<0>();
  };
  expect("a tile within a swizzle pattern is a fault", contains(launch(1, 128, [&] {
    multiply(ptx::tileDescriptor(kLeft + 128));
  }), "lies within a swizzle pattern"));
  expect("threads that disagree are a fault", contains(launch(1, 128, [&] {
    multiply(ptx::tileDescriptor(self().number == 77 ? kRight : kLeft));
  }), "issue different wgmma"));
}

void pairsAreRoundedOnce() {
  const auto half = [](float x) { return __bfloat16_as_ushort(__float2bfloat16(x)); };
  const uint32_t sum = ptx::fusedPair<DType::kBF16>(half(2) | half(3) << 16, half(4) | half(5) << 16,
                                                    half(1) | half(-8) << 16);
  expect("pairs are multiplied and added", (sum & 0xffff) == half(9) && sum >> 16 == half(7));
  // 192 · 131 / 2^14 is the middle of two bf16: what is added decides, however small.
  const uint16_t a = half(1.5f), b = half(131.0f / 128), below = half(196.0f / 128), above = half(197.0f / 128);
  expect("a middle is rounded to even", fuseBF16(a, b, 0) == below);
  expect("and up where a little is added", fuseBF16(a, b, half(1e-30f)) == above);
}

}  // namespace
}  // namespace octavo::emulator

int main() {
  using namespace octavo::emulator;
  for (uint64_t seed : {1, 2, 3}) {
    setSeed(seed);
    warpgroupsMultiply<64>();
    warpgroupsMultiply<80>();
    warpgroupsMultiply<256>();
    rightSidesAreTransposed();
    codesMultiply(octavo::cuda::ptx::Int8Codes(), [](int value) { return static_cast<uint8_t>(value); });
    codesMultiply(octavo::cuda::ptx::E4m3Codes(), [](int value) {
      return static_cast<uint8_t>(__nv_cvt_float_to_fp8(static_cast<float>(value), __NV_SATFINITE, __NV_E4M3));
    });
    warpsMultiply();
  }
  mistakesAreFound();
  pairsAreRoundedOnce();
  return broken ? 1 : 0;
}
