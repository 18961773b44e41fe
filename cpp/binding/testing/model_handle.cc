#include "binding/testing/model_handle.h"

#include <algorithm>

#include "binding/model_arguments.h"
#include "binding/testing/memory_handle.h"
#include "binding/testing/model_calls.h"

namespace octavo::testing {

namespace {

float toFloat(const char* at, DType dtype) {
  if (dtype == DType::kF32) return *reinterpret_cast<const float*>(at);
  const uint16_t bits = *reinterpret_cast<const uint16_t*>(at);
  return dtype == DType::kBF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

StreamOptions readStream(const Fields& load) {
  StreamOptions options;
  if (load.has("ringLimit")) options.ringLimit = load.size("ringLimit");
  if (load.has("dropBehind")) options.dropBehind = load.flag("dropBehind");
  if (load.has("mapFiles")) options.mapFiles = load.flag("mapFiles");
  if (load.has("failChunk")) options.failChunk = load.size("failChunk");
  return options;
}

/** Device memory as fp32 on the host. */
Napi::Float32Array fetch(Napi::Env env, Device& device, Stream& stream, const void* from, DType dtype, size_t count) {
  std::vector<char> bytes(count * dtypeBytes(dtype));
  device.copy(bytes.data(), from, bytes.size(), CopyKind::kDeviceToHost, stream);
  stream.synchronize();
  Napi::Float32Array values = Napi::Float32Array::New(env, count);
  for (size_t index = 0; index < count; ++index) {
    values[index] = toFloat(bytes.data() + index * dtypeBytes(dtype), dtype);
  }
  return values;
}

bool isCoded(const LinearWeight& weight) {
  return std::any_of(weight.pieces.begin(), weight.pieces.end(), [](const LinearPiece& p) { return p.isQuantized(); });
}

}  // namespace

Napi::Function ModelHandle::define(Napi::Env env) {
  using M = ModelHandle;
  return DefineClass(env, "Model",
                     {
                         method<&M::read>("read"),
                         method<&M::openDecoder>("openDecoder"),
                         method<&M::forward>("forward"),
                         method<&M::dispose>("dispose"),
                     });
}

ModelHandle::ModelHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    DeviceAllocator& allocator = MemoryHandle::Unwrap(info[0].As<Napi::Object>())->allocator();
    const Fields load(info[1], "load");
    std::atomic<bool> cancelled{load.has("cancelled") && load.flag("cancelled")};
    const auto progress = [&](LoadProgress at) {
      if (!load.has("onProgress")) return;
      const Napi::Value stop = load.get("onProgress").As<Napi::Function>().Call(
          {Napi::Number::New(info.Env(), static_cast<double>(at.doneBytes)),
           Napi::Number::New(info.Env(), static_cast<double>(at.totalBytes))});
      if (stop.IsBoolean() && stop.As<Napi::Boolean>()) cancelled = true;
    };
    ModelSpec spec = readModelSpec(load.fields("spec"));
    spec.validate();
    Weights weights = Weights::load(allocator, spec, readWeightManifest(load.fields("manifest")),
                                    load.floatDType("dtype"), load.flag("keepFileDType"), progress, cancelled,
                                    readStream(load));
    loaded_ = std::make_unique<Loaded>();
    loaded_->allocator = allocator.shared_from_this();
    loaded_->spec = std::move(spec);
    loaded_->weights = std::move(weights);
    loaded_->stream = allocator.device().createStream();
  });
}

ModelHandle::Loaded& ModelHandle::loaded() {
  if (!loaded_) throw Error(ErrorCode::kDisposed, "the model was disposed");
  return *loaded_;
}

