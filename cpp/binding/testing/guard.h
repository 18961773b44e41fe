// Errors of the floors, thrown to JavaScript with their code.
#pragma once

#include <napi.h>

#include <new>

#include "base/error.h"

namespace octavo::testing {

[[noreturn]] inline void throwCoded(Napi::Env env, ErrorCode code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, errorCodeName(code)));
  throw error;
}

/** Runs `body`; what it throws arrives in JavaScript as an Error with `code`. */
template <typename Body>
auto guarded(Napi::Env env, Body&& body) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (const Error& error) {
    throwCoded(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    throwCoded(env, ErrorCode::kOutOfMemory, "host memory is exhausted");
  } catch (const std::exception& error) {
    throwCoded(env, ErrorCode::kInternal, error.what());
  }
}

/** A wrapped object whose methods and constructor arguments are guarded. */
template <typename T>
class Handle : public Napi::ObjectWrap<T> {
 public:
  using Napi::ObjectWrap<T>::ObjectWrap;

  template <Napi::Value (T::*body)(const Napi::CallbackInfo&)>
  static Napi::ClassPropertyDescriptor<T> method(const char* name) {
    return Handle::InstanceMethod(name, static_cast<typename Handle::InstanceMethodCallback>(&Handle::call<body>));
  }

 private:
  template <Napi::Value (T::*body)(const Napi::CallbackInfo&)>
  Napi::Value call(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return (static_cast<T*>(this)->*body)(info); });
  }
};

template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value call(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return function(info); });
}

}  // namespace octavo::testing
