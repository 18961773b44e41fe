// What a thread does that it can neither wait for nor go on from: memory that is not there, and loops without end.
#pragma once

#include <csetjmp>
#include <csignal>
#include <ctime>

namespace octavo::emulator {

/** While one lives, such faults of the calling thread of the process end the launch that it runs (Linux on x86-64). */
class Traps {
 public:
  Traps();
  Traps(const Traps&) = delete;
  Traps& operator=(const Traps&) = delete;
  ~Traps();

 private:
  struct sigaction memoryBefore_, busBefore_, timeBefore_;
  stack_t stackBefore_;
  timer_t timer_;
};

/** Where work beside the threads goes on after such a fault. */
extern sigjmp_buf afterWork;

}  // namespace octavo::emulator
