#include "binding/engine_arguments.h"

#include "base/error.h"
#include "binding/field_reader.h"

namespace octavo::binding {

namespace {

AttentionSpec readAttention(const FieldReader& from) {
  AttentionSpec attention;
  attention.heads = from.integer("heads");
  attention.kvHeads = from.integer("kvHeads");
  attention.headDim = from.integer("headDim");
  attention.scale = from.number("scale");
  attention.window = from.integer("window");
  attention.rope = from.integer("rope");
  attention.qkvBias = from.boolean("qkvBias");
  attention.outputBias = from.boolean("outputBias");
  attention.queryKeyNorm = from.boolean("queryKeyNorm");
  return attention;
}

ModelSpec readSpec(const FieldReader& from) {
  ModelSpec spec;
  spec.family = from.text("family");
  spec.vocabularySize = from.integer("vocabularySize");
  spec.sampledVocabulary = from.integer("sampledVocabulary");
  spec.hiddenSize = from.integer("hiddenSize");
  spec.contextLength = from.integer("contextLength");
  spec.normEpsilon = from.number("normEpsilon");
  spec.tiedEmbeddings = from.boolean("tiedEmbeddings");
  for (const FieldReader& rope : from.objects("ropes")) {
    spec.ropes.push_back({rope.floats("inverseFrequencies"), rope.number("magnitude")});
  }
  for (const FieldReader& layer : from.objects("layers")) {
    const FieldReader mlp = layer.object("mlp");
    spec.layers.push_back(
        {readAttention(layer.object("attention")), {mlp.integer("intermediateSize"), mlp.boolean("bias")}});
  }
  return spec;
}

WeightPart readPart(const FieldReader& from) {
  WeightPart part;
  part.file = from.integer("file");
  part.offset = from.size("offset");
  part.bytes = from.size("bytes");
  part.dtype = from.dtype("dtype");
  part.shape = from.shape("shape");
  return part;
}

WeightManifest readManifest(const FieldReader& from) {
  WeightManifest manifest;
  manifest.files = from.texts("files");
  for (const FieldReader& entry : from.objects("entries")) {
    WeightEntry& read = manifest.entries.emplace_back();
    read.name = entry.text("name");
    for (const FieldReader& part : entry.objects("parts")) read.parts.push_back(readPart(part));
  }
  return manifest;
}

EngineTesting readTesting(const FieldReader& from) {
  EngineTesting testing;
  if (from.has("failAllocation")) testing.failAllocation = from.size("failAllocation");
  if (from.has("failStep")) testing.failStep = from.size("failStep");
  if (from.has("stepMicroseconds")) testing.stepMicroseconds = from.integer("stepMicroseconds");
  return testing;
}

EngineOptions readOptions(const FieldReader& from) {
  EngineOptions options;
  options.maxSequences = from.integer("maxSequences");
  options.maxBatchTokens = from.integer("maxBatchTokens");
  options.blockSize = from.integer("blockSize");
  if (from.has("dtype")) options.dtype = from.dtype("dtype");
  if (from.has("kvDType")) options.kvDType = from.dtype("kvDType");
  options.memoryLimit = from.size("memoryLimit");
  options.kvBytes = from.size("kvBytes");
  if (from.has("testing")) options.testing = readTesting(from.object("testing"));
  return options;
}

std::vector<LogitBias> readBiases(const FieldReader& from) {
  const std::vector<int32_t> tokens = from.int32s("biasTokens");
  const std::vector<float> values = from.floats("biasValues");
  if (tokens.size() != values.size()) {
    throw Error(ErrorCode::kInvalidArgument, "request.biasTokens has " + std::to_string(tokens.size()) +
                                                 " elements, request.biasValues " + std::to_string(values.size()) +
                                                 "; give one value a token");
  }
  std::vector<LogitBias> biases;
  for (size_t index = 0; index < tokens.size(); ++index) biases.push_back({tokens[index], values[index]});
  return biases;
}

}  // namespace

LoadArguments readLoad(const Napi::Value& load) {
  const FieldReader from(load, "load");
  LoadArguments arguments;
  arguments.device = from.text("device");
  arguments.threads = from.integer("threads");
  arguments.spec = readSpec(from.object("spec"));
  arguments.manifest = readManifest(from.object("manifest"));
  arguments.options = readOptions(from.object("options"));
  return arguments;
}

RequestSpec readRequest(const Napi::Value& request) {
  const FieldReader from(request, "request");
  RequestSpec spec;
  spec.prompt = from.int32s("prompt");
  spec.maxNewTokens = from.integer("maxNewTokens");
  spec.sampling.temperature = from.number("temperature");
  spec.sampling.topK = from.integer("topK");
  spec.sampling.topP = from.number("topP");
  spec.sampling.minP = from.number("minP");
  spec.sampling.repetitionPenalty = from.number("repetitionPenalty");
  spec.sampling.frequencyPenalty = from.number("frequencyPenalty");
  spec.sampling.presencePenalty = from.number("presencePenalty");
  spec.sampling.seed = from.word("seed");
  spec.biases = readBiases(from);
  spec.stopTokens = from.int32s("stopTokens");
  spec.topLogprobs = from.integer("topLogprobs");
  spec.score = from.boolean("score");
  spec.credits = from.integer("credits");
  return spec;
}

uint64_t readId(const Napi::Value& value, const char* name) {
  return static_cast<uint64_t>(wholeNumber(value, name, 0, 9007199254740991));
}

int32_t readCount(const Napi::Value& value, const char* name) {
  return static_cast<int32_t>(wholeNumber(value, name, 1, 2147483647));
}

Napi::Function readFunction(const Napi::Value& object, const char* name) {
  const Napi::Value function = FieldReader(object, "load").value(name);
  if (function.IsFunction()) return function.As<Napi::Function>();
  throw Error(ErrorCode::kInvalidArgument, std::string("load.") + name + " is no function; give one");
}

}  // namespace octavo::binding
