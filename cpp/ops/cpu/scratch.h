// fp32 working memory of a thread, kept between calls so that steady state allocates nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace octavo::cpu {

/** Distinct buffers that may be live in one thread at a time. */
enum class ScratchUse { kInput, kWeight, kOutput, kQuery, kKey, kValue, kScores, kSums, kLogits };

/** At least `floats` floats, 64-byte aligned, contents undefined; valid until the next call with this use. */
inline float* scratch(ScratchUse use, size_t floats) {
  constexpr size_t kUses = 9, kAlignedFloats = 16;
  thread_local std::vector<float> buffers[kUses];
  std::vector<float>& buffer = buffers[static_cast<size_t>(use)];
  if (buffer.size() < floats + kAlignedFloats) buffer.resize(floats + kAlignedFloats);
  const size_t address = reinterpret_cast<size_t>(buffer.data());
  return reinterpret_cast<float*>((address + 63) / 64 * 64);
}

}  // namespace octavo::cpu
