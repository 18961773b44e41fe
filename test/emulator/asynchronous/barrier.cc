#include "asynchronous/barrier.h"

#include <map>
#include <string>

#include "machine/thread.h"

namespace octavo::emulator {

namespace {

constexpr uint64_t kMade = 2;  // neither of zeros nor of poison
constexpr int64_t kMost = (1 << 20) - 1;

std::string hex(uint32_t address) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", address);
  return text;
}

// The report of a deadlock tells threads apart by what they wait for.
const char* nameOf(uint32_t address, uint32_t parity) {
  static std::map<std::pair<uint32_t, uint32_t>, std::string> names;
  std::string& name = names[{address, parity}];
  if (name.empty()) name = "the mbarrier at " + hex(address) + " to end a phase of parity " + std::to_string(parity);
  return name.c_str();
}

}  // namespace

void Barrier64::endPhase() {
  if (pending || bytes) return;
  phase = ~phase & 1;
  pending = expected;
}

void Barrier64::add(int64_t count) {
  if (made != kMade) fault("a copy completes on an mbarrier that was overwritten");
  if (bytes + count > kMost || bytes + count < -kMost) fault("an mbarrier with more than 2^20 - 1 bytes under way");
  bytes = bytes + count;
}

void Barrier64::complete(uint32_t count) {
  add(-static_cast<int64_t>(count));
  endPhase();
}

void Barrier64::arrive(uint32_t announced) {
  if (!pending) {
    fault("an arrival at an mbarrier whose " + std::to_string(expected) + " arrivals of the phase have come; " +
          std::to_string(bytes) + " bytes are under way");
  }
  add(announced);
  pending = pending - 1;
  endPhase();
}

void initialiseBarrier(uint32_t address, uint32_t count) {
  if (address % 8) fault("an mbarrier at " + hex(address) + ", no multiple of 8");
  if (count == 0 || count > kMost) fault("an mbarrier of " + std::to_string(count) + " arrivals");
  auto* barrier = reinterpret_cast<Barrier64*>(sharedPointer(address));
  *barrier = {};
  barrier->expected = barrier->pending = count & kMost;
  barrier->made = kMade;
}

Barrier64* barrierAt(uint32_t address) {
  if (address % 8) fault("an mbarrier at " + hex(address) + ", no multiple of 8");
  auto* barrier = reinterpret_cast<Barrier64*>(sharedPointer(address));
  if (barrier->made != kMade) fault("there is no initialised mbarrier at " + hex(address));
  return barrier;
}

void waitAtBarrier(uint32_t address, uint32_t parity) {
  const Barrier64* barrier = barrierAt(address);
  if (barrier->hasPassed(parity)) return;
  waitUntil(nameOf(address, parity), [=] { return barrier->hasPassed(parity); });
}

}  // namespace octavo::emulator
