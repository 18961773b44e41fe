// A native engine as JavaScript holds it: loading, events, disposal, and the end of its environment.
#pragma once

#include <napi.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "binding/device_objects.h"
#include "binding/engine_arguments.h"
#include "binding/js_waker.h"
#include "engine/engine.h"

namespace octavo {

/** What all engines of one environment share. */
struct EngineModule {
  Napi::FunctionReference constructor;  // of NativeEngine
  std::atomic<int64_t> live{0};         // engines loading or loaded
  std::shared_ptr<DeviceObjects> objects;
};

/**
 * Lives from loadEngine until JavaScript, the waker and the cancel function have let go of it. Unless noted,
 * everything runs on the JS thread. Three threads of its own: the loader, the disposer, and the engine's; they
 * leave notes under `mutex_` and wake JavaScript, which picks them up in `woken`.
 *
 * While a request runs or a promise is open the handle keeps the process and the JS object alive; else neither.
 */
class EngineHandle final : public JsWakerOwner, public std::enable_shared_from_this<EngineHandle> {
 public:
  EngineHandle(napi_env env, std::shared_ptr<EngineModule> module) : env_(env), module_(std::move(module)) {}
  ~EngineHandle() override;
  EngineHandle(const EngineHandle&) = delete;
  EngineHandle& operator=(const EngineHandle&) = delete;

  /** Starts loading; the promise resolves to a NativeEngine. */
  Napi::Value load(LoadArguments arguments, Napi::Function onProgress, Napi::Function onEvents);
  void cancelLoad() { loadCancelled_ = true; }

  Engine& engine() { return *engine_; }
  const std::string& deviceId() const { return deviceId_; }
  /** A request was submitted: its end will come as an event. */
  void requestStarted() { hold(); }
  Napi::Value disposeSession(SessionId session);
  Napi::Value compact();
  void dispose();
  Napi::Value disposeAsync();
  /** The JS object was collected. */
  void abandon();

  void woken(napi_env env) override;
  void tornDown(napi_env env) override;

 private:
  /** Notes of the other threads. */
  struct Notes {
    std::optional<LoadProgress> progress;
    bool loaded = false, disposed = false;
    std::optional<Error> loadError;
    std::vector<uint64_t> reusable;  // keys of waiting_
  };

  void runLoad(LoadArguments arguments);
  Notes takeNotes();
  void settleLoad(const Notes& notes);
  bool makeObject(napi_value* made);
  void countHostBytes();
  napi_value waitFor(const std::function<void(std::function<void()>)>& start);
  void settleWaiting(const std::vector<uint64_t>& keys);
  void settleDisposals();
  void deliverEvents();
  void callProgress(const LoadProgress& progress);
  void callJs(napi_value function, size_t count, const napi_value* arguments);
  napi_value deferred(napi_deferred* deferred);
  void resolve(napi_deferred deferred);
  void markDisposed();
  void stopThreads();
  void deleteReferences();
  void closeWhenDone();
  void hold();
  void letGo();

  napi_env env_;
  std::shared_ptr<EngineModule> module_;
  JsWaker waker_;
  std::atomic<bool> loadCancelled_{false};
  std::thread loader_, disposer_;
  std::unique_ptr<Engine> engine_;   // these two are written by the loader before its note
  std::string deviceId_;
  napi_deferred loading_ = nullptr;
  napi_ref onProgress_ = nullptr, onEvents_ = nullptr;  // until loaded; then the object keeps onEvents
  napi_ref object_ = nullptr;        // weak unless held
  int64_t held_ = 0;                 // running requests and open promises
  bool counted_ = false, disposed_ = false;
  int64_t hostBytes_ = 0;            // told to V8
  uint64_t lastKey_ = 0;
  std::map<uint64_t, napi_deferred> waiting_;  // for a fence to pass, or a compaction to end
  std::vector<napi_deferred> waitingDisposals_;
  std::mutex mutex_;
  Notes notes_;
};

}  // namespace octavo
