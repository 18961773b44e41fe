#include "engine/graph_input.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

/** What an image begins with: the first eight bytes are Ops::fetchImage's. */
struct Header {
  int64_t bytes = 0;
  int32_t topWanted = 0;
  int32_t unused = 0;
};

size_t batchAt(int32_t sequences) {
  return sizeof(Header) + align(static_cast<size_t>(sequences) * sizeof(SamplingParams));
}

size_t imageBytes(const BatchLimits& limits, int64_t historyEntries) {
  return sizeof(Header) + StepSampler::uploadBytes(limits.maxSequences, historyEntries) +
         BatchInput::decodeBytes(limits);
}

/** All rows of the largest step, the top tokens too, whether they are wanted or not. */
size_t resultBytes(const BatchLimits& limits) { return align(StepSampler::resultBytes(limits.maxSequences)); }

/** In elements of eight bytes, from the beginning of the image on. */
template <typename T>
int32_t append(std::byte* image, size_t& end, const std::vector<T>& values) {
  static_assert(sizeof(T) == 8);
  const size_t begin = end;
  if (!values.empty()) std::memcpy(image + begin, values.data(), values.size() * sizeof(T));
  end = align(begin + values.size() * sizeof(T));
  return static_cast<int32_t>(begin / sizeof(T));
}

}  // namespace

size_t GraphInput::plannedBytes(const BatchLimits& limits, int64_t historyEntries) {
  return imageBytes(limits, historyEntries) + 16;
}

size_t GraphInput::pinnedBytes(const BatchLimits& limits, int64_t historyEntries) {
  return static_cast<size_t>(limits.stepsAtOnce) * (imageBytes(limits, historyEntries) + resultBytes(limits));
}

GraphInput::GraphInput(DeviceAllocator& allocator, const BatchLimits& limits, int64_t historyEntries)
    : imageBytes_(imageBytes(limits, historyEntries)),
      resultBytes_(resultBytes(limits)),
      turns_(static_cast<size_t>(limits.stepsAtOnce)),
      memory_(allocator.allocate(Region::kGraph, plannedBytes(limits, historyEntries), kEngine, "graphs.input")),
      images_(allocator.allocate(Region::kPinned, pinnedBytes(limits, historyEntries), kEngine, "graphs.images")) {
  const auto stream = allocator.device().createStream();
  allocator.device().fill(memory_.data(), 0, memory_.bytes(), *stream);
  stream->synchronize();
}

std::byte* GraphInput::image(size_t turn) const {
  return static_cast<std::byte*>(images_.data()) + turn * imageBytes_;
}

std::byte* GraphInput::resultsOf(size_t turn) const { return image(turns_) + turn * resultBytes_; }

void GraphInput::fetch(Ops& ops, Stream& stream) const {
  auto* const turn = reinterpret_cast<int32_t*>(static_cast<std::byte*>(memory_.data()) + imageBytes_);
  ops.fetchImage(memory_.data(), {image(0), imageBytes_, static_cast<int32_t>(turns_), turn}, stream);
}

void GraphInput::store(Ops& ops, const void* results, size_t bytes, Stream& stream) const {
  auto* const turn = reinterpret_cast<int32_t*>(static_cast<std::byte*>(memory_.data()) + imageBytes_);
  ops.storeImage({resultsOf(0), resultBytes_, static_cast<int32_t>(turns_), turn}, results, bytes, stream);
}

const void* GraphInput::batch(int32_t sequences) const {
  return static_cast<const std::byte*>(memory_.data()) + batchAt(sequences);
}

SampleArguments GraphInput::arguments(int32_t sequences) const {
  auto* const memory = static_cast<std::byte*>(memory_.data());
  SampleArguments arguments;
  arguments.rows = sequences;
  arguments.params = reinterpret_cast<const SamplingParams*>(memory + sizeof(Header));
  arguments.history = reinterpret_cast<TokenCount*>(memory);  // parameters count from the beginning of the image
  arguments.biases = reinterpret_cast<LogitBias*>(memory);
  arguments.topWanted = &reinterpret_cast<const Header*>(memory)->topWanted;
  return arguments;
}

void GraphInput::fill(const Decoder& decoder, const Batch& batch, int32_t sequences, const StepSampler& sampler) {
  std::byte* const to = image(passed_ % turns_);
  const size_t first = batchAt(sequences), packed = decoder.packedBytes(batch);
  size_t end = first + packed;
  const size_t lists = align(sampler.history().size() * sizeof(TokenCount)) +
                       align(sampler.biases().size() * sizeof(LogitBias));
  if (end + lists > imageBytes_ || sampler.rows() > sequences) {
    throw Error(ErrorCode::kInternal, "a recorded step of " + std::to_string(sampler.rows()) + " rows takes " +
                                          std::to_string(end + lists) + " bytes of " + std::to_string(imageBytes_) +
                                          " planned for " + std::to_string(sequences) + " rows");
  }
  decoder.pack(batch, to + first);
  const int32_t history = append(to, end, sampler.history()), biases = append(to, end, sampler.biases());
  auto* const params = reinterpret_cast<SamplingParams*>(to + sizeof(Header));
  SamplingParams padded;  // the largest of whatever is there
  padded.temperature = 0;
  std::fill(std::copy(sampler.params().begin(), sampler.params().end(), params), params + sequences, padded);
  for (int32_t row = 0; row < sequences; ++row) {
    params[row].historyStart += history;
    params[row].biasStart += biases;
  }
  const Header header{static_cast<int64_t>(end), sampler.topWanted(), 0};
  std::memcpy(to, &header, sizeof header);
}

const std::byte* GraphInput::results() const { return resultsOf((passed_ - 1) % turns_); }

}  // namespace octavo
