// What an engine is made of, and the lock that guards it. Private to cpp/engine.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "engine/audit.h"
#include "engine/host_watch.h"
#include "engine/memory_plan.h"
#include "engine/prompt_pace.h"
#include "engine/scheduler.h"
#include "engine/step_runner.h"

namespace octavo {

/**
 * One mutex guards all that changes. The engine thread holds it to plan a step and to book its results, never
 * while the device works; every other thread holds it for one call.
 *
 * A request's life: submit → waiting → running → finish(), once, whoever ends it. A session's blocks leave it
 * with the step in flight as their fence; a step whose request or session is gone by the time it is booked is
 * simply not booked.
 *
 * With overlap two steps are in flight: the second was planned without the results of the first. The tokens that it
 * lacks it takes from the device; what the first one ends (a stop token, a cancel) the second computes for nothing.
 */
struct Engine::State {
  // Fixed once loaded.
  EngineOptions options;
  ModelSpec spec;
  std::shared_ptr<Clock> clock;
  std::function<void()> onEvents;
  std::shared_ptr<DeviceAllocator> allocator;
  MemoryPlan plan;
  TuningReport tuning;
  size_t contextBytes = 0;  // the driver's own, measured when the kernels had run
  std::unique_ptr<Weights> weights;
  std::unique_ptr<KvCache> cache;
  std::unique_ptr<StepRunner> runner;
  std::unique_ptr<HostWatch> host;    // its thread takes `mutex`: let go of it without holding that

  mutable std::mutex mutex;
  std::condition_variable wake;       // of the engine thread
  std::unique_ptr<SessionTable> sessions;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<BatchSizer> sizer;
  std::unique_ptr<PromptPace> pace;   // null where the caller states a target
  std::unordered_map<RequestId, std::unique_ptr<Request>> requests;  // waiting and running
  RequestId lastRequest = 0;
  EngineEvents events;                // produced, not drained
  bool told = false;                  // onEvents was called since the last drain
  std::multimap<uint64_t, std::function<void()>> reusable;  // by fence: whom to tell when it has passed
  uint64_t step = 0;                  // last started
  uint64_t inFlight = 0;              // the last step launched, until it is done; 0: none
  std::deque<StepPlan> flight;        // steps planned and not booked, in their order
  StepPlan booking;                   // the step whose results are being booked, or were last
  bool changed = false;               // something the engine thread sleeps through otherwise
  bool stopping = false, disposed = false;
  PressureLevel pressure = PressureLevel::kNone;  // of the host's memory
  std::string pressureReason;
  std::vector<Allocation> planted;    // EngineTesting::leakBytes
  std::optional<Error> failure;       // of the device: nothing runs any more
  std::string violation;              // first broken invariant that could not be mended
  QuarantineReport quarantine;
  bool mending = false;
  uint64_t mends = 0;                 // times that blocks were put into quarantine
  int64_t lastBooked = 0;             // when a step was
  uint64_t overlapped = 0;            // steps launched while another was in flight
  StepTimes times;                    // of the engine thread
  CompactionReport compaction;
  std::vector<Request*> timed;        // those with limits on their stages
  std::set<SessionId> leased;         // sessions with a lease
  std::deque<std::pair<SessionId, Error>> ended;  // the last that ended by themselves, and why
  int64_t nextExpiry = StageTimer::kNever;  // no deadline comes before
  std::vector<std::function<void()>> compactions;  // asked for: whom to tell when it is done
  uint64_t nextCapacityTry = 0;       // step at which a lowered capacity of the pool is tried again

  std::mutex disposing;               // one dispose at a time; taken before `mutex`
  std::thread thread;

  // load.cc
  void open(std::shared_ptr<Device> device, const WeightManifest& manifest,
            const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled);
  void setLimits(const std::vector<PlanItem>& current);

  // warm_up.cc
  void takeStepMemory();
  void measureContext(const WeightManifest& manifest, const std::atomic<bool>& cancelled);
  void warmUp();
  void warmUpStep(const Session& session, int32_t start, int32_t count, bool greedy);

