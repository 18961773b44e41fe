#include "memory/trace/stack_table.h"

#include <bit>

namespace octavo {

namespace {

size_t hashOf(const StackFrames& frames) noexcept {
  uint64_t hash = 0;
  for (const uintptr_t frame : frames) hash = (std::rotl(hash, 5) ^ frame) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

}  // namespace

StackTable::StackTable(uint32_t capacity)
    : capacity_(capacity), slots_(std::bit_ceil(size_t{capacity} * 2), StackId{0}) {
  stacks_.reserve(size_t{capacity} + 1);
  stacks_.emplace_back();
}

StackId StackTable::intern(const StackFrames& frames) noexcept {
  if (frames[0] == 0) return 0;
  const size_t mask = slots_.size() - 1;
  size_t slot = hashOf(frames) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (stacks_[slots_[slot]] == frames) return slots_[slot];
  }
  if (stacks_.size() > capacity_) {
    ++dropped_;
    return 0;
  }
  stacks_.push_back(frames);
  return slots_[slot] = static_cast<StackId>(stacks_.size() - 1);
}

}  // namespace octavo
