#include "binding/testing/link_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "binding/arguments.h"
#include "binding/testing/handle.h"
#include "memory/allocator.h"

namespace octavo::testing {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

/** Bytes a second, a figure a round: as many pinned buffers as a ring has, each to a place of its own. */
std::vector<double> measureLink(DeviceAllocator& allocator, size_t pieceBytes, size_t pieces, size_t rounds) {
  const std::unique_ptr<Stream> stream = allocator.device().createStream();
  const Allocation target = allocator.allocate(Region::kWorkspace, pieceBytes * pieces, kEngine, "link.target");
  std::vector<Allocation> ring;
  for (size_t piece = 0; piece < pieces; ++piece) {
    ring.push_back(allocator.allocate(Region::kPinned, pieceBytes, kEngine, "link.ring"));
    std::memset(ring.back().data(), static_cast<int>(piece), pieceBytes);
  }
  std::vector<double> rates;
  for (size_t round = 0; round <= rounds; ++round) {  // the first warms up
    const auto began = std::chrono::steady_clock::now();
    for (size_t piece = 0; piece < pieces; ++piece) {
      void* const to = static_cast<char*>(target.data()) + piece * pieceBytes;
      allocator.device().copy(to, ring[piece].data(), pieceBytes, CopyKind::kHostToDevice, *stream);
    }
    stream->synchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (round > 0) rates.push_back(static_cast<double>(pieceBytes * pieces) / took.count());
  }
  return rates;
}

/** linkRates({device, pieceBytes, pieces, rounds}) → Float64Array */
Napi::Value linkRates(const Napi::CallbackInfo& info) {
  const Fields options(info[0], "options");
  const auto allocator = DeviceAllocator::create(openDevice(options.text("device"), 1));
  const std::vector<double> rates = measureLink(*allocator, options.size("pieceBytes"), options.size("pieces"),
                                                options.size("rounds"));
  Napi::Float64Array array = Napi::Float64Array::New(info.Env(), rates.size());
  std::copy(rates.begin(), rates.end(), array.Data());
  return array;
}

}  // namespace

void defineLinkBench(Napi::Env env, Napi::Object testing) {
  testing.Set("linkRates", Napi::Function::New(env, call<&linkRates>, "linkRates"));
}

}  // namespace octavo::testing
