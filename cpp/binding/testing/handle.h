// Wrapped objects whose methods throw the floors' errors with their code.
#pragma once

#include <napi.h>

#include "binding/errors.h"

namespace octavo::testing {

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

/** The same for a function that belongs to no object. */
template <Napi::Value (*body)(const Napi::CallbackInfo&)>
Napi::Value call(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return body(info); });
}

}  // namespace octavo::testing
