// The ledger lines of a KV pool. Private to cpp/kv.
#pragma once

#include <string>

#include "memory/ledger.h"

namespace octavo {

inline constexpr Owner kEngine{OwnerKind::kEngine, 0};
inline const std::string kFreeTag = "kv.free";
inline const std::string kOwnedTag = "kv.blocks";
inline const std::string kCachedTag = "kv.cached";
inline const std::string kInFlightTag = "kv.inFlight";
inline const std::string kQuarantineTag = "kv.quarantine";

/** Of blocks that somebody owns: the engine owns those that are kept to be found again. */
inline const std::string& ownedTag(const Owner& owner) { return owner == kEngine ? kCachedTag : kOwnedTag; }

}  // namespace octavo
