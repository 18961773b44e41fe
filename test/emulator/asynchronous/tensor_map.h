// What the emulator writes into the 128 bytes of a CUtensorMap, and the boxes that tiles are copied by.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/swizzle.h"

namespace octavo::emulator {

constexpr int kMostDimensions = 5;

struct TensorMap {
  static constexpr uint64_t kMade = 0x6f637461766f746dull;

  uint64_t made;
  uint8_t* data;
  uint64_t sizes[kMostDimensions];        // innermost first
  uint64_t strides[kMostDimensions - 1];  // bytes
  uint16_t box[kMostDimensions];
  uint8_t steps[kMostDimensions];         // every which element
  uint8_t rank, elementBytes;
  Swizzle swizzle;
};
static_assert(sizeof(TensorMap) <= 128);

/** A box of a tensor, at coordinates that may lie outside. Refers to nothing but the tensor's memory. */
class Box {
 public:
  Box(const void* map, std::initializer_list<int> at);

  /** Why there is no such box; empty where there is. */
  std::string refusal() const;
  uint32_t bytes() const;
  /** To shared memory at `to` of `window`; zeros for what lies outside of the tensor. */
  void load(uint8_t* window, uint32_t to) const;
  /** From shared memory; what lies outside of the tensor is not written. */
  void store(const uint8_t* window, uint32_t from) const;

 private:
  struct Row;
  template <class Act>
  void forEachRow(Act act) const;
  uint32_t extent(int dimension) const;

  TensorMap map_;
  int64_t at_[kMostDimensions] = {};
  size_t coordinates_;
};

}  // namespace octavo::emulator
