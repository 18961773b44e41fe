#include "ops/cpu/cpu_ops.h"

namespace octavo {

std::unique_ptr<Ops> createCpuOps(ThreadPool& pool) { return std::make_unique<CpuOps>(pool); }

}  // namespace octavo
