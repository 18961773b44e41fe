// Tokens that only the device knows: those of the last step, where the next one was planned without them.
#include <algorithm>

#include "ops/cpu/cpu_ops.h"

namespace octavo {

void CpuOps::resolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, Stream&) {
  for (int64_t i = 0; i < count; ++i) {
    if (tokens[i] < 0) tokens[i] = sampled[sampledAt(tokens[i])];
  }
}

void CpuOps::resolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                            Stream&) {
  for (int32_t row = 0; row < rows; ++row) {
    if (params[row].historyCount == 0) continue;
    TokenCount* const first = history + params[row].historyStart;
    TokenCount* const last = first + params[row].historyCount - 1;
    if (last->token >= 0) continue;
    const int32_t token = sampled[sampledAt(last->token)];
    TokenCount* const entry =
        std::find_if(first, last, [token](const TokenCount& seen) { return seen.token == token; });
    if (entry == last) *last = {token, 0};
    ++entry->outputCount;
  }
}

}  // namespace octavo
