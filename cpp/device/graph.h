// Device work that is recorded once and done again with one call.
#pragma once

#include <cstddef>

namespace octavo {

class Stream;

/** Holds addresses and arguments as they were when it was recorded: what they point to must outlive it. */
class Graph {
 public:
  virtual ~Graph() = default;
  /** Enqueues all of it. Its launches must not overlap: one stream, or ordered ones. Throws kDeviceFailed. */
  virtual void launch(Stream& stream) = 0;
  /** Operations recorded. */
  virtual size_t nodes() const = 0;
};

}  // namespace octavo
