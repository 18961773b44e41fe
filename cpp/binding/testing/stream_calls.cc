#include "binding/testing/stream_calls.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "binding/arguments.h"
#include "binding/testing/handle.h"
#include "device/cpu_device.h"
#include "device/cpu_stream.h"
#include "memory/allocator.h"
#include "ops/ops.h"

namespace octavo::testing {

namespace {

constexpr Owner kOwner{OwnerKind::kEngine, 0};

/** Values in device memory, and back. */
class DeviceValues {
 public:
  explicit DeviceValues(const std::string& device)
      : allocator_(DeviceAllocator::create(openDevice(device, 1))),
        stream_(allocator_->device().createConcurrentStream()) {}

  Stream& stream() { return *stream_; }
  Device& device() { return allocator_->device(); }
  Ops& ops() { return device().ops(); }

  template <typename T>
  T* put(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    held_.push_back(allocator_->allocate(Region::kWorkspace, std::max<size_t>(bytes, 1), kOwner, "values"));
    allocator_->device().copy(held_.back().data(), values.data(), bytes, CopyKind::kHostToDevice, *stream_);
    stream_->synchronize();
    return static_cast<T*>(held_.back().data());
  }

  template <typename T>
  void fetch(std::vector<T>& into, const T* from) {
    allocator_->device().copy(into.data(), from, into.size() * sizeof(T), CopyKind::kDeviceToHost, *stream_);
    stream_->synchronize();
  }

