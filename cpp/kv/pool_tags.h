// The ledger lines of a KV pool. Private to cpp/kv.
#pragma once

#include <string>

#include "memory/ledger.h"

namespace octavo {

inline constexpr Owner kEngine{OwnerKind::kEngine, 0};
inline const std::string kFreeTag = "kv.free";
inline const std::string kOwnedTag = "kv.blocks";
inline const std::string kInFlightTag = "kv.inFlight";

}  // namespace octavo
