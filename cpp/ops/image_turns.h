// Pinned images that take turns: a recorded step finds its own by a count in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

/** Image *turn mod `count` is that of the step. All addresses are the device's, on 16-byte boundaries, as stride is. */
struct ImageTurns {
  void* images = nullptr;   // pinned
  size_t stride = 0;        // bytes from one to the next
  int32_t count = 1;
  int32_t* turn = nullptr;  // in device memory
};

}  // namespace octavo
