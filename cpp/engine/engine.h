// The engine: one model on one device, a step loop on its own thread, many sessions.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/batch_sizer.h"
#include "engine/graph_report.h"
#include "engine/events.h"
#include "engine/session_options.h"
#include "engine/step_times.h"
#include "engine/tuning.h"
#include "kv/block_pool.h"
#include "kv/prefix_cache.h"
#include "memory/allocator.h"
#include "memory/trace/leak_finder.h"
#include "model/model_spec.h"
#include "model/weights.h"
#include "ops/sampling.h"

namespace octavo {

/** Faults and slowness on purpose; 0 = none. */
struct EngineTesting {
  uint64_t failAllocation = 0;    // this one, counted from the load on, fails as if the device were full
  uint64_t failChunk = 0;         // reading this chunk of the weights fails
  uint64_t failStep = 0;          // this step fails as if the device reported an error
  int32_t stepMicroseconds = 0;   // every step takes this long at least
  int32_t failGraph = 0;          // the graph of so many sequences cannot be captured
  bool warmUp = false;            // the CPU too runs its kernels before the load ends
  std::string hostRoot;           // where /proc and control groups are read, by pollHost alone; empty: "/", by a thread
  size_t contextGrowth = 0;       // with warmUp: bytes that the CPU then claims for a context
  size_t leakBytes = 0;           // every session takes as many and never gives them back
  uint64_t kvPages = 0;           // up to and without step kvPagesUntil there is memory for so many KV pages alone
  uint64_t kvPagesUntil = 0;
  bool inelasticKv = false;       // as on a device that cannot map pages
  size_t pinnedSpare = 0;         // region pinned may hold as much beyond its plan, in buffers that are kept
  uint64_t checkSteps = 0;        // every so many steps all invariants are checked
  bool neverPlan = false;         // no step is ever planned
  bool mayPlant = false;          // plantViolation
  bool fakeClock = false;         // time stands still until advanceClock
  int32_t fakeStepMicroseconds = 0, fakeTokenMicroseconds = 0;  // with it: that a step, and a token of it, take
  int32_t idleMilliseconds = 1000;  // without a request, until KV pages without a block and kept buffers go back
};

/** kGuaranteed: whoever is admitted ends without losing its KV. kOptimistic: more run, and some are recomputed. */
enum class Admission : uint8_t { kGuaranteed, kOptimistic };

struct EngineOptions {
  int32_t maxSequences = 256;     // running at once; never more than maxBatchTokens
  std::optional<int32_t> maxBatchTokens;  // token budget a step; absent: 256 on the CPU, 8192 on CUDA
  int32_t blockSize = 32;         // 16, 32 or 64
  std::optional<DType> dtype;     // activations and weights; absent: fp32 activations over the file's dtypes
                                  // on the CPU, the checkpoint's dtype on CUDA
  EvictionPolicy eviction = EvictionPolicy::kPageAware;  // of KV that idle sessions hold
  Admission admission = Admission::kGuaranteed;
  int64_t targetInterToken = 0;   // nanoseconds of a step in which somebody decodes; 0: as long as it takes
  PrefixOptions prefix;           // what is found of other sessions' KV, and kept of those that ended
  std::optional<bool> overlap;    // a step is planned and launched while the one before it runs; absent: plan_shape.cc
  std::optional<bool> graphs;     // steps of decodes alone are recorded before serving, and replayed; absent: there too
  TuningOptions tuning;           // of dense products, measured before serving
  std::optional<DType> kvDType;   // absent: the activations'; fp8_e4m3 and int8 too
  size_t memoryLimit = 0;         // bytes the device may hold for us, everything included
  size_t kvBytes = 0;             // 0: what the limit leaves, at most maxSequences · context; on the CPU also at
                                  // most 1 GiB and a quarter of the limit
  size_t pinnedLimit = std::numeric_limits<size_t>::max();  // bytes of page-locked host memory
  TraceOptions trace;
  EngineTesting testing;
};

struct HostReport;
struct MemoryAudit;
struct MemoryPlan;

/** What the caller asks of one generation. */
struct RequestSpec {
  std::vector<int32_t> prompt;        // whole context; what the session's KV already holds of it is reused
  int32_t maxNewTokens = 0;
  SamplingParams sampling;            // position, history*, bias* are filled by the engine
  std::vector<LogitBias> biases;
  std::vector<int32_t> stopTokens;    // EOS set; the stop token itself is emitted
  int32_t topLogprobs = 0;            // 0 … 20
  bool score = false;                 // no generation: logits of every prompt position
  int32_t priority = 0;               // the higher goes first
  std::optional<StageLimits> stages;  // absent: the session's
  int32_t credits = 0;                // tokens that may be produced before `grant`
  int32_t samples = 1;                // of this prompt; see submit
};

struct SessionReport {
  SessionId id = 0;
  int64_t blocks = 0;         // in its table
  int64_t blocksOfOthers = 0; // of these, on the ledger lines of sessions that have held them longer
  size_t bytes = 0;           // of its own
  int64_t tokens = 0;         // whose KV is held
  std::string state;          // "idle" "waiting" "running"
  SessionId parent = 0;       // of a sample's: whose prompt it shares; 0: none
  int64_t place = 0;          // of a waiting request, in the order of service; 1 is next
};

/** A session and its lease on life; times in nanoseconds. */
struct SessionInfo : SessionReport {
  std::string tenant;
  int64_t age = 0;
  SessionQuota quota;
  LeaseTerms lease;
  int64_t leaseLeft = 0;      // where it has a lease
  RequestId request = 0;      // 0: none
  int64_t requestAge = 0;
  std::string stage = "idle"; // else "queue" "inference" "post"
};

/** What the scheduler has done since the load beyond planning steps. */
struct SchedulerReport {
  uint64_t preemptions = 0;  // times that a running request had to make room; optimistic admission alone
  uint64_t stalls = 0;       // times that one waited a step so that another can end; guaranteed admission alone
  BatchReport batch;
  uint64_t overlapped = 0;   // steps that were launched while the one before was in flight; EngineOptions::overlap
};

/** Blocks that tables and lists did not agree about, which would be a bug of ours. */
struct QuarantineReport {
  int64_t blocks = 0;                   // out of circulation
  uint64_t sessions = 0;                // that ended for it
  std::vector<std::string> violations;  // the last 16, in words
};

/** What moving KV blocks together has done since the load. */
struct CompactionReport {
  uint64_t slices = 0;             // pauses of the engine
  int64_t moves = 0;               // blocks
  size_t bytes = 0;
  int64_t pagesFreed = 0;
  int64_t longestNanoseconds = 0;  // pause of a slice
  int64_t nanoseconds = 0;         // all of them together
};

struct EngineReport {
  std::vector<LedgerLine> lines;
  RegionStatistics regions[kRegionCount];
  MemoryStatistics statistics[kRegionCount];
  DeviceMemoryUse driver;
  size_t limit = 0;
  size_t contextBytes = 0;    // the driver's figure less ours, measured when the load had run its kernels
  int64_t blocksTotal = 0, blocksFree = 0, blocksOwned = 0, blocksInFlight = 0;  // owned: by sessions
  int64_t blocksCapacity = 0;  // below the total after the device refused a page
  PoolPages pages;
  QuarantineReport quarantine;
  CompactionReport compaction;
  EvictionReport eviction;
  PrefixReport prefix;
  size_t blockBytes = 0;
  size_t mappedBytes = 0;     // of weights, that stay in their files
  std::vector<SessionReport> sessions;
  int64_t running = 0, waiting = 0;
  SchedulerReport scheduler;
  uint64_t steps = 0;
  StepTimes times;              // of the engine thread over all steps
};

/** Everything that is known of the memory at one moment. */
struct EngineSnapshot {
  EngineReport report;
  TraceSnapshot trace;
  uint64_t kvAddress = 0;  // of block 0
  std::vector<PageRuns::Run> kvPages;  // that have memory
  std::vector<BlockPool::Run> blocks;
};

struct LeakReport {
  std::vector<Leak> leaks;
  std::vector<StackFrames> stacks;  // of each leak; empty where it is not known
  int64_t nowNanoseconds = 0;       // of the leaks' clock
  int64_t streams = 0, events = 0, graphs = 0, pinned = 0;  // alive on the device
  int64_t pinnedKept = 0;  // of these, buffers that nobody holds: kept for the next request
};

/**
 * Thread-safe. The event callback is called from the engine thread only to say that `drain` has
 * something; it is not called again before `drain`.
 */
class Engine {
 public:
  /**
   * Validates, plans, then takes memory, in that order. Blocking (run it off the JS thread). Throws any
   * ErrorCode; on a throw everything is given back.
   */
  static std::unique_ptr<Engine> load(std::shared_ptr<Device> device, ModelSpec spec, WeightManifest manifest,
                                      EngineOptions options, std::function<void(LoadProgress)> progress,
                                      const std::atomic<bool>& cancelled, std::function<void()> onEvents,
                                      std::shared_ptr<Clock> clock = nullptr);
  ~Engine();  // dispose()

