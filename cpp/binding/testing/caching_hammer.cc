// Threads that share a caching allocator.
#include <cstring>
#include <random>
#include <thread>

#include "binding/testing/caching_handle.h"

namespace octavo::testing {

namespace {

struct Held { void* data; size_t bytes; };

/** Keeps up to 32 blocks, each with its thread's mark at both ends; counts the marks that somebody wrote over. */
uint64_t hammerOnce(CachingAllocator& caching, uint64_t thread, uint64_t rounds) {
  const Owner owner{OwnerKind::kSession, thread};
  std::mt19937_64 random(thread);
  std::vector<Held> held;
  uint64_t spoilt = 0;
  const auto giveBack = [&](size_t index) {
    const Held block = held[index];
    uint64_t marks[2];
    std::memcpy(&marks[0], block.data, sizeof(uint64_t));
    std::memcpy(&marks[1], static_cast<char*>(block.data) + block.bytes - sizeof(uint64_t), sizeof(uint64_t));
    spoilt += marks[0] != thread || marks[1] != thread ? 1 : 0;
    held[index] = held.back();
    held.pop_back();
    caching.deallocate(block.data, block.bytes, nullptr);
  };
  for (uint64_t round = 0; round < rounds; ++round) {
    if (held.size() == 32) giveBack(random() % held.size());
    const size_t bytes = 2 * sizeof(uint64_t) + (random() & ((size_t{1} << (4 + random() % 18)) - 1));
    void* const data = caching.allocate(bytes, nullptr, owner, "round " + std::to_string(round % 5));
    std::memcpy(data, &thread, sizeof thread);
    std::memcpy(static_cast<char*>(data) + bytes - sizeof thread, &thread, sizeof thread);
    held.push_back({data, bytes});
    if (round % 500 == 0) caching.trim(0);
  }
  while (!held.empty()) giveBack(held.size() - 1);
  return spoilt;
}

}  // namespace

Napi::Value CachingHandle::hammer(const Napi::CallbackInfo& info) {
  const auto count = static_cast<size_t>(info[0].As<Napi::Number>().Int64Value());
  const auto rounds = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  std::vector<uint64_t> spoilt(count);
  std::vector<std::thread> threads;
  for (size_t index = 0; index < count; ++index) {
    threads.emplace_back([&, index] { spoilt[index] = hammerOnce(caching(), index + 1, rounds); });
  }
  double all = 0;
  for (size_t index = 0; index < count; ++index) {
    threads[index].join();
    all += static_cast<double>(spoilt[index]);
  }
  return Napi::Number::New(info.Env(), all);
}

}  // namespace octavo::testing