/** The numbers of a parameter that has codes, as fp32. */
Napi::Value ModelHandle::readCodes(Napi::Env env, const std::string& name, const ParameterSpec& parameter) {
  Loaded& model = loaded();
  const int64_t columns = parameter.shape[1];
  const auto count = static_cast<size_t>(parameter.shape[0] * columns);
  const Allocation numbers =
      model.allocator->allocate(Region::kWorkspace, count * sizeof(float), {OwnerKind::kEngine, 0}, "numbers");
  Device& device = model.allocator->device();
  for (const LinearPiece& piece : model.weights.linear(name).pieces) {
    float* const to = static_cast<float*>(numbers.data()) + piece.firstRow * columns;
    if (piece.isQuantized()) {
      device.ops().dequantize({to, DType::kF32, piece.rows(), columns, columns}, piece.quantized, *model.stream);
    } else {
      device.ops().convert(to, DType::kF32, piece.dense.data, piece.dense.dtype, piece.rows() * columns, *model.stream);
    }
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("dtype", "codes");
  object.Set("pieces", static_cast<double>(model.weights.linear(name).pieces.size()));
  object.Set("values", fetch(env, device, *model.stream, numbers.data(), DType::kF32, count));
  return object;
}

/** read(name) → { dtype, values } */
Napi::Value ModelHandle::read(const Napi::CallbackInfo& info) {
  Loaded& model = loaded();
  const std::string name = info[0].As<Napi::String>();
  const void* data = nullptr;
  DType dtype = DType::kF32;
  size_t count = 0;
  for (const ParameterSpec& parameter : parametersOf(model.spec)) {
    if (parameter.name != name) continue;
    if (parameter.shape.size() == 2 && isCoded(model.weights.linear(name))) {
      return readCodes(info.Env(), name, parameter);
    }
    const bool isMatrix = parameter.shape.size() == 2;
    const Matrix matrix = isMatrix ? model.weights.matrix(name) : Matrix{};
    const Vector vector = isMatrix ? Vector{} : model.weights.vector(name);
    data = isMatrix ? matrix.data : vector.data;
    dtype = isMatrix ? matrix.dtype : vector.dtype;
    count = static_cast<size_t>(isMatrix ? matrix.rows * matrix.columns : vector.size);
  }
  if (!data) throw Error(ErrorCode::kInvalidArgument, "no parameter " + name);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("dtype", dtypeName(dtype));
  object.Set("values", fetch(info.Env(), model.allocator->device(), *model.stream, data, dtype, count));
  return object;
}

/** openDecoder({ activations, kvDType, blockSize, blocks, limits }) */
Napi::Value ModelHandle::openDecoder(const Napi::CallbackInfo& info) {
  Loaded& model = loaded();
  const Fields options(info[0], "options");
  const AttentionSpec& attention = model.spec.layers.front().attention;
  const KvCacheShape shape{options.dtype("kvDType"), static_cast<int32_t>(model.spec.layers.size()),
                           attention.kvHeads, options.int32("blockSize"), attention.headDim};
  model.limits = readLimits(options.fields("limits"));
  model.decoder = std::make_unique<Decoder>(*model.allocator, model.spec, model.weights,
                                            options.floatDType("activations"), model.limits);
  model.cache = std::make_unique<KvCache>(*model.allocator, shape, options.int32("blocks"),
                                          false);  // the tests name blocks that nobody took
  return info.Env().Undefined();
}

/** forward(sequences) → fp32 logits of the wanted rows, end to end */
Napi::Value ModelHandle::forward(const Napi::CallbackInfo& info) {
  Loaded& model = loaded();
  if (!model.cache) throw Error(ErrorCode::kInvalidArgument, "open the decoder first");
  const SequenceList list = readSequences(info[0]);
  const Batch batch = Batch::build(list.sequences, model.cache->shape().blockSize, model.limits);
  const Matrix logits = model.decoder->forward(batch, model.cache->view(), *model.stream);
  return fetch(info.Env(), model.allocator->device(), *model.stream, logits.data, logits.dtype,
               static_cast<size_t>(logits.rows * logits.columns));
}

Napi::Value ModelHandle::dispose(const Napi::CallbackInfo& info) {
  loaded_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
