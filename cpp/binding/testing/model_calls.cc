#include "binding/testing/model_calls.h"

#include "binding/model_arguments.h"
#include "binding/testing/handle.h"
#include "model/decoder.h"
#include "ops/attention_scratch.h"

namespace octavo::testing {

namespace {

template <typename Array, typename T>
Array copyOf(Napi::Env env, const std::vector<T>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

Napi::Value validateSpec(const Napi::CallbackInfo& info) {
  readModelSpec({info[0], "spec"}).validate();
  return info.Env().Undefined();
}

Napi::Value parameters(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array all = Napi::Array::New(env);
  for (const ParameterSpec& parameter : parametersOf(readModelSpec({info[0], "spec"}))) {
    Napi::Object object = Napi::Object::New(env);
    Napi::Array shape = Napi::Array::New(env);
    for (const int64_t extent : parameter.shape) shape.Set(shape.Length(), static_cast<double>(extent));
    object.Set("name", parameter.name);
    object.Set("shape", shape);
    all.Set(all.Length(), object);
  }
  return all;
}

Napi::Value validateManifest(const Napi::CallbackInfo& info) {
  readWeightManifest({info[1], "manifest"}).validate(readModelSpec({info[0], "spec"}));
  return info.Env().Undefined();
}

Napi::Value weightBytes(const Napi::CallbackInfo& info) {
  const Fields load(info[0], "load");
  const size_t bytes =
      Weights::plannedBytes(readModelSpec(load.fields("spec")), readWeightManifest(load.fields("manifest")),
                            load.floatDType("dtype"), load.flag("keepFileDType"));
  return Napi::Number::New(info.Env(), static_cast<double>(bytes));
}

Napi::Value decoderBytes(const Napi::CallbackInfo& info) {
  const Fields plan(info[0], "plan");
  const ModelSpec spec = readModelSpec(plan.fields("spec"));
  Napi::Object bytes = Napi::Object::New(info.Env());
  bytes.Set("total", static_cast<double>(Decoder::plannedBytes(spec, plan.floatDType("activations"),
                                                               readLimits(plan.fields("limits")))));
  bytes.Set("constants", static_cast<double>(Decoder::constantBytes(spec)));
  return bytes;
}

Napi::Value attentionScratch(const Napi::CallbackInfo& info) {
  const Fields given(info[0], "attention");
  const AttentionShape shape{given.floatDType("dtype"), given.int32("heads"), given.int32("kvHeads"),
                             given.int32("headDim")};
  const AttentionScratchLayout layout(shape, given.int32("maxSequences"), given.int32("maxContextLength"));
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("headShare", layout.headShare);
  object.Set("shares", layout.shares);
  object.Set("fewHeadShare", layout.fewHeadShare);
  object.Set("fewShares", layout.fewShares);
  object.Set("capacity", layout.capacity);
  object.Set("fewCapacity", layout.fewCapacity);
  object.Set("groupCounters", static_cast<double>(layout.groupCounters));
  object.Set("counterBytes", static_cast<double>(layout.counterBytes));
  object.Set("bytes", static_cast<double>(layout.bytes));
  return object;
}

Napi::Value buildBatch(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const SequenceList list = readSequences(info[0]);
  const Batch batch =
      Batch::build(list.sequences, info[1].As<Napi::Number>().Int32Value(), readLimits({info[2], "limits"}));
  Napi::Object object = Napi::Object::New(env);
  object.Set("tokens", copyOf<Napi::Int32Array>(env, batch.tokens));
  object.Set("positions", copyOf<Napi::Int32Array>(env, batch.positions));
  object.Set("slots", copyOf<Napi::BigInt64Array>(env, batch.slots));
  object.Set("queryStart", copyOf<Napi::Int32Array>(env, batch.queryStart));
  object.Set("contextLength", copyOf<Napi::Int32Array>(env, batch.contextLength));
  object.Set("blockTable", copyOf<Napi::Int32Array>(env, batch.blockTable));
  object.Set("logitRows", copyOf<Napi::Int32Array>(env, batch.logitRows));
  object.Set("tableStride", batch.tableStride);
  object.Set("maxQueryLength", batch.maxQueryLength);
  object.Set("maxContextLength", batch.maxContextLength);
  return object;
}

std::vector<int32_t> readIntegers(const Fields& owner, const char* name) {
  const Napi::Array given = owner.list(name);
  std::vector<int32_t> values;
  for (uint32_t index = 0; index < given.Length(); ++index) {
    values.push_back(given.Get(index).As<Napi::Number>().Int32Value());
  }
  return values;
}

}  // namespace

BatchLimits readLimits(const Fields& limits) {
  return {limits.int32("maxTokens"), limits.int32("maxSequences"), limits.int32("maxBlocksPerSequence"),
          limits.int32("maxLogitRows")};
}

SequenceList readSequences(Napi::Value list) {
  const auto given = list.As<Napi::Array>();
  SequenceList read;
  read.tokens.reserve(given.Length());  // sequences point into it
  read.tables.reserve(given.Length());
  for (uint32_t index = 0; index < given.Length(); ++index) {
    const Fields sequence(given.Get(index), "sequences[" + std::to_string(index) + "]");
    BatchSequence& added = read.sequences.emplace_back();
    added.tokens = read.tokens.emplace_back(readIntegers(sequence, "tokens"));
    added.start = sequence.int32("start");
    if (sequence.has("blocks")) added.blocks = &read.tables.emplace_back(readIntegers(sequence, "blocks"));
    added.everyLogit = sequence.has("everyLogit") && sequence.flag("everyLogit");
    added.noLogit = sequence.has("noLogit") && sequence.flag("noLogit");
  }
  return read;
}

void defineModelCalls(Napi::Env env, Napi::Object testing) {
  testing.Set("validateSpec", Napi::Function::New<call<validateSpec>>(env));
  testing.Set("parametersOf", Napi::Function::New<call<parameters>>(env));
  testing.Set("validateManifest", Napi::Function::New<call<validateManifest>>(env));
  testing.Set("weightBytes", Napi::Function::New<call<weightBytes>>(env));
  testing.Set("decoderBytes", Napi::Function::New<call<decoderBytes>>(env));
  testing.Set("attentionScratch", Napi::Function::New<call<attentionScratch>>(env));
  testing.Set("buildBatch", Napi::Function::New<call<buildBatch>>(env));
}

}  // namespace octavo::testing
