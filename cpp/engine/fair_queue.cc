#include "engine/fair_queue.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

constexpr size_t kMostTenants = 4096;  // remembered; beyond it those with nothing in the queue are forgotten

bool arrivedBefore(const Request* a, const Request* b) { return a->id < b->id; }

bool goesBefore(const Request* a, const Request* b) {
  if (a->spec.priority != b->spec.priority) return a->spec.priority > b->spec.priority;
  if (a->tenant->served != b->tenant->served) return a->tenant->served < b->tenant->served;
  return a->id < b->id;
}

}  // namespace

void FairQueue::enqueue(Request& request, const std::string& name) {
  if (tenants_.size() >= kMostTenants && !tenants_.contains(name)) forgetIdle();
  Tenant& tenant = tenants_[name];
  if (tenant.waiting == 0) liftBack(tenant);
  request.tenant = &tenant;
  ++tenant.requests;
  putBack(request);
}

void FairQueue::putBack(Request& request) {
  ++request.tenant->waiting;
  requests_.insert(std::upper_bound(requests_.begin(), requests_.end(), &request, arrivedBefore), &request);
}

/** The lift of the paper: to the least of those who wait, or to who left an empty queue. */
void FairQueue::liftBack(Tenant& tenant) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [name, other] : tenants_) {
    if (other.waiting > 0) least = std::min(least, other.served);
  }
  tenant.served = std::max(tenant.served, requests_.empty() ? lastServed_ : least);
}

/** What they were given counts for nothing in a queue where they are not. */
void FairQueue::forgetIdle() {
  std::erase_if(tenants_, [](const auto& entry) { return entry.second.requests == 0; });
}

void FairQueue::remove(Request& request) {
  requests_.erase(std::find(requests_.begin(), requests_.end(), &request));
  --request.tenant->waiting;
  if (request.tenant->waiting == 0) lastServed_ = request.tenant->served;
}

Request* FairQueue::next() const {
  Request* next = nullptr;
  for (Request* request : requests_) {
    if (request->isPaused()) continue;
    if (!next || goesBefore(request, next)) next = request;
  }
  return next;
}

std::vector<const Request*> FairQueue::order() const {
  using Turns = std::map<const Tenant*, std::vector<const Request*>>;  // the last is next
  std::map<int32_t, Turns, std::greater<>> priorities;
  std::map<const Tenant*, int64_t> served;
  for (auto request = requests_.rbegin(); request != requests_.rend(); ++request) {
    priorities[(*request)->spec.priority][(*request)->tenant].push_back(*request);
    served[(*request)->tenant] = (*request)->tenant->served;
  }
  const auto isNext = [&served](const auto& a, const auto& b) {
    if (a.second.empty() || b.second.empty()) return !a.second.empty();
    const int64_t ofA = served.at(a.first), ofB = served.at(b.first);
    return ofA != ofB ? ofA < ofB : a.second.back()->id < b.second.back()->id;
  };
  std::vector<const Request*> order;
  for (auto& [priority, turns] : priorities) {
    for (;;) {
      const auto turn = std::min_element(turns.begin(), turns.end(), isNext);
      if (turn->second.empty()) break;
      const Request* const request = turn->second.back();
      turn->second.pop_back();
      if (!request->wasAdmitted) served[turn->first] += request->promptTokens();
      order.push_back(request);
    }
  }
  return order;
}

void FairQueue::check() const {
  std::map<const Tenant*, int64_t> waiting;
  for (const Request* request : requests_) ++waiting[request->tenant];
  for (const auto& [name, tenant] : tenants_) {
    if (waiting[&tenant] == tenant.waiting && tenant.requests >= tenant.waiting) continue;
    throw Error(ErrorCode::kInternal, "tenant '" + name + "' has " + std::to_string(waiting[&tenant]) +
                                          " requests waiting; counted are " + std::to_string(tenant.waiting) +
                                          " of " + std::to_string(tenant.requests));
  }
}

}  // namespace octavo
