// What a caller may ask of a session beyond its KV.
#pragma once

#include <cstddef>
#include <string>

#include "engine/lease.h"
#include "engine/stage_timer.h"

namespace octavo {

/** Bytes of KV; all 0: none. */
struct SessionQuota {
  size_t base = 0;  // of an idle session, that go after all idle KV beyond others' bases
  size_t max = 0;   // that its requests may come to need; 0: no limit
};

struct SessionOptions {
  std::string tenant;   // its KV is shared with sessions of the same tenant alone
  SessionQuota quota;
  StageLimits stages;   // of its requests
  LeaseTerms lease;
};

}  // namespace octavo
