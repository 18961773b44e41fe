#include "interpose/libc.h"

#include "elf/loaded_object.h"

namespace octavo::memtrace {

void* libcFunction(const char* name) {
  const LoadedObject libc = LoadedObject::find("libc.so.6");
  return libc.found() ? libc.symbol(name) : nullptr;
}

}  // namespace octavo::memtrace
