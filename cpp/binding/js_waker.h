// Wakes the JS thread from any thread, over one ThreadSafeFunction with at most one call pending.
#pragma once

#include <node_api.h>

#include <memory>
#include <mutex>

namespace octavo {

/** Who is woken. Both are called on the JS thread. */
class JsWakerOwner {
 public:
  virtual ~JsWakerOwner() = default;
  virtual void woken(napi_env env) = 0;
  /** The environment ends (process exit, worker.terminate): on return no thread may use the waker or JS. */
  virtual void tornDown(napi_env env) = 0;
};

/**
 * The ThreadSafeFunction keeps the owner alive until it is gone itself. Its environment's cleanup hooks run
 * last in, first out: ours is added after the function's own, so the owner's threads are joined before the
 * function dies (calling one afterwards is a use after free on Node < 24.14).
 */
class JsWaker {
 public:
  /** Keeps the process alive until `unref`. False when the environment refuses (it is ending). */
  bool open(napi_env env, std::shared_ptr<JsWakerOwner> owner);
  /** From any thread; nothing happens before `open` and after `close`. */
  void wake();
  // JS thread only:
  void ref();
  void unref();
  /** Idempotent. A call already pending may still come. */
  void close();
  bool isOpen();

 private:
  static void called(napi_env env, napi_value, void* context, void*);
  static void finalized(napi_env env, void* owner, void*);
  static void environmentEnds(void* waker);
  void release(napi_threadsafe_function_release_mode mode);

  std::mutex mutex_;
  napi_env env_ = nullptr;
  JsWakerOwner* owner_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  bool pending_ = false;
};

}  // namespace octavo
