#include "binding/model_arguments.h"

namespace octavo {

namespace {

RopeSpec readRope(const ArgumentReader& rope) {
  const Napi::Value given = rope.value("inverseFrequencies");
  if (!given.IsTypedArray() || given.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
    ArgumentReader::refuse(rope.path("inverseFrequencies"), "a Float32Array", given);
  }
  const auto frequencies = given.As<Napi::Float32Array>();
  RopeSpec read;
  read.inverseFrequencies.assign(frequencies.Data(), frequencies.Data() + frequencies.ElementLength());
  read.magnitude = static_cast<float>(rope.number("magnitude"));
  return read;
}

LayerSpec readLayer(const ArgumentReader& layer) {
  const ArgumentReader attention = layer.object("attention");
  const ArgumentReader mlp = layer.object("mlp");
  LayerSpec read;
  read.attention.heads = attention.int32("heads");
  read.attention.kvHeads = attention.int32("kvHeads");
  read.attention.headDim = attention.int32("headDim");
  read.attention.scale = static_cast<float>(attention.number("scale"));
  read.attention.window = attention.int32("window");
  read.attention.rope = attention.int32("rope");
  read.attention.qkvBias = attention.boolean("qkvBias");
  read.attention.outputBias = attention.boolean("outputBias");
  read.attention.queryKeyNorm = attention.boolean("queryKeyNorm");
  read.mlp.intermediateSize = mlp.int32("intermediateSize");
  read.mlp.bias = mlp.boolean("bias");
  return read;
}

WeightPart readPart(const ArgumentReader& part) {
  WeightPart read;
  read.file = part.int32("file");
  read.offset = part.size("offset");
  read.bytes = part.size("bytes");
  read.dtype = part.floatType("dtype");
  const Napi::Array shape = part.array("shape");
  for (uint32_t axis = 0; axis < shape.Length(); ++axis) {
    const Napi::Value extent = shape.Get(axis);
    const bool whole = extent.IsNumber() && extent.As<Napi::Number>().DoubleValue() ==
                                                static_cast<double>(extent.As<Napi::Number>().Int64Value());
    if (!whole) ArgumentReader::refuse(part.path("shape"), "an array of whole numbers", extent);
    read.shape.push_back(extent.As<Napi::Number>().Int64Value());
  }
  return read;
}

}  // namespace

ModelSpec readModelSpec(const ArgumentReader& spec) {
  ModelSpec read;
  read.family = spec.string("family");
  read.vocabularySize = spec.int32("vocabularySize");
  read.sampledVocabulary = spec.int32("sampledVocabulary");
  read.hiddenSize = spec.int32("hiddenSize");
  read.contextLength = spec.int32("contextLength");
  read.normEpsilon = static_cast<float>(spec.number("normEpsilon"));
  read.tiedEmbeddings = spec.boolean("tiedEmbeddings");
  const uint32_t ropes = spec.array("ropes").Length();
  for (uint32_t index = 0; index < ropes; ++index) read.ropes.push_back(readRope(spec.element("ropes", index)));
  const uint32_t layers = spec.array("layers").Length();
  for (uint32_t index = 0; index < layers; ++index) read.layers.push_back(readLayer(spec.element("layers", index)));
  return read;
}

WeightManifest readWeightManifest(const ArgumentReader& manifest) {
  WeightManifest read;
  const Napi::Array files = manifest.array("files");
  for (uint32_t index = 0; index < files.Length(); ++index) {
    const Napi::Value path = files.Get(index);
    if (!path.IsString()) ArgumentReader::refuse(manifest.path("files"), "an array of strings", path);
    read.files.push_back(path.As<Napi::String>());
  }
  const uint32_t entries = manifest.array("entries").Length();
  read.entries.reserve(entries);
  for (uint32_t index = 0; index < entries; ++index) {
    const ArgumentReader entry = manifest.element("entries", index);
    const uint32_t parts = entry.array("parts").Length();
    WeightEntry& added = read.entries.emplace_back();
    added.name = entry.string("name");
    for (uint32_t part = 0; part < parts; ++part) added.parts.push_back(readPart(entry.element("parts", part)));
  }
  return read;
}

}  // namespace octavo
