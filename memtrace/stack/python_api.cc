#include "stack/python_api.h"

#include <dlfcn.h>

#include <atomic>

#include "interpose/libc.h"

namespace octavo::memtrace {

namespace {

enum Search { kNotSearched, kFound, kMissing };
constinit std::atomic<int> search{kNotSearched};
constinit PythonApi api{};

template <typename Function>
bool find(Function*& function, const char* name, const char* olderName = nullptr) {
  const auto next = reinterpret_cast<void* (*)(void*, const char*)>(libcFunction("dlsym"));
  void* found = next(RTLD_DEFAULT, name);
  if (found == nullptr && olderName != nullptr) found = next(RTLD_DEFAULT, olderName);
  function = reinterpret_cast<Function*>(found);
  return found != nullptr;
}

bool findAll() {
  return find(api.thisThread, "PyGILState_GetThisThreadState") &&
         find(api.currentThread, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
         find(api.takeLock, "PyGILState_Ensure") && find(api.giveLock, "PyGILState_Release") &&
         find(api.threadFrame, "PyThreadState_GetFrame") && find(api.frameCode, "PyFrame_GetCode") &&
         find(api.frameBack, "PyFrame_GetBack") && find(api.frameLine, "PyFrame_GetLineNumber") &&
         find(api.attribute, "PyObject_GetAttrString") && find(api.utf8, "PyUnicode_AsUTF8AndSize") &&
         find(api.increment, "Py_IncRef") && find(api.decrement, "Py_DecRef") &&
         find(api.takeError, "PyErr_Fetch") && find(api.giveError, "PyErr_Restore") &&
         find(api.disableCollection, "PyGC_Disable") && find(api.enableCollection, "PyGC_Enable");
}

}  // namespace

const PythonApi* pythonApi() {
  int state = search.load(std::memory_order_acquire);
  if (state == kNotSearched) {
    state = findAll() ? kFound : kMissing;
    search.store(state, std::memory_order_release);
  }
  return state == kFound ? &api : nullptr;
}

}  // namespace octavo::memtrace
