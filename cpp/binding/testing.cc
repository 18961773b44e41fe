#include "binding/testing.h"

#include "binding/testing/allocation_bench.h"
#include "binding/testing/cache_handle.h"
#include "binding/testing/caching_handle.h"
#include "binding/testing/host_calls.h"
#include "binding/testing/ledger_handle.h"
#include "binding/testing/link_bench.h"
#include "binding/testing/memory_handle.h"
#include "binding/testing/model_calls.h"
#include "binding/testing/model_handle.h"
#include "binding/testing/pace_handle.h"
#include "binding/testing/pages_handle.h"
#include "binding/testing/prefix_calls.h"
#include "binding/testing/prefix_handle.h"
#include "binding/testing/resource_handle.h"
#include "binding/testing/pool_handle.h"
#include "binding/testing/scheduler_handle.h"
#include "binding/testing/sizer_handle.h"
#include "binding/testing/stream_calls.h"
#include "binding/testing/trace_handle.h"
#include "binding/testing/workspace_handle.h"

namespace octavo {

void initTesting(Napi::Env env, Napi::Object exports) {
  Napi::Object testing = Napi::Object::New(env);
  testing.Set("Caching", testing::CachingHandle::define(env));
  testing.Set("Ledger", testing::LedgerHandle::define(env));
  testing.Set("Memory", testing::MemoryHandle::define(env));
  testing.Set("Pages", testing::PagesHandle::define(env));
  testing.Set("Resource", testing::ResourceHandle::define(env));
  testing.Set("Pool", testing::PoolHandle::define(env));
  testing.Set("Prefix", testing::PrefixHandle::define(env));
  testing.Set("Cache", testing::CacheHandle::define(env));
  testing.Set("Scheduler", testing::SchedulerHandle::define(env));
  testing.Set("Sizer", testing::SizerHandle::define(env));
  testing.Set("Pace", testing::PaceHandle::define(env));
  testing.Set("Trace", testing::TraceHandle::define(env));
  testing.Set("Workspace", testing::WorkspaceHandle::define(env));
  testing.Set("Model", testing::ModelHandle::define(env));
  testing::defineModelCalls(env, testing);
  testing::definePrefixCalls(env, testing);
  testing::defineHostCalls(env, testing);
  testing::defineStreamCalls(env, testing);
  testing::defineAllocationBench(env, testing);
  testing::defineLinkBench(env, testing);
  exports.Set("testing", testing);
}

}  // namespace octavo
