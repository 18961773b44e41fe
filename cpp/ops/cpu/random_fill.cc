// Memory filled at random; see ops/random_fill.h.
#include "ops/random_fill.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/access.h"
#include "ops/cpu/cpu_ops.h"

namespace octavo {

using namespace cpu;

namespace {

uint32_t wordOf(const RandomFill& fill, int64_t index) {
  return randomWord(fill.seed, static_cast<uint64_t>(fill.first + index));
}

void fillFloats(const RandomFill& fill, int64_t begin, int64_t end) {
  constexpr int64_t kChunk = 512;
  float values[kChunk];
  for (int64_t start = begin; start < end; start += kChunk) {
    const int64_t some = std::min(end - start, kChunk);
    for (int64_t i = 0; i < some; ++i) {
      values[i] = std::fma(fill.reach, randomUnit(wordOf(fill, start + i)), fill.middle);
    }
    rowKernels().store(element(fill.to, fill.dtype, start), fill.dtype, values, some);
  }
}

void fillBytes(const RandomFill& fill, int64_t begin, int64_t end) {
  auto* const bytes = static_cast<uint8_t*>(fill.to);
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t word = wordOf(fill, i);
    bytes[i] = fill.kind == RandomKind::kE4M3 ? randomE4m3(word) : static_cast<uint8_t>(word);
  }
}

}  // namespace

void CpuOps::fillRandom(const RandomFill& fill, Stream&) {
  const auto body = fill.kind == RandomKind::kUniform ? fillFloats : fillBytes;
  forRows(fill.count, 1, [&](int64_t begin, int64_t end) { body(fill, begin, end); });
}

}  // namespace octavo
