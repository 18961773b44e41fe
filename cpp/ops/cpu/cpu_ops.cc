#include "ops/cpu/queued_ops.h"

namespace octavo {

std::unique_ptr<Ops> createCpuOps(ThreadPool& pool) { return std::make_unique<QueuedOps>(pool); }

}  // namespace octavo
