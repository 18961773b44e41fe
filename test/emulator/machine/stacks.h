// The stacks on which the threads of a block run, and the change from one to another.
#pragma once

#include <cstdint>
#include <vector>

namespace octavo::emulator {

constexpr int kStackBytes = 128 << 10;

/** Leaves this stack, to be gone on with from *saved, and goes on where `next` was saved or prepared. */
extern "C" void octavoSwitchStacks(void** saved, void* next);

/** What octavoSwitchStacks takes in order to begin with `entry`, which must not return. */
void* prepareStack(uint8_t* top, void (*entry)());

/** Stacks for reuse, the last one given back first: it lies in the cache. Each ends at a page that cannot be written. */
class Stacks {
 public:
  /** The upper end of a stack. */
  uint8_t* take();
  void giveBack(uint8_t* top) { free_.push_back(top); }
  /** All of them are free again, whatever ran there. */
  void reset() { free_ = all_; }

 private:
  void grow();

  std::vector<uint8_t*> all_, free_;
};

}  // namespace octavo::emulator
