// The way out of a raw Node-API callback: whatever C++ throws arrives in JavaScript as an Error with `code`.
#pragma once

#include <napi.h>

#include <new>

#include "base/error.h"
#include "binding/engine_results.h"

namespace octavo {

inline napi_value throwToJs(napi_env env, ErrorCode code, const std::string& message) {
  if (const napi_value error = makeError(env, code, message)) napi_throw(env, error);
  return nullptr;
}

/**
 * Runs the body of a raw callback. No C++ exception leaves it, not even while the environment is being
 * terminated, when every call into JavaScript fails, the making of an error included.
 */
template <typename Body>
napi_value guardedCall(napi_env env, Body&& body) {
  try {
    return body();
  } catch (const Napi::Error& error) {
    try {
      error.ThrowAsJavaScriptException();
    } catch (const Napi::Error&) {  // terminating: nobody is left to be told
    }
    return nullptr;
  } catch (const Error& error) {
    return throwToJs(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return throwToJs(env, ErrorCode::kOutOfMemory, "the host is out of memory");
  } catch (const std::exception& error) {
    return throwToJs(env, ErrorCode::kInternal, error.what());
  }
}

}  // namespace octavo
