// Text built without malloc and without stdio, for reports written from anywhere, signal handlers included.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/list.h"

namespace octavo::memtrace {

/** Appends; what does not fit into memory is lost. */
class Text {
 public:
  Text& add(std::string_view text);
  Text& add(char letter) { return add(std::string_view(&letter, 1)); }
  Text& number(int64_t value);
  Text& unsignedNumber(uint64_t value);
  /** 0x… */
  Text& hex(uint64_t value);
  /** `scaled` / 10^digits, with that many digits after the point. */
  Text& decimal(uint64_t scaled, int digits);
  /** Powers of 1024, three significant digits: '1.00 MiB', as `octavo` prints them elsewhere. */
  Text& bytes(uint64_t value);
  /** Nanoseconds as seconds with three digits after the point. */
  Text& seconds(int64_t nanoseconds) { return decimal(nanoseconds < 0 ? 0 : nanoseconds / 1000000, 3); }
  /** A JSON string with its quotes. Bytes that are not ASCII pass as they are. */
  Text& quoted(std::string_view text);

  std::string_view view() const { return {letters_.begin(), letters_.size()}; }
  size_t size() const { return letters_.size(); }
  void clear() { letters_.clear(); }
  /** All of it to a file descriptor; false when that failed. */
  bool writeTo(int file) const;

 private:
  List<char> letters_;
};

}  // namespace octavo::memtrace
