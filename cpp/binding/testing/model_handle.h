// Loaded weights and, when asked for, a decoder over them with a cache.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "model/decoder.h"

namespace octavo::testing {

/** `new Model(memory, load, hooks)`; see test/helpers/testing.ts for the arguments. */
class ModelHandle final : public Handle<ModelHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit ModelHandle(const Napi::CallbackInfo& info);

  Napi::Value read(const Napi::CallbackInfo& info);
  Napi::Value openDecoder(const Napi::CallbackInfo& info);
  Napi::Value forward(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  /** In order of construction; destroyed in reverse. */
  struct Loaded {
    std::shared_ptr<DeviceAllocator> allocator;
    ModelSpec spec;
    Weights weights;
    BatchLimits limits;
    std::unique_ptr<KvCache> cache;
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<Stream> stream;
  };
  Loaded& loaded();
  Napi::Value readCodes(Napi::Env env, const std::string& name, const ParameterSpec& parameter);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace octavo::testing
