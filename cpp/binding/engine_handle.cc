#include "binding/engine_handle.h"

#include <new>
#include <utility>

#include "base/start_thread.h"
#include "binding/engine_object.h"
#include "binding/engine_results.h"

namespace octavo {

EngineHandle::~EngineHandle() {
  stopThreads();
  markDisposed();
}

Napi::Value EngineHandle::load(LoadArguments arguments, Napi::Function onProgress, Napi::Function onEvents) {
  if (!waker_.open(env_, shared_from_this())) {
    throw Error(ErrorCode::kCancelled, "the environment is ending; nothing can be loaded");
  }
  napi_create_reference(env_, onProgress, 1, &onProgress_);
  napi_create_reference(env_, onEvents, 1, &onEvents_);
  const napi_value promise = deferred(&loading_);
  ++module_->live;
  counted_ = true;
  try {
    loader_ = startThread("load with", [this, arguments = std::move(arguments)]() mutable {
      runLoad(std::move(arguments));
    });
  } catch (const Error& error) {
    notes_.loaded = true;
    notes_.loadError = error;
    waker_.wake();
  }
  return {env_, promise};
}

/** The loader thread. */
void EngineHandle::runLoad(LoadArguments arguments) {
  std::optional<Error> failed;
  const auto progress = [this](LoadProgress made) {
    {
      const std::lock_guard lock(mutex_);
      notes_.progress = made;
    }
    waker_.wake();
  };
  try {
    std::shared_ptr<Device> device = openDevice(arguments.device, arguments.threads);
    deviceId_ = device->info().id;
    module_->objects->watch(*device);
    engine_ = Engine::load(std::move(device), std::move(arguments.spec), std::move(arguments.manifest),
                           arguments.options, progress, loadCancelled_, [this] { waker_.wake(); });
  } catch (const Error& error) {
    failed = error;
  } catch (const std::bad_alloc&) {
    failed.emplace(ErrorCode::kOutOfMemory, "the host has no memory left to load with");
  } catch (const std::exception& error) {
    failed.emplace(ErrorCode::kInternal, std::string("unexpected while loading: ") + error.what());
  }
  {
    const std::lock_guard lock(mutex_);
    notes_.loaded = true;
    notes_.loadError = std::move(failed);
  }
  waker_.wake();
}

Napi::Value EngineHandle::disposeSession(SessionId session) {
  return {env_, waitFor([&](std::function<void()> done) { engine_->disposeSession(session, std::move(done)); })};
}

Napi::Value EngineHandle::compact() {
  return {env_, waitFor([&](std::function<void()> done) { engine_->compact(std::move(done)); })};
}

/** A promise that resolves when the engine says that what `start` began is done. */
napi_value EngineHandle::waitFor(const std::function<void(std::function<void()>)>& start) {
  const uint64_t key = ++lastKey_;
  napi_deferred waiting = nullptr;
  const napi_value promise = deferred(&waiting);
  waiting_.emplace(key, waiting);
  start([this, key] {
    {
      const std::lock_guard lock(mutex_);
      notes_.reusable.push_back(key);
    }
    waker_.wake();
  });
  if (!waker_.isOpen()) settleWaiting(takeNotes().reusable);  // disposed: nobody will be woken any more
  return promise;
}

void EngineHandle::dispose() {
  engine_->dispose();
  markDisposed();
  waker_.wake();  // for the events of what was cancelled
  closeWhenDone();
}

Napi::Value EngineHandle::disposeAsync() {
  napi_deferred waiting = nullptr;
  const napi_value promise = deferred(&waiting);
  if (disposed_) {
    resolve(waiting);
    return {env_, promise};
  }
  waitingDisposals_.push_back(waiting);
  if (disposer_.joinable()) return {env_, promise};
  const auto disposing = [this] {
    engine_->dispose();
    {
      const std::lock_guard lock(mutex_);
      notes_.disposed = true;
    }
    waker_.wake();
  };
  try {
    disposer_ = std::thread(disposing);
  } catch (const std::exception&) {
    disposing();  // no thread to be had: then here
  }
  return {env_, promise};
}

void EngineHandle::abandon() {
  if (!waker_.isOpen()) return;  // disposed before, or the environment ends and `tornDown` was here
  stopThreads();
  markDisposed();
  deleteReferences();
  waker_.close();
}

void EngineHandle::tornDown(napi_env) {
  stopThreads();
  markDisposed();
  deleteReferences();
}

/** After this no thread of ours is left. */
void EngineHandle::stopThreads() {
  loadCancelled_ = true;
  if (loader_.joinable()) loader_.join();
  if (engine_) engine_->dispose();
  if (disposer_.joinable()) disposer_.join();
}

void EngineHandle::markDisposed() {
  disposed_ = true;
  int64_t total = 0;
  if (hostBytes_ > 0) napi_adjust_external_memory(env_, -std::exchange(hostBytes_, 0), &total);
  if (std::exchange(counted_, false)) --module_->live;
}

void EngineHandle::deleteReferences() {
  for (napi_ref* reference : {&onProgress_, &onEvents_, &object_}) {
    if (*reference) napi_delete_reference(env_, std::exchange(*reference, nullptr));
  }
}

}  // namespace octavo
