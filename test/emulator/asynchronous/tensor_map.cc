#include "asynchronous/tensor_map.h"

#include <algorithm>
#include <cstring>

namespace octavo::emulator {

/** A row of a box: its bytes [first, end) lie in the tensor, from `data` on; those before and behind do not. */
struct Box::Row {
  uint32_t offset, bytes, first, end;
  uint8_t* data;
};

Box::Box(const void* map, std::initializer_list<int> at) : coordinates_(at.size()) {
  std::memcpy(&map_, map, sizeof(map_));
  std::copy_n(at.begin(), std::min<size_t>(at.size(), kMostDimensions), at_);
}

std::string Box::refusal() const {
  if (map_.made != TensorMap::kMade) return "a tensor map that cuTensorMapEncodeTiled has not made";
  if (map_.rank != coordinates_) {
    return std::to_string(coordinates_) + " coordinates for a tensor of " + std::to_string(map_.rank) + " dimensions";
  }
  return "";
}

uint32_t Box::extent(int dimension) const {
  const uint32_t step = dimension ? map_.steps[dimension] : 1;  // of the innermost it is ignored
  return (map_.box[dimension] + step - 1) / step;
}

uint32_t Box::bytes() const {
  uint32_t count = map_.elementBytes;
  for (int i = 0; i < map_.rank; ++i) count *= extent(i);
  return count;
}

template <class Act>
void Box::forEachRow(Act act) const {
  const int64_t columns = map_.box[0], width = map_.elementBytes;
  const int64_t first = std::clamp<int64_t>(-at_[0], 0, columns);
  const int64_t end = std::clamp<int64_t>(static_cast<int64_t>(map_.sizes[0]) - at_[0], first, columns);
  const auto bytes = static_cast<uint32_t>(columns * width), rows = Box::bytes() / bytes;
  for (uint32_t row = 0; row < rows; ++row) {
    int64_t offset = (at_[0] + first) * width;
    bool isInside = true;
    uint32_t rest = row;
    for (int i = 1; i < map_.rank; ++i) {
      const int64_t index = at_[i] + int64_t{rest % extent(i)} * map_.steps[i];
      rest /= extent(i);
      isInside = isInside && index >= 0 && index < static_cast<int64_t>(map_.sizes[i]);
      offset += index * static_cast<int64_t>(map_.strides[i - 1]);
    }
    const auto from = static_cast<uint32_t>(first * width), to = isInside ? static_cast<uint32_t>(end * width) : from;
    act(Row{row * bytes, bytes, from, to, from < to ? map_.data + offset : nullptr});
  }
}

void Box::load(uint8_t* window, uint32_t to) const {
  forEachRow([&](const Row& row) {
    uint8_t line[256 * 8] = {};
    if (row.first < row.end) std::memcpy(line + row.first, row.data, row.end - row.first);
    for (uint32_t i = 0; i < row.bytes; i += 16) {
      std::memcpy(window + swizzled(to + row.offset + i, map_.swizzle), line + i, 16);
    }
  });
}

void Box::store(const uint8_t* window, uint32_t from) const {
  forEachRow([&](const Row& row) {
    uint8_t line[256 * 8];
    for (uint32_t i = 0; i < row.bytes; i += 16) {
      std::memcpy(line + i, window + swizzled(from + row.offset + i, map_.swizzle), 16);
    }
    if (row.first < row.end) std::memcpy(row.data, line + row.first, row.end - row.first);
  });
}

}  // namespace octavo::emulator
