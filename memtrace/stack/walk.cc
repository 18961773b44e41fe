#include "stack/walk.h"

#include "elf/own_code.h"
#include "stack/registers.h"
#include "stack/row_cache.h"
#include "stack/row_program.h"

namespace octavo::memtrace {

namespace {

/** More than this between two frames is no stack of this thread. */
constexpr uint64_t kLargestFrame = 64 << 20;

constinit RowCache cache;

UnwindRow rowOf(uint64_t address) {
  uint64_t packed;
  if (!cache.find(address, &packed)) {
    packed = computeRow(address).pack();
    cache.put(address, packed);
  }
  return UnwindRow::unpack(packed);
}

uint64_t read(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

/** Into the caller's frame; false when that is not above this one. */
bool step(const UnwindRow& row, Registers* registers) {
  const uint64_t base = row.fromFramePointer ? registers->framePointer : registers->stackPointer;
  const uint64_t cfa = base + static_cast<uint64_t>(row.cfaOffset);
  if (cfa <= registers->stackPointer || cfa - registers->stackPointer > kLargestFrame || cfa % 8 != 0) return false;
  const uint64_t returnAddress = read(cfa + static_cast<uint64_t>(row.returnOffset));
  if (row.framePointerOffset != UnwindRow::kUnsaved) {
    registers->framePointer = read(cfa + static_cast<uint64_t>(row.framePointerOffset));
  }
  registers->stackPointer = cfa;
  registers->programCounter = stripSignature(returnAddress);
  return registers->programCounter > 4096;
}

}  // namespace

WalkEnd walkStack(int maximum, Frames* frames) {
  // As they are in the caller at its call of this function.
  Registers registers{reinterpret_cast<uint64_t>(__builtin_return_address(0)),
                      reinterpret_cast<uint64_t>(__builtin_dwarf_cfa()),
                      read(reinterpret_cast<uint64_t>(__builtin_frame_address(0)))};
  registers.programCounter = stripSignature(registers.programCounter);
  while (frames->count < maximum) {
    const uint64_t address = registers.programCounter;
    const UnwindRow row = rowOf(address);
    if (row.kind == UnwindRow::Kind::kEnd) return {WalkEnd::kOutermost, address};
    if (row.kind == UnwindRow::Kind::kUnknown || !step(row, &registers)) return {WalkEnd::kUnknownCode, address};
    if (!isOwnCode(registers.programCounter)) frames->add(registers.programCounter);
  }
  return {WalkEnd::kFull, registers.programCounter};
}

void endWalksAt(uint64_t address) { cache.put(address, static_cast<uint64_t>(UnwindRow::Kind::kEnd)); }

void forgetCode() { cache.clear(); }

}  // namespace octavo::memtrace
