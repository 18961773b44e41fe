#include "ops/ops.h"

namespace octavo {

void Ops::ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) {
  if (step.queryNorm.data) headNorm(step.query, step.queryNorm, step.normEpsilon, stream);
  if (step.keyNorm.data) headNorm(step.key, step.keyNorm, step.normEpsilon, stream);
  rope(step.query, step.key, step.positions, step.inverseFrequencies, step.magnitude, stream);
  kvWrite(cache, layer, step.key, step.value, step.slots, step.scales, stream);
}

}  // namespace octavo
