// cuGetProcAddress, which every CUDA runtime since 11.3 gets its functions from.
#include "driver/call.h"
#include "driver/wrappers.h"

namespace octavo::memtrace {

namespace {

/** CUDA 13.0: the newest version whose forms of the traced functions are in our table. */
constexpr int kNewestKnown = 13000;

/**
 * Puts our wrapper in place of the function that the driver found. A caller of a newer CUDA may have been given a form
 * that we do not know: `ask(version, function)` asks the driver again, for the newest that we know.
 */
template <typename Ask>
void substitute(const char* symbol, void** function, int version, uint64_t flags, Ask ask) {
  if (symbol == nullptr || function == nullptr || *function == nullptr || isWrapper(*function)) return;
  const EntryRow* row = rowOfBase(symbol, version, flags);
  if (row == nullptr) return;
  void* known = *function;
  if (version > kNewestKnown && (ask(kNewestKnown, &known) != kSuccess || known != *function)) return;
  *function = handOut(*row, *function);
}

}  // namespace

extern "C" {

Result cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  const Call call;
  const auto ask = [&](int askedVersion, void** found) {
    return call.driver<Entry::cuGetProcAddress>(symbol, found, askedVersion, flags);
  };
  const Result result = ask(version, function);
  if (result == kSuccess) substitute(symbol, function, version, flags, ask);
  return result;
}

Result cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  const Call call;
  int ignored = 0;
  const auto ask = [&](int askedVersion, void** found) {
    int* answer = found == function ? status : &ignored;
    return call.driver<Entry::cuGetProcAddress_v2>(symbol, found, askedVersion, flags, answer);
  };
  const Result result = ask(version, function);
  if (result == kSuccess) substitute(symbol, function, version, flags, ask);
  return result;
}

}  // extern "C"

}  // namespace octavo::memtrace
