// What an engine will hold, decided before any of it is taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan_shape.h"

namespace octavo {

/** One allocation to come, named as the ledger will name it. */
struct PlanItem {
  Region region;
  std::string tag;
  size_t bytes = 0;  // as the allocator rounds them
};

/** The memory a plan is made for: a device's that is open, or one that is only described. */
struct PlanTarget {
  std::string device;                  // "cpu", "cuda:0"
  bool onHost = false;                 // the CPU: memory that everything else shares
  size_t totalBytes = 0, freeBytes = 0;
  std::optional<size_t> contextBytes;  // the driver's, before anything of ours; absent: nobody measured it

  /** As the driver reports it now. On the CPU what the process holds otherwise is not the engine's: context 0. */
  static PlanTarget of(Device& device);
};

/** What shall fit at once, beyond loading. */
struct PlanDemand {
  int32_t contextTokens = 0;  // of each session; 0: nothing is demanded
  int64_t sessions = 1;
};

/** The first item for which not enough is left. */
struct Misfit {
  PlanItem item;
  size_t leftBytes = 0;
};

struct MemoryPlan : PlanShape {
  PlanTarget target;
  int32_t contextLength = 0;       // of the model, in tokens
  size_t mappedBytes = 0;          // of files, read through mappings: page cache, which is nobody's
  int64_t historyEntries = 0;      // of the sampler
  int64_t kvBlocks = 0;
  size_t limitBytes = 0;           // the ceiling on everything, the driver's context included
  size_t pinnedLimitBytes = 0;     // the ceiling on page-locked host memory
  size_t contextBytes = 0;         // counted against the limit; 0 where nobody measured it
  size_t roomBytes = 0;            // within which the device items must be
  std::string roomOrigin;          // how that came about, for messages
  std::vector<PlanItem> items;     // in the order they are taken
  std::vector<PlanItem> loading;   // held only until the weights are in place

  /** What is planned in a region, loading left out. */
  size_t regionBytes(Region region) const;
  /** Items on the device; pinned ones are the host's. */
  size_t deviceBytes() const;
  /** The most that is held on the device at any time, loading included. */
  size_t devicePeakBytes() const;
  /** Bytes of region pinned at the worst moment of the load or after it. */
  size_t pinnedPeakBytes() const;

  /** Blocks that `tokens` tokens of one session take. */
  int64_t blocksOf(int32_t tokens) const;
  /** Sessions of so many tokens that fit the KV cache at once. */
  int64_t sessionsOf(int32_t tokens) const;
  /** Tokens of the longest session that fits alone. */
  int32_t longestContext() const;
  /** Absent when everything fits. */
  std::optional<Misfit> misfit(const PlanDemand& demand = {}) const;
};

/**
 * Weights, activations, sampling buffers and KV within `memoryLimit` less the context's bytes, and within
 * what the target has free. On the CPU, weights that do not fit beside the rest stay in their files, those that lie
 * there as they are needed. A plan that does not fit is a plan too: ask `misfit`, or `requireFit`.
 * Throws kInvalidArgument for options out of range, and kUnsupportedModel.
 */
MemoryPlan planMemory(const PlanTarget& target, const ModelSpec& spec, const WeightManifest& manifest,
                      const EngineOptions& options);

/** The same for another target once the weights of `plan` are in place: where they lie does not change any more. */
MemoryPlan planAgain(const MemoryPlan& plan, const PlanTarget& target, const ModelSpec& spec,
                     const WeightManifest& manifest, const EngineOptions& options);

/** Throws kOutOfMemory listing every item in bytes, the first that does not fit and by how much. */
void requireFit(const MemoryPlan& plan);

}  // namespace octavo
