// From C++ exceptions to JavaScript errors with `code`.
#pragma once

#include <napi.h>

#include <exception>
#include <new>

#include "base/error.h"

namespace octavo {

/** A JavaScript Error whose `code` is one of ours. */
Napi::Error makeJsError(Napi::Env env, ErrorCode code, const std::string& message);

/** The same for whatever was thrown: octavo::Error keeps its code, bad_alloc is kOutOfMemory, the rest kInternal. */
Napi::Error makeJsError(Napi::Env env, std::exception_ptr exception);

/** Runs the body of a native function: everything it throws becomes a JavaScript exception with `code`. */
template <typename Body>
auto guarded(Napi::Env env, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw makeJsError(env, std::current_exception());
  }
}

}  // namespace octavo
