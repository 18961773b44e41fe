#include "binding/engine_arguments.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "binding/arguments.h"
#include "binding/model_arguments.h"
#include "binding/prefix_values.h"
#include "binding/session_values.h"
#include "binding/tuning_values.h"

namespace octavo {

namespace {

constexpr int64_t kLargestSafe = 9007199254740991;  // 2⁵³ − 1
constexpr int64_t kLargestInt = std::numeric_limits<int32_t>::max();

float number(const Fields& from, const char* name) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(from.number(name, -kLargest, kLargest));
}

EngineTesting readTesting(const Fields& testing) {
  EngineTesting read;
  if (testing.has("failAllocation")) read.failAllocation = testing.size("failAllocation");
  if (testing.has("failChunk")) read.failChunk = testing.size("failChunk");
  if (testing.has("failStep")) read.failStep = testing.size("failStep");
  if (testing.has("hostRoot")) read.hostRoot = testing.filePath("hostRoot");
  if (testing.has("contextGrowth")) read.contextGrowth = testing.size("contextGrowth");
  if (testing.has("warmUp")) read.warmUp = testing.flag("warmUp");
  if (testing.has("leakBytes")) read.leakBytes = testing.size("leakBytes");
  if (testing.has("kvPages")) read.kvPages = testing.size("kvPages");
  if (testing.has("kvPagesUntil")) read.kvPagesUntil = testing.size("kvPagesUntil");
  if (testing.has("inelasticKv")) read.inelasticKv = testing.flag("inelasticKv");
  if (testing.has("failGraph")) read.failGraph = testing.int32("failGraph");
  if (testing.has("pinnedSpare")) read.pinnedSpare = testing.size("pinnedSpare");
  if (testing.has("checkSteps")) read.checkSteps = testing.size("checkSteps");
  if (testing.has("neverPlan")) read.neverPlan = testing.flag("neverPlan");
  if (testing.has("mayPlant")) read.mayPlant = testing.flag("mayPlant");
  if (testing.has("fakeClock")) read.fakeClock = testing.flag("fakeClock");
  if (testing.has("fakeStepMicroseconds")) read.fakeStepMicroseconds = testing.int32("fakeStepMicroseconds");
  if (testing.has("fakeTokenMicroseconds")) read.fakeTokenMicroseconds = testing.int32("fakeTokenMicroseconds");
  if (testing.has("idleMilliseconds")) read.idleMilliseconds = testing.int32("idleMilliseconds");
  if (testing.has("stepMicroseconds")) read.stepMicroseconds = testing.int32("stepMicroseconds");
  return read;
}

}  // namespace

TraceOptions readTrace(const Fields& trace) {
  TraceOptions read;
  read.level = trace.int32("level");
  read.ringEvents = trace.size("ringEvents");
  read.sampleBytes = trace.size("sampleBytes");
  if (trace.has("spillPath")) read.spillPath = trace.filePath("spillPath");
  read.spillBytes = trace.size("spillBytes");
  return read;
}

