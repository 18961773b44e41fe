// Holds our hand-written prototypes to those of a CUDA toolkit: same number of parameters, each of the same kind and
// size. Compiled only; there is nothing to run.
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>

#include <type_traits>

#include "driver/entry_points.h"

namespace octavo::memtrace {

template <typename Ours, typename Theirs>
constexpr bool isSame() {
  if (std::is_pointer_v<Ours>) return std::is_pointer_v<Theirs>;
  const bool whole = std::is_integral_v<Theirs> || std::is_enum_v<Theirs>;
  if (std::is_integral_v<Ours>) return whole && sizeof(Ours) == sizeof(Theirs);
  return std::is_class_v<Ours> && std::is_class_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
struct Agree : std::false_type {};

template <typename... Ours, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct Agree<Result(Ours...), CUresult (*)(Theirs...)> : std::bool_constant<(isSame<Ours, Theirs>() && ...)> {};

/** Registers that only ride along: three words of ours stand for whatever the toolkit's version has there. */
template <typename... Theirs>
  requires(sizeof...(Theirs) == 5)
struct Agree<Result(GraphExec*, Graph, Word, Word, Word), CUresult (*)(Theirs...)> : std::true_type {};

#define legacy(base, version) PFN_##base##_v##version
#define perThread(base, version) PFN_##base##_v##version##_ptsz
// For functions that have both forms, the toolkit's plain name is the legacy one.
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters)                                     \
  static_assert(Agree<Prototype<Entry::symbol>::type, stream(base, version)>::value, #symbol " differs");
OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)

static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle) && sizeof(IpcHandle) == sizeof(CUipcEventHandle));
static_assert(sizeof(ExternalBuffer) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
static_assert(kPerThreadDefaultStream == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
static_assert(kNotFound == CUDA_ERROR_NOT_FOUND);

}  // namespace octavo::memtrace
