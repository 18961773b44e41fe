// The half of EngineHandle that runs when the JS thread was woken, outside any JS frame: raw Node-API, since a
// C++ exception here would end the process, and every call can fail while the environment ends.
#include <utility>

#include "binding/engine_handle.h"
#include "binding/engine_object.h"
#include "binding/engine_results.h"

namespace octavo {

void EngineHandle::woken(napi_env) {
  const auto self = shared_from_this();
  const Notes notes = takeNotes();
  if (notes.progress && onProgress_) callProgress(*notes.progress);
  if (notes.loaded) settleLoad(notes);
  if (object_) deliverEvents();  // before promises: who awaits a disposal has been told how its requests ended
  settleWaiting(notes.reusable);
  if (notes.disposed) settleDisposals();
  closeWhenDone();
}

EngineHandle::Notes EngineHandle::takeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

void EngineHandle::settleLoad(const Notes& notes) {
  if (loader_.joinable()) loader_.join();
  std::optional<Error> error = notes.loadError;
  if (!error && loadCancelled_) {
    engine_->dispose();
    error.emplace(ErrorCode::kCancelled, "loading was cancelled");
  }
  napi_value object = nullptr;
  const bool loaded = !error && makeObject(&object);
  if (loaded) {
    napi_resolve_deferred(env_, std::exchange(loading_, nullptr), object);
  } else {
    if (!error) error.emplace(ErrorCode::kInternal, "the environment could not make the engine's object");
    if (engine_) engine_->dispose();
    markDisposed();
    const napi_value reason = makeError(env_, error->code(), error->what());
    if (reason) napi_reject_deferred(env_, std::exchange(loading_, nullptr), reason);
  }
  for (napi_ref* reference : {&onProgress_, &onEvents_}) {
    napi_delete_reference(env_, std::exchange(*reference, nullptr));
  }
  letGo();
}

/** The NativeEngine around this handle; it, not the handle, keeps `onEvents`, so that it can be collected. */
bool EngineHandle::makeObject(napi_value* made) {
  napi_value onEvents = nullptr;
  if (napi_get_reference_value(env_, onEvents_, &onEvents) != napi_ok) return false;
  if (!makeEngineObject(env_, *module_, shared_from_this(), onEvents, made)) return false;
  if (napi_create_reference(env_, *made, 0, &object_) != napi_ok) return false;
  if (held_ > 0) napi_reference_ref(env_, object_, nullptr);
  countHostBytes();
  return true;
}

/** Tells V8 what host memory the object keeps: the pinned, and all of it when the device is the CPU. */
void EngineHandle::countHostBytes() {
  for (const LedgerLine& line : engine_->report().lines) {
    if (line.region == Region::kPinned || deviceId_ == "cpu") hostBytes_ += static_cast<int64_t>(line.bytes);
  }
  int64_t total = 0;
  napi_adjust_external_memory(env_, hostBytes_, &total);
}

void EngineHandle::callProgress(const LoadProgress& progress) {
  napi_value function = nullptr;
  napi_value arguments[2] = {};
  const bool made = napi_get_reference_value(env_, onProgress_, &function) == napi_ok &&
                    napi_create_double(env_, static_cast<double>(progress.doneBytes), &arguments[0]) == napi_ok &&
                    napi_create_double(env_, static_cast<double>(progress.totalBytes), &arguments[1]) == napi_ok;
  if (made) callJs(function, 2, arguments);
}

void EngineHandle::deliverEvents() {
  EngineEvents events = engine_->drain();
  if (events.empty()) return;
  const size_t finished = events.finished.size();
  napi_value object = nullptr;
  napi_value function = nullptr;
  const napi_value made = makeEvents(env_, std::move(events));
  const bool ready = made && napi_get_reference_value(env_, object_, &object) == napi_ok && object &&
                     napi_get_named_property(env_, object, kEventsProperty, &function) == napi_ok;
  if (ready) callJs(function, 1, &made);
  for (size_t request = 0; request < finished; ++request) letGo();
}

/** What the callback throws is the process's 'uncaughtException'; any other failure: the environment is ending. */
void EngineHandle::callJs(napi_value function, size_t count, const napi_value* arguments) {
  napi_value receiver = nullptr;
  if (napi_get_undefined(env_, &receiver) != napi_ok) return;
  const napi_status status = napi_call_function(env_, receiver, function, count, arguments, nullptr);
  if (status != napi_pending_exception) return;
  napi_value exception = nullptr;
  if (napi_get_and_clear_last_exception(env_, &exception) == napi_ok) napi_fatal_exception(env_, exception);
}

void EngineHandle::settleWaiting(const std::vector<uint64_t>& keys) {
  for (const uint64_t key : keys) {
    const auto waiting = waiting_.find(key);
    if (waiting == waiting_.end()) continue;
    resolve(waiting->second);
    waiting_.erase(waiting);
  }
}

void EngineHandle::settleDisposals() {
  if (disposer_.joinable()) disposer_.join();
  markDisposed();
  for (const napi_deferred waiting : std::exchange(waitingDisposals_, {})) resolve(waiting);
}

/** A promise that holds the handle until `resolve`. */
napi_value EngineHandle::deferred(napi_deferred* deferred) {
  napi_value promise = nullptr;
  napi_create_promise(env_, deferred, &promise);
  hold();
  return promise;
}

void EngineHandle::resolve(napi_deferred deferred) {
  napi_value undefined = nullptr;
  if (napi_get_undefined(env_, &undefined) == napi_ok) napi_resolve_deferred(env_, deferred, undefined);
  letGo();
}

void EngineHandle::hold() {
  if (held_++ > 0) return;
  waker_.ref();
  if (object_) napi_reference_ref(env_, object_, nullptr);
}

void EngineHandle::letGo() {
  if (--held_ > 0) return;
  waker_.unref();
  if (object_) napi_reference_unref(env_, object_, nullptr);
}

void EngineHandle::closeWhenDone() {
  if (!disposed_ || held_ > 0) return;
  waker_.close();
  deleteReferences();
}

}  // namespace octavo
