// The shared memory of a block: a window of 288 KiB whose offsets are the 32-bit addresses of PTX. Dynamic memory lies
// from 1024 on, as on the card, whose first KiB is the system's; __shared__ variables lie above what can be dynamic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::emulator {

constexpr uint32_t kWindowBytes = 288 << 10, kDynamicOffset = 1024;
constexpr uint32_t kMostDynamicBytes = 227 << 10, kStaticOffset = kDynamicOffset + kMostDynamicBytes;
constexpr uint8_t kPoison = 0xff;  // NaN in every float format, -1 as an integer

/** The window of a block and the pages around it that cannot be touched. */
class SharedWindow {
 public:
  SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;
  ~SharedWindow();

  uint8_t* base() const { return base_; }
  /** Only the pages of this much dynamic memory can be touched, and all is poison. */
  void prepare(uint32_t dynamicBytes);
  /** Whether what lies behind the dynamic memory up to the end of its page is still as prepared. */
  bool isIntact() const;

 private:
  uint8_t* base_;
  uint32_t dynamicBytes_ = kMostDynamicBytes;
};

/** Where one __shared__ variable lies: one of these stands beside each, a static of its function. */
struct SharedPlace {
  uint64_t launch = 0;
  uint32_t offset = 0;
};

/** The variable of the thread that runs, of `bytes` bytes. */
void* sharedVariable(SharedPlace& place, uint32_t bytes, uint32_t alignment);
/** extern __shared__. */
void* dynamicShared();

template <class T, uint32_t kAlignment = alignof(T)>
T& shared(SharedPlace& place) {
  return *static_cast<T*>(sharedVariable(place, sizeof(T), kAlignment));
}

}  // namespace octavo::emulator
