// The public functions of a Python interpreter in this process that frames are read by: "Python/C API Reference
// Manual", frame objects, thread state, garbage collection. 3.10 is the first version that has all of them.
#pragma once

#include <cstddef>

namespace octavo::memtrace {

struct PythonApi {
  using Object = void*;

  void* (*thisThread)();     // PyGILState_GetThisThreadState
  void* (*currentThread)();  // PyThreadState_GetUnchecked, before 3.13 _PyThreadState_UncheckedGet
  int (*takeLock)();         // PyGILState_Ensure
  void (*giveLock)(int);     // PyGILState_Release
  Object (*threadFrame)(void*);  // PyThreadState_GetFrame: a new reference, as from frameCode and frameBack
  Object (*frameCode)(Object);
  Object (*frameBack)(Object);
  int (*frameLine)(Object);
  Object (*attribute)(Object, const char*);
  const char* (*utf8)(Object, ptrdiff_t*);
  void (*increment)(Object);
  void (*decrement)(Object);
  void (*takeError)(Object*, Object*, Object*);
  void (*giveError)(Object, Object, Object);
  int (*disableCollection)();
  int (*enableCollection)();
};

/** The interpreter of this process, looked for once; nullptr when there is none that has what is needed. */
const PythonApi* pythonApi();

}  // namespace octavo::memtrace
