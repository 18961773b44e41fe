// Who runs in the next step. Pure: no device calls, no locks, no time but what it is given.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/request.h"
#include "engine/session.h"
#include "engine/step_plan.h"

namespace octavo {

struct SchedulerLimits {
  int32_t maxSequences = 0;    // running at once; at most maxBatchTokens, so that every decode fits a step
  int32_t maxBatchTokens = 0;
  int32_t maxLogitRows = 0;    // at least maxSequences
};

/**
 * One token budget a step: decodes first, in running order, then prefill chunks, then admission, first come
 * first served. Admission is guaranteed: a request starts only when the blocks of its prompt and all its new
 * tokens can be promised beyond what is promised to the running ones. Blocks are taken as tokens come; the
 * promise makes sure that they are there. KV of sessions that do not run gives way.
 *
 * A running request whose caller takes nothing is parked when another needs its place or its promise: it waits
 * again, in the order of arrival. Its session keeps its KV until that is reclaimed; what was, is recomputed.
 *
 * When the pool has shrunk below what is promised, requests are parked, the last admitted first; one that does not
 * fit even alone is refused.
 */
class Scheduler {
 public:
  Scheduler(SessionTable& sessions, SchedulerLimits limits) : sessions_(sessions), limits_(limits) {}

  /** The request must stay valid until `remove`. Its session must have no other. */
  void enqueue(Request& request);
  /** Takes a waiting or running request out and ends its promise. */
  void remove(Request& request);

  /** Admits and plans. `fence`: the step in flight, 0 when there is none. `now` stamps admissions. */
  StepPlan plan(uint64_t step, uint64_t fence, int64_t now);
  /** False: requests are admitted only into steps that would be empty, one at a time, so that the engine goes on. */
  void setAdmitting(bool admitting) { admitting_ = admitting; }
  bool isAdmitting() const { return admitting_; }

  const std::vector<Request*>& running() const { return running_; }
  /** Nothing runs, and the pool's capacity is all that keeps the next request waiting. */
  bool isShort() const;
  const std::deque<Request*>& waiting() const { return waiting_; }
  int64_t promisedBlocks() const { return promised_; }
  /** Throws kInternal when promises and what runs disagree. */
  void check() const;

 private:
  struct Budget {
    int32_t tokens, logitRows;
  };
  bool fits(const Request& request) const;
  bool makeRoom(const Request& request, uint64_t fence);
  void park(Request& request, uint64_t fence);
  void shed(StepPlan& plan, uint64_t fence);
  void admit(Request& request, uint64_t fence, int64_t now);
  void admitWaiting(StepPlan& plan, Budget& budget, uint64_t fence, int64_t now);
  void place(Request& request, StepPlan& plan, Budget& budget, uint64_t fence);

  SessionTable& sessions_;
  SchedulerLimits limits_;
  std::deque<Request*> waiting_;   // in order of arrival: by id
  std::vector<Request*> running_;  // in order of admission
  int64_t promised_ = 0;           // blocks, over running_
  bool admitting_ = true;
};

}  // namespace octavo
