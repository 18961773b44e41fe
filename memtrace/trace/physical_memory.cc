#include "trace/physical_memory.h"

#include <new>

namespace octavo::memtrace {

bool PhysicalMemory::created(MemoryHandle handle, const Allocation& allocation) {
  return memory_.put(allocation.sequence, {allocation, handle, 1, 0}) != nullptr &&
         byHandle_.put(keyOf(handle), allocation.sequence) != nullptr;
}

size_t PhysicalMemory::firstFrom(DevicePointer address) const {
  size_t low = 0;
  size_t high = mappings_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (mappings_[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool PhysicalMemory::retained(MemoryHandle handle, DevicePointer address) {
  const size_t after = firstFrom(address + 1);
  if (after == 0) return false;
  const uint64_t id = mappings_[after - 1].memory;
  Memory* memory = memory_.find(id);
  if (memory == nullptr || byHandle_.put(keyOf(handle), id) == nullptr) return false;
  memory->references++;
  memory->handle = handle;
  return true;
}

bool PhysicalMemory::endIfUnused(uint64_t id, Memory* memory, Allocation* gone) {
  if (memory->references > 0 || memory->mappings > 0) return false;
  Memory taken;
  memory_.take(id, &taken);
  *gone = taken.allocation;
  return true;
}

bool PhysicalMemory::released(MemoryHandle handle, Allocation* gone, bool* known) {
  const uint64_t* id = byHandle_.find(keyOf(handle));
  Memory* memory = id == nullptr ? nullptr : memory_.find(*id);
  *known = memory != nullptr;
  if (memory == nullptr) return false;
  uint64_t number = *id;
  if (--memory->references == 0) byHandle_.take(keyOf(handle), &number);
  return endIfUnused(number, memory, gone);
}

bool PhysicalMemory::mapped(DevicePointer address, size_t, MemoryHandle handle) {
  const uint64_t* id = byHandle_.find(keyOf(handle));
  Memory* memory = id == nullptr ? nullptr : memory_.find(*id);
  if (memory == nullptr) return true;  // made before we looked, or by a way that is not traced
  if (!mappings_.insert(firstFrom(address), {address, *id})) return false;
  memory->mappings++;
  return true;
}

PhysicalMemory::Unmapped PhysicalMemory::unmappedNext(DevicePointer address, size_t bytes, Allocation* gone) {
  const size_t at = firstFrom(address);
  if (at == mappings_.size() || mappings_[at].address - address >= bytes) return Unmapped::kNone;
  const uint64_t id = mappings_[at].memory;
  mappings_.remove(at);
  Memory* memory = memory_.find(id);
  if (memory == nullptr) return Unmapped::kOne;
  memory->mappings--;
  return endIfUnused(id, memory, gone) ? Unmapped::kGone : Unmapped::kOne;
}

void PhysicalMemory::abandon() { new (this) PhysicalMemory(); }

}  // namespace octavo::memtrace