  // audit.cc
  size_t deviceBytes() const;  // of the allocator, all regions but pinned

  // step_loop.cc: the engine thread
  void loop();
  bool mayStart() const;
  using Calls = std::vector<std::function<void()>>;
  /** What came of it, and when all was handed to the device, when callers were told, and when it was done. */
  struct RanSteps {
    std::optional<Error> failed;
    int64_t launched = 0, told = 0, done = 0;
  };
  RanSteps runSteps(bool launches, bool waits, const Calls& calls);
  bool startStep();
  void markInFlight(const StepPlan& started);
  void moveBlocks(const std::vector<BlockMove>& moves);
  StepPlan planStep();
  void sizeBatch();
  void timeStep();
  void failEach(const std::vector<RequestId>& requests, const Error& error);
  void settle();
  void failAll(const Error& error);
  Calls owed();
  void tell(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock);

  // step_booking.cc: the engine thread
  void bookStep();
  void bookSequence(Request& request, const PlannedSequence& planned, int32_t row);
  void bookTokens(Request& request, const PlannedSequence& planned);
  void accept(Request& request, int32_t row);
  void leaveSteps(const Request& request);

  // life_cycle.cc
  void expire();
  void reap(SessionId session);
  void rememberEnd(SessionId session, const Error& error);
  /** The one way out of any session: ends its request, takes every block off it. */
  void release(Session& session, FinishReason reason, const Error* error = nullptr);
  void expectExpiry(int64_t deadline);
  /** For as long the engine thread may sleep; a year, say, where nothing ends by itself. */
  std::chrono::nanoseconds untilExpiry() const;
  void beginLease(Session& session, const LeaseTerms& terms);
  void beginTimers(Request& request, Session& session);
  void endRequest(Session& session);

  // samples.cc
  void addSamples(Request& first);
  void beginSamples(Request& first, Session& session);
  void beginSample(Request& sample, Session& session);
  void endSamples(const std::vector<RequestId>& samples, FinishReason reason, const Error* error);
  void leaveParent(const Session& session);

  // quarantine.cc
  bool mend();
  bool quarantineBlocks();
  void guarded(const std::function<void()>& giveBack);

  // watchdog.cc
  void watchProgress();
  void lookOver();

  // host_pressure: what the ladder's rungs mean here
  void watchHost(const WeightManifest& manifest);
  void feelPressure(PressureLevel level, const std::string& reason);
  std::string hostRoot() const;

  // compaction.cc: the engine thread, under the lock, no step in flight
  bool compactOnce(bool onlyIfStuck);
  void trimPages();
  bool compactForCallers(std::unique_lock<std::mutex>& lock);
  void tidyWhenIdle(std::unique_lock<std::mutex>& lock);
  void recoverCapacity();
  void limitPages();

  // Under the lock.
  void requireOpen() const;           // throws kDisposed
  void requireHostMemory() const;     // throws kOutOfMemory at the top of the ladder
  /** Throws kOutOfMemory for logits that the host cannot hold beside what score requests were promised before. */
  void requireLogitsMemory(const RequestSpec& spec) const;
  Session& requireSession(SessionId id);
  void requireIdle(const Session& session) const;  // throws kSessionBusy
  /** The one way out of any request: ends its promise, trims its session, emits its terminal event. */
  void finish(Request& request, FinishReason reason, const Error* error = nullptr);
  void checkAll() const;
  void notify();                      // wakes the engine thread

  // trace.cc, under the lock.
  bool isLive(Owner owner);
  void plantLeak(SessionId session);

  // Frees all memory, in order; the thread has ended.
  void close();
};

/** Throws kQuotaExceeded with both numbers. */
void requireWithinQuota(const Session& session, const RequestSpec& spec, const KvCacheShape& shape);

/** What a caller is told of a session that was reclaimed. */
Error leaseExpired(SessionId session);

/** What the driver counts: for this process, else for all of the device. */
size_t countedBytes(const DeviceMemoryUse& use);

/** Throws kInternal naming what is left when an allocator without users still holds something. */
void requireEmpty(DeviceAllocator& allocator);

}  // namespace octavo
