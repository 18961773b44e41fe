// Which rows of a batch belong to which expert of a mixture.
#pragma once

#include <cstdint>

namespace octavo {

/**
 * Expert e has rows [first[e], first[e] + rows[e]) of the batch; an expert may have none, a row at most one expert.
 * Both are int32 [count] in device memory: they may change between replays of a captured graph. No expert has more
 * than mostRows.
 */
struct ExpertRows {
  int32_t count = 0;
  const int32_t* first = nullptr;
  const int32_t* rows = nullptr;
  int32_t mostRows = 0;  // known to the host, for the choice of a kernel
};

}  // namespace octavo
