// A PageRange over real, accounting-only or inelastic addresses.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "memory/page_range.h"

namespace octavo::testing {

/** `new Pages(memory, options)`; see test/helpers/native-testing.ts for the methods. */
class PagesHandle final : public Handle<PagesHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit PagesHandle(const Napi::CallbackInfo& info);

  Napi::Value map(const Napi::CallbackInfo& info);
  Napi::Value unmap(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  Napi::Value write(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  PageRange& range();
  char* addressOf(Napi::Value offset);

  std::shared_ptr<DeviceAllocator> allocator_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<PageRange> range_;
};

}  // namespace octavo::testing