 private:
  std::shared_ptr<DeviceAllocator> allocator_;
  std::vector<Allocation> held_;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its work uses
};

Napi::Int32Array toArray(Napi::Env env, const std::vector<int32_t>& values) {
  auto array = Napi::Int32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

/** resolveTokens({ device, tokens, sampled }) → the tokens after it */
Napi::Value resolveTokens(const Napi::CallbackInfo& info) {
  const Fields from(info[0], "resolve");
  DeviceValues values(from.text("device"));
  std::vector<int32_t> tokens = from.int32s("tokens");
  int32_t* const there = values.put(tokens);
  const int32_t* const sampled = values.put(from.int32s("sampled"));
  values.ops().resolveTokens(there, static_cast<int64_t>(tokens.size()), sampled, values.stream());
  values.fetch(tokens, there);
  return toArray(info.Env(), tokens);
}

/**
 * widenRows({ device, table, stride, rows, outStride, replays }) → the wide table, −7 where nothing was written. With
 * replays > 0 the op is captured, and the graph launched so often.
 */
Napi::Value widenRows(const Napi::CallbackInfo& info) {
  const Fields from(info[0], "widen");
  DeviceValues values(from.text("device"));
  const int32_t rows = from.int32("rows"), outStride = from.int32("outStride"), replays = from.int32("replays");
  std::vector<int32_t> wide(static_cast<size_t>(rows) * outStride, -7);
  int32_t* const there = values.put(wide);
  const int32_t* const table = values.put(from.int32s("table"));
  const int32_t* const stride = values.put(std::vector<int32_t>{from.int32("stride")});
  const auto widen = [&] { values.ops().widenRows(there, outStride, table, stride, rows, values.stream()); };
  if (replays == 0) {
    widen();
  } else {
    const std::unique_ptr<Graph> graph = values.device().capture(values.stream(), widen);
    for (int32_t replay = 0; replay < replays; ++replay) graph->launch(values.stream());
    values.stream().synchronize();
  }
  values.fetch(wide, there);
  return toArray(info.Env(), wide);
}

/**
 * capture({ device, rule }) → what happened: "wait" waits inside of the capture, "throw" throws there; then the stream is
 * used as ever, and the sentence of the refusal is returned.
 */
Napi::Value captureBadly(const Napi::CallbackInfo& info) {
  const Fields from(info[0], "capture");
  DeviceValues values(from.text("device"));
  const bool waits = from.text("rule") == "wait";
  std::string refusal;
  try {
    values.device().capture(values.stream(), [&] {
      if (waits) values.stream().synchronize();
      throw Error(ErrorCode::kInternal, "thrown inside of a capture");
    });
  } catch (const Error& error) {
    refusal = error.what();
  }
  std::vector<int32_t> back(1);
  values.fetch(back, values.put(std::vector<int32_t>{5}));
  return Napi::String::New(info.Env(), refusal + (back[0] == 5 ? "" : "; the stream does not work any more"));
}

/** resolveHistory({ device, tokens, counts, rows, sampled }): rows = entries of each → tokens and counts, in turn */
Napi::Value resolveHistory(const Napi::CallbackInfo& info) {
  const Fields from(info[0], "resolve");
  DeviceValues values(from.text("device"));
  const std::vector<int32_t> tokens = from.int32s("tokens"), counts = from.int32s("counts"), rows = from.int32s("rows");
  std::vector<TokenCount> history;
  for (size_t index = 0; index < tokens.size(); ++index) history.push_back({tokens[index], counts[index]});
  std::vector<SamplingParams> params;
  int32_t start = 0;
  for (const int32_t count : rows) {
    SamplingParams& one = params.emplace_back();
    one.historyStart = start;
    one.historyCount = count;
    start += count;
  }
  TokenCount* const there = values.put(history);
  values.ops().resolveHistory(there, values.put(params), static_cast<int32_t>(rows.size()),
                              values.put(from.int32s("sampled")), values.stream());
  values.fetch(history, there);
  std::vector<int32_t> flat;
  for (const TokenCount& entry : history) flat.insert(flat.end(), {entry.token, entry.outputCount});
  return toArray(info.Env(), flat);
}

/** A stream that stands still behind a gate: nothing depends on who is faster. */
struct GatedStream {
  std::promise<void> gate;
  CpuDevice device{1};
  std::unique_ptr<Stream> stream = device.createConcurrentStream();
  std::unique_ptr<Event> event = device.createEvent();

  GatedStream() {
    cpuStream(*stream).run([opened = gate.get_future().share()] { opened.wait(); });
  }
};

/** concurrentStream() → [copied before the gate opened, event passed before it, and both after] */
Napi::Value concurrentStream(const Napi::CallbackInfo& info) {
  int32_t from = 7, to = 0;
  bool before = true, passedBefore = true;
  {
    GatedStream gated;
    gated.device.copy(&to, &from, sizeof from, CopyKind::kHostToDevice, *gated.stream);
    gated.event->record(*gated.stream);
    passedBefore = gated.event->query();
    before = to == 7;  // nobody writes it: the copy waits behind the gate
    gated.gate.set_value();
    gated.event->synchronize();
    gated.device.synchronize();
  }
  Napi::Array made = Napi::Array::New(info.Env());
  for (const bool seen : {before, passedBefore, to == 7}) made.Set(made.Length(), seen);
  return made;
}

/** failingStream() → [what the wait says, work after the failure was done] */
Napi::Value failingStream(const Napi::CallbackInfo& info) {
  GatedStream gated;
  int32_t from = 7, to = 0;
  cpuStream(*gated.stream).run([] { throw std::runtime_error("told to fail"); });
  gated.device.copy(&to, &from, sizeof from, CopyKind::kHostToDevice, *gated.stream);
  gated.event->record(*gated.stream);
  gated.gate.set_value();
  std::vector<std::string> said;
  const auto listen = [&said](const auto& wait) {
    try {
      wait();
      said.emplace_back("nothing");
    } catch (const Error& error) {
      said.emplace_back(std::string(errorCodeName(error.code())) + ": " + error.what());
    }
  };
  listen([&] { gated.event->synchronize(); });
  listen([&] { gated.stream->synchronize(); });
  listen([&] { gated.device.synchronize(); });
  Napi::Array made = Napi::Array::New(info.Env());
  for (const std::string& sentence : said) made.Set(made.Length(), sentence);
  made.Set(made.Length(), to == 7);
  return made;
}

}  // namespace

void defineStreamCalls(Napi::Env env, Napi::Object testing) {
  testing.Set("resolveTokens", Napi::Function::New<call<resolveTokens>>(env));
  testing.Set("widenRows", Napi::Function::New<call<widenRows>>(env));
  testing.Set("captureBadly", Napi::Function::New<call<captureBadly>>(env));
  testing.Set("resolveHistory", Napi::Function::New<call<resolveHistory>>(env));
  testing.Set("concurrentStream", Napi::Function::New<call<concurrentStream>>(env));
  testing.Set("failingStream", Napi::Function::New<call<failingStream>>(env));
}

}  // namespace octavo::testing
