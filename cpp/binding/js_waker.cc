#include "binding/js_waker.h"

#include <utility>

namespace octavo {

bool JsWaker::open(napi_env env, std::shared_ptr<JsWakerOwner> owner) {
  env_ = env;
  owner_ = owner.get();
  auto* const kept = new std::shared_ptr<JsWakerOwner>(std::move(owner));
  napi_value name = nullptr;
  napi_threadsafe_function function = nullptr;
  const bool created =
      napi_create_string_utf8(env, "octavo engine", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, kept, finalized, this, called,
                                      &function) == napi_ok;
  if (!created) {
    delete kept;
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    function_ = function;
  }
  napi_add_env_cleanup_hook(env, environmentEnds, this);
  return true;
}

void JsWaker::wake() {
  const std::lock_guard lock(mutex_);
  if (!function_ || pending_) return;
  pending_ = true;
  const napi_status status = napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
  if (status == napi_closing) function_ = nullptr;  // it lets go of us by itself and must not be touched again
}

void JsWaker::ref() {
  const std::lock_guard lock(mutex_);
  if (function_) napi_ref_threadsafe_function(env_, function_);
}

void JsWaker::unref() {
  const std::lock_guard lock(mutex_);
  if (function_) napi_unref_threadsafe_function(env_, function_);
}

bool JsWaker::isOpen() {
  const std::lock_guard lock(mutex_);
  return function_ != nullptr;
}

void JsWaker::close() {
  if (!isOpen()) return;
  napi_remove_env_cleanup_hook(env_, environmentEnds, this);
  release(napi_tsfn_release);
}

void JsWaker::release(napi_threadsafe_function_release_mode mode) {
  napi_threadsafe_function function = nullptr;
  {
    const std::lock_guard lock(mutex_);
    function = std::exchange(function_, nullptr);
  }
  if (function) napi_release_threadsafe_function(function, mode);
}

void JsWaker::called(napi_env env, napi_value, void* context, void*) {
  if (!env) return;  // the environment is gone
  auto* const waker = static_cast<JsWaker*>(context);
  {
    const std::lock_guard lock(waker->mutex_);
    waker->pending_ = false;
  }
  waker->owner_->woken(env);
}

void JsWaker::finalized(napi_env, void* owner, void*) { delete static_cast<std::shared_ptr<JsWakerOwner>*>(owner); }

void JsWaker::environmentEnds(void* context) {
  auto* const waker = static_cast<JsWaker*>(context);
  waker->owner_->tornDown(waker->env_);
  waker->release(napi_tsfn_abort);
}

}  // namespace octavo
