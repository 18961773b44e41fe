// The way out of a raw Node-API callback: whatever C++ throws arrives in JavaScript as an Error with `code`.
#pragma once

#include <napi.h>

#include "binding/errors.h"

namespace octavo {

template <typename Body>
napi_value guardedCall(napi_env env, Body&& body) {
  try {
    return body();
  } catch (const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
  } catch (...) {
    makeJsError(env, std::current_exception()).ThrowAsJavaScriptException();
  }
  return nullptr;
}

}  // namespace octavo
