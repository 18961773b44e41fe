#include "scripts/bench/native/attention_case.h"

#include <numeric>
#include <random>
#include <utility>

namespace octavo::bench {

namespace {

using Figure = AttentionFigure;
using Lengths = std::vector<int32_t>;

struct Model {
  int32_t heads, kvHeads, headDim;
};
constexpr Model kEight = {32, 8, 128}, kSeventy = {64, 8, 128};  // of the 8B and 70B sizes most models have

AttentionCase decode(const std::string& name, Figure figure, const Model& model, int32_t blockSize,
                     const Lengths& context, int32_t query = 1) {
  return {name, figure, model.heads, model.kvHeads, model.headDim, blockSize, Lengths(context.size(), query), context};
}

AttentionCase prefill(const std::string& name, Figure figure, const Model& model, int32_t query, int32_t context) {
  return {name, figure, model.heads, model.kvHeads, model.headDim, 32, {query}, {context}};
}

AttentionCase onAmpere(AttentionCase of) {
  of.forcesAmpere = true;
  return of;
}

Lengths ragged() {
  std::minstd_rand random(7);  // its sequence is fixed by the standard
  Lengths lengths;
  for (int i = 0; i < 256; ++i) lengths.push_back(256 + static_cast<int32_t>(random() % (8192 - 256 + 1)));
  return lengths;
}

Lengths skewed() {
  Lengths lengths(63, 1024);
  lengths.push_back(131072);
  return lengths;
}

void addDecode(std::vector<AttentionCase>& cases) {
  const Lengths many(64, 4096), some(16, 4096);
  for (int32_t blockSize : {16, 32, 64}) {
    const std::string name = "decode 64x4096, blocks of " + std::to_string(blockSize);
    cases.push_back(decode(name, Figure::kBandwidth, kEight, blockSize, many));
  }
  cases.push_back(decode("decode 256 ragged 256-8192", Figure::kBandwidth, kEight, 32, ragged()));
  cases.push_back(decode("decode 16x4096", Figure::kBandwidth, kEight, 32, some));
  cases.push_back(decode("decode 64x1024", Figure::kBandwidth, kEight, 32, Lengths(64, 1024)));
  for (int32_t thousands : {1, 8, 32, 128}) {
    const std::string name = "decode 1x" + std::to_string(thousands) + "k";
    cases.push_back(decode(name, Figure::kReadTime, kEight, 32, {thousands * 1024}));
  }
  cases.push_back(decode("decode 128k + 63x1k against even", Figure::kAgainstEven, kEight, 32, skewed()));
  for (int32_t query : {4, 8}) {
    const std::string name = "decode query length " + std::to_string(query) + ", 64x4096";
    cases.push_back(decode(name, Figure::kBandwidth, kEight, 32, many, query));
  }
  cases.push_back(decode("decode d64 32q/8kv 64x4096", Figure::kBandwidth, {32, 8, 64}, 32, many));
  cases.push_back(decode("decode d256 16q/8kv 64x4096", Figure::kBandwidth, {16, 8, 256}, 32, many));
  cases.push_back(decode("decode 32q/32kv 16x4096", Figure::kBandwidth, {32, 32, 128}, 32, some));
}

AttentionCase coded(AttentionCase of, DType type) {
  of.cacheType = type;
  return of;
}

void addCodes(std::vector<AttentionCase>& cases) {
  for (const auto& [name, type] : {std::pair{"fp8", DType::kE4M3}, std::pair{"int8", DType::kI8}}) {
    const std::string begin = std::string("decode ") + name + " KV ";
    const Lengths many(64, 4096);
    cases.push_back(coded(decode(begin + "64x4096", Figure::kBandwidth, kEight, 32, many), type));
    cases.push_back(coded(decode(begin + "256 ragged 256-8192", Figure::kBandwidth, kEight, 32, ragged()), type));
    const std::string prompt = std::string("prefill ") + name + " KV 64q/8kv 8k";
    cases.push_back(coded(prefill(prompt, Figure::kRate, kSeventy, 8192, 8192), type));
  }
}

void addPrefill(std::vector<AttentionCase>& cases) {
  cases.push_back(prefill("prefill 64q/8kv 8k", Figure::kRate, kSeventy, 8192, 8192));
  cases.push_back(prefill("prefill 64q/8kv 32k", Figure::kRate, kSeventy, 32768, 32768));
  cases.push_back(prefill("prefill 32q/8kv 1k", Figure::kProductTime, kEight, 1024, 1024));
  cases.push_back(prefill("prefill d64 64q/8kv 16k", Figure::kRate, {64, 8, 64}, 16384, 16384));
  cases.push_back(prefill("prefill d256 32q/8kv 16k", Figure::kRate, {32, 8, 256}, 16384, 16384));
  cases.push_back(prefill("prefill 2048 of 34816 64q/8kv", Figure::kRate, kSeventy, 2048, 34816));
}

}  // namespace

int32_t AttentionCase::tokens() const { return std::accumulate(query.begin(), query.end(), 0); }

double AttentionCase::cacheBytes() const {
  const double keys = std::accumulate(context.begin(), context.end(), 0.0);
  const double scales = scalingOf(cacheType) == KvScaling::kToken ? sizeof(float) : 0;
  return keys * kvHeads * 2 * (headDim * static_cast<double>(dtypeBytes(cacheType)) + scales);
}

double AttentionCase::flops() const {
  double pairs = 0;  // of a query and a key that it sees
  for (size_t i = 0; i < query.size(); ++i) {
    const double length = query[i];
    pairs += length * (context[i] - length) + length * (length + 1) / 2;
  }
  return 4 * pairs * heads * headDim;
}

std::vector<AttentionCase> attentionCases() {
  std::vector<AttentionCase> cases;
  addDecode(cases);
  addCodes(cases);
  addPrefill(cases);
  cases.push_back(onAmpere(
      decode("A100 path: decode 64x4096", Figure::kBandwidth, kEight, 32, Lengths(64, 4096))));
  cases.push_back(onAmpere(prefill("A100 path: prefill 32q/32kv 8k", Figure::kRate, {32, 32, 128}, 8192, 8192)));
  return cases;
}

AttentionCase evenCase(const AttentionCase& skewed) {
  AttentionCase even = skewed;
  const int64_t keys = std::accumulate(skewed.context.begin(), skewed.context.end(), int64_t{0});
  even.context.assign(skewed.context.size(), static_cast<int32_t>(keys / skewed.sequences()));
  return even;
}

}  // namespace octavo::bench
