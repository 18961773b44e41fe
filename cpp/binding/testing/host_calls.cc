#include "binding/testing/host_calls.h"

#if __has_include(<gnu/libc-version.h>)
#include <malloc.h>
#define OCTAVO_HAS_MALLINFO
#endif

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "binding/arguments.h"
#include "binding/testing/handle.h"
#include "device/cgroup.h"
#include "device/page_mapping.h"

namespace octavo::testing {

namespace {

/** cgroupLimits(root): what the files below `root` say, null where they set no limit. */
Napi::Value cgroupLimits(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string root = Fields(info[0], "cgroupLimits").filePath("root");
  Napi::Object limits = Napi::Object::New(env);
  limits.Set("limitBytes", env.Null());
  limits.Set("usedBytes", env.Null());
  limits.Set("cores", env.Null());
  if (const auto memory = cgroupMemory(root)) {
    limits.Set("limitBytes", static_cast<double>(memory->limitBytes));
    limits.Set("usedBytes", static_cast<double>(memory->usedBytes));
  }
  if (const auto cores = cgroupCores(root)) limits.Set("cores", *cores);
  return limits;
}

/** allowPageMapping(allowed): of ranges reserved from now on. */
Napi::Value allowMapping(const Napi::CallbackInfo& info) {
  allowPageMapping(info[0].ToBoolean());
  return info.Env().Undefined();
}

/** mallocBytes(): what malloc has handed out, of the main arena and of mappings; null where the C library has no count. */
Napi::Value mallocBytes(const Napi::CallbackInfo& info) {
#ifdef OCTAVO_HAS_MALLINFO
  const struct mallinfo2 counts = mallinfo2();
  return Napi::Number::New(info.Env(), static_cast<double>(counts.uordblks + counts.hblkhd));
#else
  return info.Env().Null();
#endif
}

/** What one parallelFor did. */
struct Loop {
  explicit Loop(int64_t count) : visits(count) {}

  std::vector<std::atomic<int32_t>> visits;
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;

  void run(ThreadPool& pool, int64_t count, int64_t grain, int64_t failAt) {
    pool.parallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[i];
      std::lock_guard lock(mutex);
      ranges.push_back({begin, end});
      if (begin <= failAt && failAt < end) throw Error(ErrorCode::kInternal, "failed at " + std::to_string(failAt));
    });
  }
};

Napi::Value toValue(Napi::Env env, const Loop& loop) {
  Napi::Object value = Napi::Object::New(env);
  Napi::Int32Array visits = Napi::Int32Array::New(env, loop.visits.size());
  for (size_t i = 0; i < loop.visits.size(); ++i) visits[i] = loop.visits[i];
  Napi::Array ranges = Napi::Array::New(env);
  for (const auto& [begin, end] : loop.ranges) {
    Napi::Array range = Napi::Array::New(env, 2);
    range.Set(0u, static_cast<double>(begin));
    range.Set(1u, static_cast<double>(end));
    ranges.Set(ranges.Length(), range);
  }
  value.Set("visits", visits);
  value.Set("ranges", ranges);
  return value;
}

/** parallelFor({threads, count, grain, failAt, callers}): `callers` threads run the same loop on one pool at once. */
Napi::Value parallelFor(const Napi::CallbackInfo& info) {
  const Fields fields(info[0], "parallelFor");
  const int64_t count = fields.integer("count", 0, 1 << 24), grain = fields.integer("grain", 0, 1 << 24);
  const int64_t failAt = fields.integer("failAt", -1, 1 << 24);
  ThreadPool pool(static_cast<int>(fields.integer("threads", 1, 64)));
  Loop loop(count);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < fields.integer("callers", 1, 16); ++i) {
    others.emplace_back([&] { loop.run(pool, count, grain, -1); });
  }
  std::exception_ptr failure;
  try {
    loop.run(pool, count, grain, failAt);
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  return toValue(info.Env(), loop);
}

}  // namespace

void defineHostCalls(Napi::Env env, Napi::Object testing) {
  testing.Set("cgroupLimits", Napi::Function::New<call<cgroupLimits>>(env));
  testing.Set("mallocBytes", Napi::Function::New<call<mallocBytes>>(env));
  testing.Set("parallelFor", Napi::Function::New<call<parallelFor>>(env));
  testing.Set("allowPageMapping", Napi::Function::New<call<allowMapping>>(env));
}

}  // namespace octavo::testing