  SessionId createSession(const SessionOptions& options = {});
  /** Renews the lease of a session. Throws kLeaseExpired when it came too late, kDisposed, kInvalidArgument. */
  void heartbeat(SessionId session);
  std::vector<SessionInfo> sessions() const;
  /**
   * A session of the same tenant that holds what an idle one does, in the same blocks; whoever writes into one first
   * takes a copy of it. Throws kSessionBusy, kInvalidArgument, kDisposed.
   */
  SessionId forkSession(SessionId session);
  /**
   * Cancels what runs and takes every block off the session before it returns. `whenReusable`, if given,
   * is called once (from the engine thread, or at once) when the fence has passed. Unknown ids are fine.
   */
  void disposeSession(SessionId session, std::function<void()> whenReusable = nullptr);

  /**
   * A broken invariant on purpose, of an engine loaded with `mayPlant`: the last block of `session` stands in the table
   * of `other` too, in place of its own ("double"), or the first one is free ("freed") or listed as in flight
   * ("listed") while the session holds it.
   */
  void plantViolation(const std::string& kind, SessionId session, SessionId other);
  /** Of an engine that was loaded with a fake clock. */
  void advanceClock(int64_t nanoseconds);

  /**
   * Throws kInvalidArgument, kContextExceeded, kRequestTooLarge, kQuotaExceeded, kLeaseExpired, kSessionBusy,
   * kDisposed, kOutOfMemory (no host memory for the logits of a score request, or the host is short of memory), and
   * kDeviceFailed once the device has failed.
   *
   * Of several samples the first is the request whose id this returns; the others have the ids that follow, the seed
   * plus their number, and credits, tokens and a terminal event of their own. They begin when its prompt is computed,
   * each in a session of its own that shares the blocks of the prompt and ends with it; if it ends before, all do. The
   * session is busy until all have ended, and its end is theirs; it keeps the KV of the first.
   */
  RequestId submit(SessionId session, RequestSpec request);
  /** The terminal event follows within one step. Unknown or finished ids are fine. */
  void cancel(RequestId request);
  /** Allows `tokens` more tokens to be produced for the request. */
  void grant(RequestId request, int32_t tokens);

