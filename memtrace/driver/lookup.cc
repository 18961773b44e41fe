// cuGetProcAddress, which every CUDA runtime since 11.3 gets its functions from.
#include "driver/call.h"
#include "driver/wrappers.h"

namespace octavo::memtrace {

namespace {

/** Puts our wrapper in place of the function that the driver found. */
Result substitute(Result result, const char* symbol, void** function, int version, uint64_t flags) {
  if (result != kSuccess || symbol == nullptr || function == nullptr || *function == nullptr) return result;
  const EntryRow* row = rowOfBase(symbol, version, flags);
  if (row != nullptr && !isWrapper(*function)) *function = handOut(*row, *function);
  return result;
}

}  // namespace

extern "C" {

Result cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  const Call call;
  const Result result = call.driver<Entry::cuGetProcAddress>(symbol, function, version, flags);
  return substitute(result, symbol, function, version, flags);
}

Result cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  const Call call;
  const Result result = call.driver<Entry::cuGetProcAddress_v2>(symbol, function, version, flags, status);
  return substitute(result, symbol, function, version, flags);
}

}  // extern "C"

}  // namespace octavo::memtrace
