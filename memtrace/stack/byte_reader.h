// Reads the numbers of DWARF tables: DWARF 4, section 7.6 (LEB128); Linux Standard Base Core, 10.5 (pointer encodings).
#pragma once

#include <cstdint>
#include <cstring>

namespace octavo::memtrace {

/** Past its end it reads zeros and `failed()` is true. */
class ByteReader {
 public:
  ByteReader(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  const uint8_t* position() const { return at_; }
  const uint8_t* end() const { return end_; }
  bool done() const { return at_ >= end_; }
  bool failed() const { return failed_; }
  void skip(uint64_t bytes) { take(bytes); }

  template <typename Number>
  Number number() {
    Number value = 0;
    const uint8_t* from = take(sizeof value);
    if (from != nullptr) std::memcpy(&value, from, sizeof value);
    return value;
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = number<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (int shift = 0;;) {
      const auto byte = number<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
  }

  /** A zero-terminated string, '' when it has no end. */
  const char* text() {
    const auto* start = reinterpret_cast<const char*>(at_);
    while (number<uint8_t>() != 0) {
    }
    return failed_ ? "" : start;
  }

  /** A pointer in one of the encodings of .eh_frame; `failed()` for those that need more than their own place. */
  uint64_t pointer(uint8_t encoding) {
    const auto place = reinterpret_cast<uint64_t>(at_);
    const uint64_t value = encodedNumber(encoding & 0x0f);
    const uint8_t relation = encoding & 0x70;
    if ((encoding & 0x80) != 0 || (relation != 0 && relation != kRelativeToPlace)) failed_ = true;
    return relation == kRelativeToPlace ? place + value : value;
  }

  uint64_t encodedNumber(uint8_t format) {
    switch (format) {
      case 0x00: case 0x04: case 0x0c: return number<uint64_t>();
      case 0x01: return uleb();
      case 0x02: return number<uint16_t>();
      case 0x03: return number<uint32_t>();
      case 0x09: return static_cast<uint64_t>(sleb());
      case 0x0a: return static_cast<uint64_t>(int64_t{number<int16_t>()});
      case 0x0b: return static_cast<uint64_t>(int64_t{number<int32_t>()});
      default: failed_ = true; return 0;
    }
  }

 private:
  static constexpr uint8_t kRelativeToPlace = 0x10;

  const uint8_t* take(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end_ - at_)) {
      failed_ = true;
      at_ = end_;
      return nullptr;
    }
    const uint8_t* from = at_;
    at_ += bytes;
    return from;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool failed_ = false;
};

}  // namespace octavo::memtrace
