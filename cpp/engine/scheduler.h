// Who runs in the next step. Pure: no device calls, no locks, no time but what it is given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/batch_sizer.h"
#include "engine/demand.h"
#include "engine/fair_queue.h"
#include "engine/request.h"
#include "engine/session.h"
#include "engine/step_plan.h"

namespace octavo {

struct SchedulerLimits {
  int32_t maxSequences = 0;    // running at once; at most maxBatchTokens, so that every decode fits a step
  int32_t maxBatchTokens = 0;
  int32_t maxLogitRows = 0;    // at least maxSequences
  Admission admission = Admission::kGuaranteed;
  int64_t maxSamplingEntries = std::numeric_limits<int64_t>::max();  // of a step; any one request must have room
};

/**
 * One token budget a step: decodes first, in running order, then prefill chunks, the higher priority first, then
 * admission in the order of FairQueue, which nobody overtakes. Where the sampler has not room for what the penalties of
 * all read (those who share a prompt have all seen it), or scores take the logit rows, they take turns: who has missed the
 * most steps comes first.
 *
 * Guaranteed admission: a request starts only when the blocks that all running ones can come to hold, as far as each
 * gets a token a step, fit the pool; where some get their tokens later than that, whoever would take the last block
 * that another needs in order to end waits a step (a stall). So every running request ends without losing its KV.
 * Optimistic admission: a request starts when its prompt fits; when blocks run out, the lowest priority, of equals the
 * last to arrive, waits again (a preemption): its KV goes as others need it, and is recomputed.
 *
 * KV of sessions that do not run gives way as blocks are taken. A running request whose caller takes nothing is parked
 * when another needs its place or its blocks: it waits again, in the order of arrival. When the pool has shrunk,
 * requests are parked, the last admitted first; one that does not fit even alone is refused.
 */
class Scheduler {
 public:
  Scheduler(SessionTable& sessions, SchedulerLimits limits);

  /** The request must stay valid until `remove`. Its session must have no other. */
  void enqueue(Request& request);
  /** Takes a waiting or running request out and ends its promise. */
  void remove(Request& request);

  /** Admits and plans. `fence`: the step in flight, 0 when there is none. `now` stamps admissions. */
  StepPlan plan(uint64_t step, uint64_t fence, int64_t now);
  /** False: requests are admitted only into steps that would be empty, one at a time, so that the engine goes on. */
  void setAdmitting(bool admitting) { admitting_ = admitting; }
  bool isAdmitting() const { return admitting_; }
  /**
   * From the next step on, within the limits: no more begin while so many run, and a step with decodes has no more
   * tokens than that, and of prompts no more than those; but one that has begun gets a block of tokens a step, unless
   * there are to be none at all.
   */
  void setSize(const BatchSize& size) { size_ = size; }
  const BatchSize& size() const { return size_; }
  /** An enqueued request has a token of output more. */
  void countOutput() { ++tokens_; }
  /** Tokens of those that run and wait, prompt and output so far. */
  int64_t tokens() const { return tokens_; }
  /** Running requests that have all of their prompt. O(requests). */
  int64_t decoding() const;

  const std::vector<Request*>& running() const { return running_; }
  const FairQueue& waiting() const { return waiting_; }
  /** Nothing runs, and the pool's capacity is all that keeps the next request waiting. */
  bool isShort() const;
  const SchedulerReport& report() const { return report_; }
  /** Throws kInternal when promises and what runs disagree. */
  void check() const;

 private:
  /** A step as far as it is planned. */
  struct Draft {
    StepPlan plan;
    int32_t tokens = 0, logitRows = 0;  // left
    int64_t samplingEntries = 0;        // too
    uint64_t fence = 0;
    bool preempted = false;
  };
  void orderByPriority();
  void placeRunning(Draft& draft);
  void place(Request& request, Draft& draft);
  void unplace(const Request& request, Draft& draft);

  // scheduler_admission.cc
  void admitWaiting(Draft& draft, int64_t now);
  bool mayAdmit() const;
  int32_t mostRunning() const { return std::min(limits_.maxSequences, size_.sequences); }
  bool fits(const Request& request);
  bool makeRoom(const Request& request, uint64_t fence);
  void admit(Request& request, uint64_t fence, int64_t now);
  void shed(Draft& draft);
  void park(Request& request, uint64_t fence);

  // scheduler_blocks.cc
  BlockDemand demandOf(const Request& request) const;
  std::vector<BlockDemand> demands() const;
  size_t indexOf(const Request& request) const;
  bool isSafe(const Request& request, int64_t blocks);
  bool provide(Request& request, int64_t tokens, Draft& draft);
  bool parkPaused(const Request& except, uint64_t fence);
  bool preempt(const Request& request, Draft& draft);

  SessionTable& sessions_;
  SchedulerLimits limits_;
  FairQueue waiting_;
  std::vector<Request*> running_;  // in order of admission
  int64_t promised_ = 0;           // blocks, over running_
  int64_t tokens_ = 0;             // of all, those that wait too
  std::vector<Request*> order_, prompts_;  // of the step that is planned: all that run, and of them those that prefill
  bool admitting_ = true;
  BatchSize size_;
  DemandPlanner planner_;
  bool weighed_ = false;           // `planner_` has weighed what runs, in the order of running_
  SchedulerReport report_;
};

}  // namespace octavo
