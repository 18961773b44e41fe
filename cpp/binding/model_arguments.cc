#include "binding/model_arguments.h"

namespace octavo {

namespace {

RopeSpec readRope(const Fields& rope) {
  RopeSpec read;
  read.inverseFrequencies = rope.floats("inverseFrequencies");
  read.magnitude = static_cast<float>(rope.number("magnitude"));
  return read;
}

LayerSpec readLayer(const Fields& layer) {
  const Fields attention = layer.fields("attention");
  const Fields mlp = layer.fields("mlp");
  LayerSpec read;
  read.attention.heads = attention.int32("heads");
  read.attention.kvHeads = attention.int32("kvHeads");
  read.attention.headDim = attention.int32("headDim");
  read.attention.scale = static_cast<float>(attention.number("scale"));
  read.attention.window = attention.int32("window");
  read.attention.rope = attention.int32("rope");
  read.attention.qkvBias = attention.flag("qkvBias");
  read.attention.outputBias = attention.flag("outputBias");
  read.attention.queryKeyNorm = attention.flag("queryKeyNorm");
  read.mlp.intermediateSize = mlp.int32("intermediateSize");
  read.mlp.bias = mlp.flag("bias");
  return read;
}

std::vector<int64_t> readShape(const Fields& tensor) {
  std::vector<int64_t> read;
  const Napi::Array shape = tensor.list("shape");
  for (uint32_t axis = 0; axis < shape.Length(); ++axis) {
    const Napi::Value extent = shape.Get(axis);
    const bool whole = extent.IsNumber() && extent.As<Napi::Number>().DoubleValue() ==
                                                static_cast<double>(extent.As<Napi::Number>().Int64Value());
    if (!whole) refuse(tensor.path("shape"), extent, "an array of whole numbers");
    read.push_back(extent.As<Napi::Number>().Int64Value());
  }
  return read;
}

StoredTensor readTensor(const Fields& tensor, DType dtype) {
  return {tensor.int32("file"), tensor.size("offset"), tensor.size("bytes"), dtype, readShape(tensor)};
}

std::optional<StoredTensor> readOptionalTensor(const Fields& owner, const char* name) {
  if (!owner.has(name)) return std::nullopt;
  const Fields tensor = owner.fields(name);
  return readTensor(tensor, tensor.dtype("dtype"));
}

StoredLayout readLayout(const Fields& source) {
  const std::string name = source.text("layout");
  for (const StoredLayout layout : {StoredLayout::kGptq, StoredLayout::kAwq, StoredLayout::kRows}) {
    if (name == storedLayoutName(layout)) return layout;
  }
  source.refuse("layout", "gptq, awq or rows");
}

QuantizedSource readSource(const Fields& source) {
  QuantizedSource read;
  read.layout = readLayout(source);
  read.codeType = parseCodeType(source.text("codeType").c_str());
  read.rows = source.int32("rows");
  read.columns = source.int32("columns");
  read.groupRows = source.int32("groupRows");
  read.groupColumns = source.int32("groupColumns");
  read.zeroOffset = source.int32("zeroOffset");
  const Fields activations = source.fields("activations");
  read.activations.scaling = parseActivationScaling(activations.text("scaling").c_str());
  read.activations.group = activations.int32("group");
  const Fields scales = source.fields("scales");
  read.scales = readTensor(scales, scales.dtype("dtype"));
  read.zeros = readOptionalTensor(source, "zeros");
  read.groupIndex = readOptionalTensor(source, "groupIndex");
  read.inputScale = readOptionalTensor(source, "inputScale");
  read.shape = readOptionalTensor(source, "storedShape");
  return read;
}

WeightPart readPart(const Fields& part) {
  WeightPart read;
  const bool isQuantized = part.has("quantized");
  static_cast<StoredTensor&>(read) = readTensor(part, isQuantized ? part.dtype("dtype") : part.floatDType("dtype"));
  if (isQuantized) read.quantized = readSource(part.fields("quantized"));
  return read;
}

}  // namespace

ModelSpec readModelSpec(const Fields& spec) {
  ModelSpec read;
  read.family = spec.text("family");
  read.vocabularySize = spec.int32("vocabularySize");
  read.sampledVocabulary = spec.int32("sampledVocabulary");
  read.hiddenSize = spec.int32("hiddenSize");
  read.contextLength = spec.int32("contextLength");
  read.normEpsilon = static_cast<float>(spec.number("normEpsilon"));
  read.tiedEmbeddings = spec.flag("tiedEmbeddings");
  for (const Fields& rope : spec.fieldsList("ropes")) read.ropes.push_back(readRope(rope));
  for (const Fields& layer : spec.fieldsList("layers")) read.layers.push_back(readLayer(layer));
  return read;
}

WeightManifest readWeightManifest(const Fields& manifest) {
  WeightManifest read;
  const Napi::Array files = manifest.list("files");
  for (uint32_t index = 0; index < files.Length(); ++index) {
    read.files.push_back(readFilePath(files.Get(index), manifest.path("files") + "[" + std::to_string(index) + "]"));
  }
  if (manifest.has("dummySeed")) read.dummySeed = manifest.size("dummySeed");
  for (const Fields& entry : manifest.fieldsList("entries")) {
    WeightEntry& added = read.entries.emplace_back();
    added.name = entry.text("name");
    for (const Fields& part : entry.fieldsList("parts")) added.parts.push_back(readPart(part));
  }
  return read;
}

}  // namespace octavo