namespace {

EvictionPolicy readEviction(const Fields& options) {
  const std::string name = options.text("eviction");
  if (name == "lru") return EvictionPolicy::kLru;
  if (name != "page-aware") options.refuse("eviction", "'page-aware' or 'lru'");
  return EvictionPolicy::kPageAware;
}

Admission readAdmission(const Fields& options) {
  const std::string name = options.text("admission");
  if (name == "optimistic") return Admission::kOptimistic;
  if (name != "guaranteed") options.refuse("admission", "'guaranteed' or 'optimistic'");
  return Admission::kGuaranteed;
}

EngineOptions readOptions(const Fields& options) {
  EngineOptions read;
  read.maxSequences = options.int32("maxSequences");
  if (options.has("maxBatchTokens")) read.maxBatchTokens = options.int32("maxBatchTokens");
  read.blockSize = options.int32("blockSize");
  if (options.has("dtype")) read.dtype = options.dtype("dtype");
  if (options.has("eviction")) read.eviction = readEviction(options);
  if (options.has("admission")) read.admission = readAdmission(options);
  if (options.has("targetInterTokenMs")) {
    read.targetInterToken = static_cast<int64_t>(options.number("targetInterTokenMs", 0, 3.6e6) * 1e6);
  }
  if (options.has("graphs")) read.graphs = options.flag("graphs");
  if (options.has("tune")) read.tuning = readTuning(options.fields("tune"));
  if (options.has("overlap")) read.overlap = options.flag("overlap");
  if (options.has("prefix")) read.prefix = readPrefix(options.fields("prefix"));
  if (options.has("kvDType")) read.kvDType = options.dtype("kvDType");
  read.memoryLimit = options.size("memoryLimit");
  read.kvBytes = options.size("kvBytes");
  if (options.has("pinnedLimit")) read.pinnedLimit = options.size("pinnedLimit");
  if (options.has("trace")) read.trace = readTrace(options.fields("trace"));
  if (options.has("testing")) read.testing = readTesting(options.fields("testing"));
  return read;
}

std::vector<LogitBias> readBiases(const Fields& request) {
  const std::vector<int32_t> tokens = request.int32s("biasTokens");
  const std::vector<float> values = request.floats("biasValues");
  if (tokens.size() != values.size()) {
    throw Error(ErrorCode::kInvalidArgument, "request.biasTokens has " + std::to_string(tokens.size()) +
                                                 " elements, request.biasValues " + std::to_string(values.size()) +
                                                 "; give one value a token");
  }
  std::vector<LogitBias> biases;
  for (size_t index = 0; index < tokens.size(); ++index) biases.push_back({tokens[index], values[index]});
  return biases;
}

SamplingParams readSampling(const Fields& request) {
  SamplingParams read;
  read.temperature = number(request, "temperature");
  read.topK = request.int32("topK");
  read.topP = number(request, "topP");
  read.minP = number(request, "minP");
  read.repetitionPenalty = number(request, "repetitionPenalty");
  read.frequencyPenalty = number(request, "frequencyPenalty");
  read.presencePenalty = number(request, "presencePenalty");
  read.seed = request.bigUint64("seed");
  return read;
}

double wholeNumber(const Napi::Value& value, const char* name, int64_t least, int64_t most) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  const bool inRange = number >= static_cast<double>(least) && number <= static_cast<double>(most);
  if (inRange && number == static_cast<double>(static_cast<int64_t>(number))) return number;
  refuse(name, value, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

LoadArguments readLoad(const Napi::Value& load) {
  const Fields from(load, "load");
  LoadArguments read;
  read.device = from.text("device");
  read.threads = from.int32("threads");
  read.spec = readModelSpec(from.fields("spec"));
  read.manifest = readWeightManifest(from.fields("manifest"));
  read.options = readOptions(from.fields("options"));
  return read;
}

PlanDemand readDemand(const Napi::Value& demand) {
  const Fields from(demand, "demand");
  return {static_cast<int32_t>(from.integer("contextTokens", 0, kLargestInt)),
          from.integer("sessions", 1, kLargestInt)};
}

PlanArguments readPlanRequest(const Napi::Value& request) {
  const Fields from(request, "plan");
  PlanArguments read;
  read.spec = readModelSpec(from.fields("spec"));
  read.manifest = readWeightManifest(from.fields("manifest"));
  read.options = readOptions(from.fields("options"));
  read.device = from.text("device");
  read.demand = readDemand(from.get("demand"));
  if (!from.has("stated")) return read;
  const Fields stated = from.fields("stated");
  PlanTarget& target = read.stated.emplace();
  target.device = read.device;
  target.onHost = read.device == "cpu";
  target.totalBytes = static_cast<size_t>(stated.integer("totalBytes", 1, kLargestSafe));
  if (target.onHost) target.contextBytes = 0;
  if (stated.has("contextBytes")) target.contextBytes = stated.size("contextBytes");
  target.freeBytes = target.totalBytes - std::min(target.totalBytes, target.contextBytes.value_or(0));
  return read;
}

RequestSpec readRequest(const Napi::Value& request) {
  const Fields from(request, "request");
  RequestSpec read;
  read.prompt = from.int32s("prompt");
  read.maxNewTokens = from.int32("maxNewTokens");
  read.sampling = readSampling(from);
  read.biases = readBiases(from);
  read.stopTokens = from.int32s("stopTokens");
  read.topLogprobs = from.int32("topLogprobs");
  read.score = from.flag("score");
  read.credits = from.int32("credits");
  if (from.has("stages")) read.stages = readStages(from.fields("stages"));
  if (from.has("samples")) read.samples = from.int32("samples");
  if (from.has("priority")) read.priority = from.int32("priority");
  return read;
}

uint64_t readId(const Napi::Value& value, const char* name) {
  return static_cast<uint64_t>(wholeNumber(value, name, 0, kLargestSafe));
}

int readTraceLevel(const Napi::Value& value) {
  return static_cast<int>(wholeNumber(value, "level", 0, kMostTraceLevel));
}

int32_t readCount(const Napi::Value& value, const char* name) {
  return static_cast<int32_t>(wholeNumber(value, name, 1, kLargestInt));
}

Napi::Function readFunction(const Napi::Value& load, const char* name) {
  const Fields from(load, "load");
  const Napi::Value given = from.get(name);
  if (!given.IsFunction()) from.refuse(name, "a function");
  return given.As<Napi::Function>();
}

}  // namespace octavo
