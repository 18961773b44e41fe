// A shared object in this process, read from its own dynamic section: how the real dlsym is found without
// calling dlsym, and the driver's functions without touching its handle. System V ABI, "Dynamic Section";
// GNU hash table and symbol versions as glibc's loader reads them.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace octavo::memtrace {

class LoadedObject {
 public:
  /** The first loaded object whose file name begins with `prefix`; `found()` is false when there is none. */
  static LoadedObject find(std::string_view prefix);

  bool found() const { return dynamic_ != nullptr; }
  /** A defined function by name, in its default version; nullptr when there is none. */
  void* symbol(std::string_view name) const;

 private:
  const char* name(uint32_t symbol) const;
  bool matches(uint32_t symbol, std::string_view name) const;
  uint32_t lookUpGnu(std::string_view name) const;
  uint32_t lookUpSystemV(std::string_view name) const;
  void readDynamic();

  const ElfW(Dyn)* dynamic_ = nullptr;
  ElfW(Addr) base_ = 0;
  const ElfW(Sym)* symbols_ = nullptr;
  const char* strings_ = nullptr;
  const uint32_t* gnuHash_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const uint16_t* versions_ = nullptr;
};

/** The last part of a path. */
std::string_view fileNameOf(const char* path);

/** Whether the file name is that of the CUDA driver: libcuda.so, libcuda.so.1, libcuda.so.570.86.15 … */
bool isDriverFile(const char* path);

/** The CUDA driver, wherever it was loaded from. */
LoadedObject findDriver();

}  // namespace octavo::memtrace
