#include "binding/testing/allocation_bench.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "binding/arguments.h"
#include "binding/testing/handle.h"
#include "device/driver_allocation.h"
#include "memory/caching_allocator.h"

namespace octavo::testing {

namespace {

/** Which sizes in which order; the same for everybody. */
struct Pattern {
  size_t fixedBytes = 0;  // 0: the mix
  size_t live = 0;        // of the mix: how many blocks are out at once
  std::vector<size_t> sizes;
  std::vector<size_t> victims;
};

/** Sizes as activations and scratch have them: every order of magnitude alike, from 512 bytes to 8 MiB. */
Pattern makePattern(size_t fixedBytes, size_t live, size_t pairs) {
  Pattern pattern{fixedBytes, live, {}, {}};
  if (fixedBytes > 0) return pattern;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(9, 23);
  for (size_t index = 0; index < pairs; ++index) {
    pattern.sizes.push_back(static_cast<size_t>(std::exp2(exponent(random))));
    pattern.victims.push_back(random() % live);
  }
  return pattern;
}

double nanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

template <typename Take, typename Give>
std::vector<double> measureFixed(size_t bytes, size_t pairs, size_t batches, const Take& take, const Give& give) {
  std::vector<double> costs;
  for (size_t batch = 0; batch < batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t pair = 0; pair < pairs; ++pair) give(take(bytes), bytes);
    costs.push_back(nanosecondsSince(start) / static_cast<double>(pairs));
  }
  return costs;
}

/** One of the live blocks goes, one of another size comes. */
template <typename Take, typename Give>
std::vector<double> measureMix(const Pattern& pattern, size_t batches, const Take& take, const Give& give) {
  struct Live { void* data; size_t bytes; };
  std::vector<Live> live;
  const size_t pairs = pattern.sizes.size();
  for (size_t index = 0; index < pattern.live; ++index) {
    const size_t bytes = pattern.sizes[index % pairs];
    live.push_back({take(bytes), bytes});
  }
  std::vector<double> costs;
  for (size_t batch = 0; batch < batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t pair = 0; pair < pairs; ++pair) {
      Live& victim = live[pattern.victims[pair]];
      give(victim.data, victim.bytes);
      victim = {take(pattern.sizes[pair]), pattern.sizes[pair]};
    }
    costs.push_back(nanosecondsSince(start) / static_cast<double>(pairs));
  }
  for (const Live& block : live) give(block.data, block.bytes);
  return costs;
}

template <typename Take, typename Give>
std::vector<double> measure(const Pattern& pattern, size_t pairs, size_t batches, const Take& take,
                            const Give& give) {
  // The first batch warms up: pages are mapped, tables grow.
  std::vector<double> costs = pattern.fixedBytes > 0
                                  ? measureFixed(pattern.fixedBytes, pairs, batches + 1, take, give)
                                  : measureMix(pattern, batches + 1, take, give);
  costs.erase(costs.begin());
  return costs;
}

std::vector<double> measureCaching(const std::string& device, const Pattern& pattern, size_t pairs, size_t batches) {
  const auto allocator = DeviceAllocator::create(openDevice(device, 1));
  const std::unique_ptr<Stream> stream = allocator->device().createStream();
  CachingAllocator caching(allocator, Region::kWorkspace, {});
  MemoryResource& resource = caching;
  const Owner owner{OwnerKind::kRequest, 7};
  const auto take = [&](size_t bytes) { return resource.allocate(bytes, stream.get(), owner, "bench.scratch"); };
  const auto give = [&](void* data, size_t bytes) { resource.deallocate(data, bytes, stream.get()); };
  const std::vector<double> costs = measure(pattern, pairs, batches, take, give);
  caching.check();
  return costs;
}

std::vector<double> measureMalloc(const Pattern& pattern, size_t pairs, size_t batches) {
  const auto take = [](size_t bytes) {
    void* volatile data = std::malloc(bytes);  // volatile: the compiler knows malloc and would leave the pair out
    return static_cast<void*>(data);
  };
  return measure(pattern, pairs, batches, take, [](void* data, size_t) { std::free(data); });
}

Napi::Float64Array toArray(Napi::Env env, const std::vector<double>& costs) {
  Napi::Float64Array array = Napi::Float64Array::New(env, costs.size());
  for (size_t index = 0; index < costs.size(); ++index) array[index] = costs[index];
  return array;
}

/** Nanoseconds a pair, batch by batch, of each. The driver's ways get a hundredth of the pairs: they are that slow. */
Napi::Value allocationCosts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Fields options(info[0], "options");
  const std::string device = options.text("device");
  const size_t pairs = options.size("pairs"), batches = options.size("batches");
  const Pattern pattern = makePattern(options.size("bytes"), options.size("live"), pairs);
  Napi::Object costs = Napi::Object::New(env);
  costs.Set("octavo", toArray(env, measureCaching(device, pattern, pairs, batches)));
  costs.Set("malloc", toArray(env, measureMalloc(pattern, pairs, batches)));
  const size_t fewer = std::max<size_t>(1, pairs / 100);
  const Pattern shorter = makePattern(pattern.fixedBytes, pattern.live, fewer);
  for (const DriverAllocation& driver : driverAllocations(device)) {
    const auto give = [&](void* data, size_t) { driver.give(data); };
    costs.Set(driver.name, toArray(env, measure(shorter, fewer, batches, driver.take, give)));
  }
  return costs;
}

}  // namespace

void defineAllocationBench(Napi::Env env, Napi::Object testing) {
  testing.Set("allocationCosts", Napi::Function::New(env, call<&allocationCosts>, "allocationCosts"));
}

}  // namespace octavo::testing
