// The unwind table's entry for an address: .eh_frame_hdr and .eh_frame as the Linux Standard Base Core, 10.6, has them.
#pragma once

#include <cstdint>

namespace octavo::memtrace {

/** What a function's entry (FDE) and its common part (CIE) say. */
struct FrameDescription {
  uint64_t begin;
  uint64_t codeAlignment;
  int64_t dataAlignment;
  uint64_t returnRegister;
  /** The kernel called here: its frame is not left by offsets alone. */
  bool isSignalFrame;
  uint8_t pointerEncoding;
  const uint8_t* commonProgram;
  const uint8_t* commonEnd;
  const uint8_t* program;
  const uint8_t* programEnd;
};

/** False where no loaded object describes the address. Takes the loader's lock. O(objects + log functions). */
bool describeFrame(uint64_t address, FrameDescription* description);

}  // namespace octavo::memtrace
