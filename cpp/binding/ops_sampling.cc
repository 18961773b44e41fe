// Argument checks of `sample` and the way of its results back to JavaScript.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "binding/ops_binding.h"
#include "binding/ops_upload.h"

namespace octavo {

namespace {

constexpr double kSmallestFloat = std::numeric_limits<float>::min();
constexpr double kLargestFloat = std::numeric_limits<float>::max();
constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

/** Parameters of all rows, with the histories and biases they point into. */
struct HostSampling {
  std::vector<SamplingParams> params;
  std::vector<TokenCount> history;
  std::vector<LogitBias> biases;

  void readRow(const Fields& row, int32_t vocabulary) {
    SamplingParams one;
    one.temperature = static_cast<float>(row.number("temperature", 0, kLargestFloat));
    one.topK = static_cast<int32_t>(row.integer("topK", 0, kMaxCount));
    one.topP = static_cast<float>(row.number("topP", kSmallestFloat, 1));
    one.minP = static_cast<float>(row.number("minP", 0, 1));
    one.repetitionPenalty = static_cast<float>(row.number("repetitionPenalty", kSmallestFloat, kLargestFloat));
    one.frequencyPenalty = static_cast<float>(row.number("frequencyPenalty", -kLargestFloat, kLargestFloat));
    one.presencePenalty = static_cast<float>(row.number("presencePenalty", -kLargestFloat, kLargestFloat));
    one.position = static_cast<uint32_t>(row.integer("position", 0, std::numeric_limits<uint32_t>::max()));
    one.seed = row.bigUint64("seed");
    readHistory(row, one, vocabulary);
    readBiases(row, one, vocabulary);
    params.push_back(one);
  }

 private:
  static void requireToken(const Fields& row, const char* name, int32_t token, int32_t vocabulary) {
    if (token >= 0 && token < vocabulary) return;
    throw Error(ErrorCode::kInvalidArgument, row.path() + "." + name + " holds token " + std::to_string(token) +
        ": expected 0 to " + std::to_string(vocabulary - 1));
  }

  static void requireSameLength(const Fields& row, const char* left, size_t leftLength, const char* right,
                                size_t rightLength) {
    if (leftLength == rightLength) return;
    throw Error(ErrorCode::kInvalidArgument, row.path() + "." + left + " has " + std::to_string(leftLength) +
        " elements, " + right + " has " + std::to_string(rightLength));
  }

  static void requireDistinct(const Fields& row, const char* name, const std::vector<int32_t>& tokens) {
    std::unordered_map<int32_t, size_t> seen;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto [first, added] = seen.try_emplace(tokens[i], i);
      if (added) continue;
      throw Error(ErrorCode::kInvalidArgument, row.path() + "." + name + " holds token " + std::to_string(tokens[i]) +
          " at " + std::to_string(first->second) + " and at " + std::to_string(i) + ": expected each token once");
    }
  }

  void readHistory(const Fields& row, SamplingParams& one, int32_t vocabulary) {
    const std::vector<int32_t> tokens = row.int32s("historyTokens"), counts = row.int32s("historyCounts");
    requireSameLength(row, "historyTokens", tokens.size(), "historyCounts", counts.size());
    requireDistinct(row, "historyTokens", tokens);
    one.historyStart = static_cast<int32_t>(history.size());
    one.historyCount = static_cast<int32_t>(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      requireToken(row, "historyTokens", tokens[i], vocabulary);
      if (counts[i] < 0) {
        throw Error(ErrorCode::kInvalidArgument, row.path() + ".historyCounts[" + std::to_string(i) + "] is " +
            std::to_string(counts[i]) + ": expected 0 or more");
      }
      history.push_back({tokens[i], counts[i]});
    }
  }

  void readBiases(const Fields& row, SamplingParams& one, int32_t vocabulary) {
    const std::vector<int32_t> tokens = row.int32s("biasTokens");
    const std::vector<float> values = row.floats("biasValues");
    requireSameLength(row, "biasTokens", tokens.size(), "biasValues", values.size());
    requireDistinct(row, "biasTokens", tokens);
    one.biasStart = static_cast<int32_t>(biases.size());
    one.biasCount = static_cast<int32_t>(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      requireToken(row, "biasTokens", tokens[i], vocabulary);
      if (std::isnan(values[i])) throw Error(ErrorCode::kInvalidArgument, row.path() + ".biasValues holds NaN");
      biases.push_back({tokens[i], values[i]});
    }
  }
};

HostSampling readSampling(const OpCall& call, const Matrix& logits) {
  const Napi::Value rows = call.fields().get("params");
  if (!rows.IsArray()) call.fields().refuse("params", "an array");
  const Napi::Array list = rows.As<Napi::Array>();
  call.requireEqual("params.length", list.Length(), "logits.rows", logits.rows);
  HostSampling sampling;
  for (uint32_t r = 0; r < list.Length(); ++r) {
    const Fields row(list.Get(r), call.fields().path() + ".params[" + std::to_string(r) + "]");
    sampling.readRow(row, static_cast<int32_t>(logits.columns));
  }
  return sampling;
}

Napi::Int32Array fetchTokens(Napi::Env env, Upload& upload, const int32_t* from, size_t count) {
  Napi::Int32Array array = Napi::Int32Array::New(env, count);
  upload.fetch(array.Data(), from, count);
  return array;
}

Napi::Float32Array fetchLogprobs(Napi::Env env, Upload& upload, const float* from, size_t count) {
  Napi::Float32Array array = Napi::Float32Array::New(env, count);
  upload.fetch(array.Data(), from, count);
  return array;
}

}  // namespace

Napi::Value callSample(Napi::Env env, const OpCall& call) {
  const Matrix logits = call.matrix("logits");
  if (logits.dtype != DType::kF32) call.fields().fields("logits").refuse("dtype", "fp32");
  call.requireEqual("logits.stride", logits.stride, "logits.columns", logits.columns);
  const HostSampling sampling = readSampling(call, logits);

  SampleArguments arguments;
  arguments.logits = static_cast<float*>(logits.data);
  arguments.rows = static_cast<int32_t>(logits.rows);
  arguments.vocabulary = static_cast<int32_t>(logits.columns);
  arguments.sampled = static_cast<int32_t>(call.fields().integer("sampled", 1, logits.columns));
  arguments.topCount = static_cast<int32_t>(call.fields().integer("topCount", 0, std::min(20, arguments.sampled)));
  const size_t rows = sampling.params.size(), tops = rows * arguments.topCount;
  Upload upload(call.device());
  arguments.params = upload.copy(sampling.params);
  arguments.history = upload.copy(sampling.history);
  arguments.biases = upload.copy(sampling.biases);
  arguments.tokens = upload.results<int32_t>(rows);
  arguments.logprobs = upload.results<float>(rows);
  arguments.topTokens = upload.results<int32_t>(tops);
  arguments.topLogprobs = upload.results<float>(tops);
  call.ops().sample(arguments, call.stream());

  Napi::Object result = Napi::Object::New(env);
  result.Set("tokens", fetchTokens(env, upload, arguments.tokens, rows));
  result.Set("logprobs", fetchLogprobs(env, upload, arguments.logprobs, rows));
  result.Set("topTokens", fetchTokens(env, upload, arguments.topTokens, tops));
  result.Set("topLogprobs", fetchLogprobs(env, upload, arguments.topLogprobs, tops));
  return result;
}

}  // namespace octavo
