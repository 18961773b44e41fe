// Requests that wait, and which of them is next: by priority, then fairly between tenants, then by arrival.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/request.h"

namespace octavo {

/** What a tenant has been given: the virtual token counter of Sheng et al., OSDI 2024. */
struct Tenant {
  int64_t served = 0;    // tokens: prompt tokens computed, and twice the output tokens
  int64_t waiting = 0;   // requests in the queue
  int64_t requests = 0;  // and all of them: running ones too
};

/**
 * Within a priority the tenant who was given the least is next; of its requests, the one that arrived first. A tenant
 * who comes back to the queue starts no lower than those who wait there: who was idle has saved nothing up.
 * Pure bookkeeping.
 */
class FairQueue {
 public:
  static constexpr int64_t kOutputPrice = 2;  // of a token, in prompt tokens

  /** The request must stay valid until it is removed; it keeps its tenant after that. */
  void enqueue(Request& request, const std::string& tenant);
  /** A request that ran waits again, at its place by arrival. */
  void putBack(Request& request);
  void remove(Request& request);
  /** The request is over: its tenant has one less. */
  void end(Request& request) { --request.tenant->requests; }

  /** The next one; a paused request holds up nobody. nullptr: there is none. O(requests). */
  Request* next() const;
  /** All of them as they would be served if nobody came, each paying for its prompt alone. O(requests · tenants). */
  std::vector<const Request*> order() const;
  const std::vector<Request*>& all() const { return requests_; }
  /** Puts tokens on the account of the request's tenant. */
  static void charge(const Request& request, int64_t tokens) { request.tenant->served += tokens; }
  /** Throws kInternal when the tenants' counts are wrong. */
  void check() const;

 private:
  void liftBack(Tenant& tenant);
  void forgetIdle();

  std::vector<Request*> requests_;  // by arrival
  std::map<std::string, Tenant> tenants_;
  int64_t lastServed_ = 0;          // counter of the tenant who left the queue last
};

}  // namespace octavo
