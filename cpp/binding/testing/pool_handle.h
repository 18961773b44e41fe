// A BlockPool over addresses that are only counted: any size on any machine.
#pragma once

#include <memory>

#include "binding/testing/accounted_range.h"
#include "binding/testing/handle.h"
#include "kv/block_pool.h"
#include "memory/page_range.h"

namespace octavo::testing {

/** `new Pool(memory, { blocks, blockBytes, room })`; see test/helpers/native-testing.ts for the methods. */
class PoolHandle final : public Handle<PoolHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit PoolHandle(const Napi::CallbackInfo& info);

  /** Throws kDisposed. */
  BlockPool& pool();

  Napi::Value take(const Napi::CallbackInfo& info);
  Napi::Value release(const Napi::CallbackInfo& info);
  Napi::Value passFence(const Napi::CallbackInfo& info);
  Napi::Value trim(const Napi::CallbackInfo& info);
  Napi::Value compact(const Napi::CallbackInfo& info);
  Napi::Value planEviction(const Napi::CallbackInfo& info);
  Napi::Value setRoom(const Napi::CallbackInfo& info);
  Napi::Value raiseCapacity(const Napi::CallbackInfo& info);
  Napi::Value pages(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

 private:
  std::shared_ptr<DeviceAllocator> allocator_;
  AccountedRange* addresses_ = nullptr;  // owned by range_
  std::unique_ptr<PageRange> range_;
  std::unique_ptr<BlockPool> pool_;
};

}  // namespace octavo::testing
