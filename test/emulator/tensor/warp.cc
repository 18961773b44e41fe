#include "tensor/warp.h"

#include <cstring>

#include "machine/thread.h"
#include "tensor/product.h"

namespace octavo::emulator {

namespace {

constexpr uint32_t kAll = 0xffffffff;
constexpr int kLanes = 32;

/** 8 × 8 numbers of 16 bits. A lane has two neighbours of row lane / 4; where transposed, of column lane / 4. */
struct Matrix {
  uint16_t rows[8][8];

  uint32_t pairOf(int lane, bool isTransposed) const {
    const int line = lane / 4, first = lane % 4 * 2;
    const uint32_t low = isTransposed ? rows[first][line] : rows[line][first];
    const uint32_t high = isTransposed ? rows[first + 1][line] : rows[line][first + 1];
    return low | high << 16;
  }
  void setPair(int lane, uint32_t pair, bool isTransposed) {
    const int line = lane / 4, first = lane % 4 * 2;
    (isTransposed ? rows[first][line] : rows[line][first]) = static_cast<uint16_t>(pair);
    (isTransposed ? rows[first + 1][line] : rows[line][first + 1]) = static_cast<uint16_t>(pair >> 16);
  }
};

struct MatrixLane {
  uint32_t* registers;
  uint8_t* row;
  int count;
  bool isTransposed;
};

uint8_t* rowAt(uint32_t address, int count) {
  if (self().lane >= count * 8) return nullptr;  // of fewer matrices the other lanes' addresses say nothing
  if (address % 16) fault("a row of a matrix that does not lie on a boundary of 16 bytes");
  return sharedPointer(address);
}

void loadAll(std::array<MatrixLane*, kLanes>& lanes) {
  for (int i = 0; i < lanes[0]->count; ++i) {
    Matrix matrix;
    for (int row = 0; row < 8; ++row) std::memcpy(matrix.rows[row], lanes[static_cast<size_t>(i * 8 + row)]->row, 16);
    for (int lane = 0; lane < kLanes; ++lane) {
      const MatrixLane& to = *lanes[static_cast<size_t>(lane)];
      to.registers[i] = matrix.pairOf(lane, to.isTransposed);
    }
  }
}

void storeAll(std::array<MatrixLane*, kLanes>& lanes) {
  for (int i = 0; i < lanes[0]->count; ++i) {
    Matrix matrix;
    for (int lane = 0; lane < kLanes; ++lane) {
      const MatrixLane& from = *lanes[static_cast<size_t>(lane)];
      matrix.setPair(lane, from.registers[i], from.isTransposed);
    }
    for (int row = 0; row < 8; ++row) std::memcpy(lanes[static_cast<size_t>(i * 8 + row)]->row, matrix.rows[row], 16);
  }
}

template <class T, class Act>
void meetAll(T& mine, Act act) {
  meet(kAll, mine, [&](std::array<T*, kLanes>& lanes) {
    for (const T* lane : lanes) {
      if (!lane) fault("an instruction of a whole warp in which lanes have ended");
    }
    act(lanes);
  });
}

}  // namespace

void loadMatrices(uint32_t* registers, int count, uint32_t address, bool isTransposed) {
  MatrixLane mine{registers, rowAt(address, count), count, isTransposed};
  meetAll(mine, loadAll);
}

void storeMatrices(uint32_t address, const uint32_t* registers, bool isTransposed) {
  uint32_t copied[4];
  std::memcpy(copied, registers, sizeof(copied));
  MatrixLane mine{copied, rowAt(address, 4), 4, isTransposed};
  meetAll(mine, storeAll);
}

uint32_t transposeMatrix(uint32_t pair) {
  meetAll(pair, [](std::array<uint32_t*, kLanes>& lanes) {
    Matrix matrix;
    for (int lane = 0; lane < kLanes; ++lane) matrix.setPair(lane, *lanes[static_cast<size_t>(lane)], false);
    for (int lane = 0; lane < kLanes; ++lane) *lanes[static_cast<size_t>(lane)] = matrix.pairOf(lane, true);
  });
  return pair;
}

namespace {

struct ProductLane {
  Format format;
  void* c;
  const uint32_t* a;
  uint32_t b[2];
};

// Of lane 4g + t: rows g and g + 8 (PTX ISA, "Matrix Fragments for mma.m16n8k16" and k32).
void multiplyAll(std::array<ProductLane*, kLanes>& lanes) {
  constexpr int kRows = 16, kColumns = 8, kMostDepth = 32;
  const Format format = lanes[0]->format;
  const int depth = depthOf(format), inRegister = 4 / bytesOf(format);
  float left[kRows * kMostDepth], right[kMostDepth * kColumns];
  alignas(32) uint32_t sums[kRows * kColumns];
  const auto sumOf = [&](int lane, int i) -> uint32_t& {
    return sums[(lane / 4 + i / 2 * 8) * kColumns + lane % 4 * 2 + i % 2];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const ProductLane& from = *lanes[static_cast<size_t>(lane)];
    const int row = lane / 4, k = lane % 4 * inRegister;
    for (int i = 0; i < 4; ++i) {
      toFloats(format, from.a + i, left + (row + i % 2 * 8) * depth + k + i / 2 * depth / 2, inRegister, 1);
      sumOf(lane, i) = static_cast<const uint32_t*>(from.c)[i];
    }
    for (int i = 0; i < 2; ++i) {
      toFloats(format, from.b + i, right + (k + i * depth / 2) * kColumns + row, inRegister, kColumns);
    }
  }
  // Half of K after the other, unlike wgmma: kernels of both kinds must not be taken for equal to the bit.
  if (format == Format::kInt8) {
    addProducts(reinterpret_cast<int32_t*>(sums), left, right, kRows, kColumns, depth, depth);
  } else {
    addProducts(reinterpret_cast<float*>(sums), left, right, kRows, kColumns, depth, depth / 2);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) static_cast<uint32_t*>(lanes[static_cast<size_t>(lane)]->c)[i] = sumOf(lane, i);
  }
}

}  // namespace

void multiplyWarp(Format format, void* c, const uint32_t* a, uint32_t b0, uint32_t b1) {
  ProductLane mine{format, c, a, {b0, b1}};
  meetAll(mine, multiplyAll);
}

}  // namespace octavo::emulator
