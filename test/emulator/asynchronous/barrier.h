// mbarrier: what its 64 bits in shared memory say, and how phases end (PTX ISA, "mbarrier").
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** As it lies in shared memory. The hardware's bits are its own secret; the limits of the counts are the ISA's. */
struct Barrier64 {
  uint64_t expected : 20, pending : 20;  // arrivals of a phase, and those still to come of this one
  int64_t bytes : 21;                    // announced and not yet here; below 0: here and not yet announced
  uint64_t phase : 1, made : 2;

  /** Bytes of a copy have come. */
  void complete(uint32_t count);
  /** One arrival, which announces bytes. */
  void arrive(uint32_t announced = 0);
  bool hasPassed(uint32_t parity) const { return phase != (parity & 1); }

 private:
  void add(int64_t count);
  void endPhase();
};
static_assert(sizeof(Barrier64) == 8);

void initialiseBarrier(uint32_t address, uint32_t count);
/** At a shared address, of this block or another of the cluster; faults where no barrier is. */
Barrier64* barrierAt(uint32_t address);
void waitAtBarrier(uint32_t address, uint32_t parity);

}  // namespace octavo::emulator
