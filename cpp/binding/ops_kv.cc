// Argument checks of what fills a paged cache: kvWrite, ropeKvWrite and copyBlocks.
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "binding/attention_batch.h"
#include "binding/ops_binding.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();
constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();

/** Where keys and values of a step go. */
struct WriteTarget {
  KvCacheView cache;
  int32_t layer = 0;
  std::vector<int64_t> slots;
  KvScales scales;
};

const float* readHeadScales(const OpCall& call, const char* name, const KvCacheView& cache) {
  const Vector scales = call.vector(name, true);
  if (!scales.data) return nullptr;
  if (scales.dtype != DType::kF32) refuse(call, std::string(name) + " is " + dtypeName(scales.dtype) + ": expected fp32");
  call.requireEqual((std::string(name) + ".size").c_str(), scales.size, "cache.kvHeads", cache.kvHeads);
  return static_cast<const float*>(scales.data);
}

WriteTarget readTarget(const OpCall& call, const Heads& key, const Heads& value) {
  WriteTarget target;
  target.cache = call.cache("cache");
  target.layer = static_cast<int32_t>(call.fields().integer("layer", 0, target.cache.layers - 1));
  target.slots = call.fields().int64s("slots");
  const auto tokens = static_cast<int64_t>(target.slots.size());
  call.requireEqual("key.tokens", key.tokens, "slots.length", tokens);
  call.requireEqual("value.tokens", value.tokens, "slots.length", tokens);
  call.requireEqual("key.heads", key.heads, "cache.kvHeads", target.cache.kvHeads);
  call.requireEqual("value.heads", value.heads, "cache.kvHeads", target.cache.kvHeads);
  call.requireEqual("key.dim", key.dim, "cache.headDim", target.cache.headDim);
  call.requireEqual("value.dim", value.dim, "cache.headDim", target.cache.headDim);
  checkSlots(call, target.slots, target.cache.blocks * target.cache.blockSize);
  target.scales.key = readScale(call, "keyScale");
  target.scales.value = readScale(call, "valueScale");
  target.scales.keyHeads = readHeadScales(call, "keyHeadScales", target.cache);
  target.scales.valueHeads = readHeadScales(call, "valueHeadScales", target.cache);
  return target;
}

Vector readNorm(const OpCall& call, const char* name, const Heads& heads) {
  const Vector norm = call.vector(name, true);
  if (norm.data) call.requireEqual((std::string(name) + ".size").c_str(), norm.size, "dim", heads.dim);
  return norm;
}

/** No block written twice, or written and read. */
void checkCopies(const OpCall& call, const std::vector<BlockCopy>& copies, bool isOneCache) {
  std::unordered_map<int32_t, size_t> written;
  for (size_t i = 0; i < copies.size(); ++i) {
    const auto [found, isNew] = written.emplace(copies[i].to, i);
    if (isNew) continue;
    refuse(call, at("copies", found->second) + " and " + at("copies", i) + " both write block " +
        std::to_string(copies[i].to));
  }
  for (size_t i = 0; isOneCache && i < copies.size(); ++i) {
    const auto found = written.find(copies[i].from);
    if (found == written.end()) continue;
    refuse(call, at("copies", i) + " reads block " + std::to_string(copies[i].from) + ", which " +
        at("copies", found->second) + " writes: copy in two calls");
  }
}

std::vector<BlockCopy> readCopies(const OpCall& call, int64_t fromBlocks, int64_t toBlocks) {
  const std::vector<int32_t> numbers = call.fields().int32s("copies");
  call.requireEqual("copies.length modulo 2", static_cast<int64_t>(numbers.size() % 2), "a whole number of pairs", 0);
  std::vector<BlockCopy> copies(numbers.size() / 2);
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i] = {numbers[2 * i], numbers[2 * i + 1]};
    for (const auto& [block, blocks] : {std::pair{copies[i].from, fromBlocks}, std::pair{copies[i].to, toBlocks}}) {
      if (block >= 0 && block < blocks) continue;
      refuse(call, at("copies", i) + " names block " + std::to_string(block) + ": expected 0 to " +
          std::to_string(blocks - 1));
    }
  }
  return copies;
}

}  // namespace

float readScale(const OpCall& call, const char* name) {
  const double scale = call.fields().number(name, 0, kLargestFloat);
  if (static_cast<float>(scale) > 0) return static_cast<float>(scale);
  refuse(call, std::string(name) + " is " + std::to_string(scale) + ": expected a number above 0 in fp32");
}

Napi::Value callKvWrite(Napi::Env env, const OpCall& call) {
  const Heads key = call.heads("key"), value = call.heads("value");
  const WriteTarget to = readTarget(call, key, value);
  Upload upload(call.device());
  call.ops().kvWrite(to.cache, to.layer, key, value, upload.copy(to.slots), to.scales, call.stream());
  return env.Undefined();
}

RopeStep readRopeStep(const OpCall& call, Upload& upload) {
  RopeWrite step;
  step.query = call.heads("query");
  step.key = call.heads("key");
  step.value = call.heads("value");
  const WriteTarget to = readTarget(call, step.key, step.value);
  const RopeArguments rope = readRope(call, step.query, step.key);
  step.queryNorm = readNorm(call, "queryNorm", step.query);
  step.keyNorm = readNorm(call, "keyNorm", step.key);
  step.normEpsilon = static_cast<float>(call.fields().number("epsilon", 0, kLargestFloat));
  step.magnitude = rope.magnitude;
  step.scales = to.scales;
  step.positions = upload.copy(rope.positions);
  step.inverseFrequencies = upload.copy(rope.inverseFrequencies);
  step.slots = upload.copy(to.slots);
  return {step, to.cache, to.layer};
}

Napi::Value callRopeKvWrite(Napi::Env env, const OpCall& call) {
  Upload upload(call.device());
  const RopeStep step = readRopeStep(call, upload);
  call.ops().ropeKvWrite(step.cache, step.layer, step.write, call.stream());
  return env.Undefined();
}

Napi::Value callCopyBlocks(Napi::Env env, const OpCall& call) {
  const Fields& fields = call.fields();
  const int64_t blockBytes = fields.integer("blockBytes", 1, int64_t{1} << 40);
  const int64_t fromBlocks = fields.integer("fromBlocks", 1, std::min(kMaxBlocks, (int64_t{1} << 52) / blockBytes));
  const int64_t toBlocks = fields.integer("toBlocks", 1, std::min(kMaxBlocks, (int64_t{1} << 52) / blockBytes));
  BlockCopies copies;
  copies.to = call.bytes(fields, "to", toBlocks * blockBytes);
  copies.from = call.bytes(fields, "from", fromBlocks * blockBytes);
  copies.blockBytes = static_cast<size_t>(blockBytes);
  const std::vector<BlockCopy> list = readCopies(call, fromBlocks, toBlocks);
  checkCopies(call, list, copies.to == copies.from);
  copies.copies = list.data();
  copies.count = static_cast<int64_t>(list.size());
  call.ops().copyBlocks(copies, call.stream());
  return env.Undefined();
}

}  // namespace octavo