  /**
   * Moves KV blocks together between steps until no page can be emptied any more, and gives every page without a
   * block back. `whenDone` is called once: from the engine thread, or at once when the engine has ended.
   */
  void compact(std::function<void()> whenDone);

  /** Gives back every KV block that no session holds; what sessions hold can still be found. Throws kDisposed. */
  void clearPrefixCache();

  /** Moves out everything produced since the last call. */
  EngineEvents drain();
  EngineReport report() const;
  /** What was recorded of decode steps, and what it is used for. Throws kDisposed. */
  GraphReport graphs() const;
  /** What was measured of dense products when it was loaded; fixed since. Throws kDisposed. */
  TuningReport tuning() const;
  EngineSnapshot snapshot();
  /** Throws kInvalidArgument, kOutOfMemory, and kIoFailed when the spill file cannot be made. */
  void setTraceLevel(int level);
  /** The spill file so far, everything in it handed to the system. */
  SpillReport traceSpill();
  /** What sessions and requests that are over still hold. */
  LeakReport leaks();
  /**
   * Waits for the device, then takes ledger and driver in one critical section: blocks for at most one step (two with
   * overlap), and none starts meanwhile. Throws kDisposed, kDeviceFailed.
   */
  MemoryAudit audit() const;
  /** The host's memory as last read, and what was done about it. Throws kDisposed. */
  HostReport host() const;
  /** Reads the host's memory now; not while another thread disposes. Throws kDisposed. */
  void pollHost();
  /** What the load was planned to take, and took; fixed since. Valid as long as the engine. Throws kDisposed. */
  const MemoryPlan& plan() const;
  /**
   * Throws kInternal when an invariant (pool, sessions, promises, ledger, allocator) is broken, or was when the
   * engine last went idle and no quarantine of blocks could mend it, when nothing ran that could, or when `dispose` left
   * memory behind; else kDisposed once disposed.
   */
  void check() const;

  /** Cancels everything, joins the thread, frees all memory. Idempotent; blocks for at most a step, two with overlap. */
  void dispose();

 private:
  Engine();
  EngineReport lockedReport() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
