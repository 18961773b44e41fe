// Devices and buffers of the low-level SDK: open, close, allocate, copy, report.
#include <cstring>

#include "base/error.h"
#include "binding/addon_data.h"
#include "binding/device_values.h"
#include "binding/errors.h"
#include "binding/memory_values.h"
#include "binding/ops_binding.h"

namespace octavo {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 52;

using TableFunction = Napi::Value (*)(Napi::Env env, OpsTable& table, const Fields& fields);

Handle readHandle(const Fields& fields, const char* name) { return fields.integer(name, 0, kMaxBytes); }

Napi::Value open(Napi::Env env, OpsTable& table, const Fields& fields) {
  const Handle handle = table.open(fields.text("id"), static_cast<int>(fields.integer("threads", 0, 1024)));
  return Napi::Number::New(env, static_cast<double>(handle));
}

Napi::Value close(Napi::Env env, OpsTable& table, const Fields& fields) {
  return Napi::Boolean::New(env, table.close(readHandle(fields, "device")));
}

Napi::Value deviceInfo(Napi::Env env, OpsTable& table, const Fields& fields) {
  return toValue(env, table.device(readHandle(fields, "device")).device().info());
}

Napi::Value deviceMemoryUse(Napi::Env env, OpsTable& table, const Fields& fields) {
  return toValue(env, table.device(readHandle(fields, "device")).device().memoryUse());
}

Napi::Value deviceLedger(Napi::Env env, OpsTable& table, const Fields& fields) {
  const OpenDevice& device = table.device(readHandle(fields, "device"));
  DeviceAllocator& allocator = *device.allocator;
  allocator.check();
  device.workspace->check();
  const std::vector<LedgerLine> lines = allocator.ledger().lines();
  Napi::Array list = Napi::Array::New(env, lines.size());
  for (size_t i = 0; i < lines.size(); ++i) list.Set(static_cast<uint32_t>(i), toValue(env, lines[i]));
  return list;
}

Napi::Value deviceWorkspace(Napi::Env env, OpsTable& table, const Fields& fields) {
  const MemoryStatistics statistics = table.device(readHandle(fields, "device")).workspace->statistics();
  Napi::Object value = Napi::Object::New(env);
  value.Set("statistics", toValue(env, statistics));
  value.Set("fragmentation", toValue(env, fragmentationOf(statistics)));
  return value;
}

Napi::Value synchronize(Napi::Env env, OpsTable& table, const Fields& fields) {
  table.device(readHandle(fields, "device")).stream->synchronize();
  return env.Undefined();
}

Napi::Value createBuffer(Napi::Env env, OpsTable& table, const Fields& fields) {
  const auto bytes = static_cast<size_t>(fields.integer("bytes", 1, kMaxBytes));
  const Handle handle = table.createBuffer(readHandle(fields, "device"), bytes, fields.text("tag"));
  return Napi::Number::New(env, static_cast<double>(handle));
}

Napi::Value destroyBuffer(Napi::Env env, OpsTable& table, const Fields& fields) {
  return Napi::Boolean::New(env, table.destroyBuffer(readHandle(fields, "buffer")));
}

/** [offset, offset + bytes) of a buffer. */
struct Range {
  const Buffer& buffer;
  char* data;

  Range(const OpsTable& table, const Fields& fields, size_t bytes) : buffer(table.buffer(readHandle(fields, "buffer"))) {
    const auto offset = static_cast<size_t>(fields.integer("offset", 0, kMaxBytes));
    if (offset > buffer.bytes || bytes > buffer.bytes - offset) {
      throw Error(ErrorCode::kInvalidArgument, std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
          " on do not lie in a buffer of " + std::to_string(buffer.bytes) + " bytes");
    }
    data = static_cast<char*>(buffer.memory.data()) + offset;
  }

  Device& device() const { return buffer.device->device(); }
  Stream& stream() const { return *buffer.device->stream; }
};

Napi::Uint8Array readBytes(const Fields& fields) {
  const Napi::Value value = fields.get("bytes");
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    fields.refuse("bytes", "a Uint8Array");
  }
  return value.As<Napi::Uint8Array>();
}

Napi::Value writeBuffer(Napi::Env env, OpsTable& table, const Fields& fields) {
  const Napi::Uint8Array bytes = readBytes(fields);
  const Range range(table, fields, bytes.ByteLength());
  range.device().copy(range.data, bytes.Data(), bytes.ByteLength(), CopyKind::kHostToDevice, range.stream());
  range.stream().synchronize();
  return env.Undefined();
}

Napi::Value readBuffer(Napi::Env env, OpsTable& table, const Fields& fields) {
  Napi::Uint8Array bytes = readBytes(fields);
  const Range range(table, fields, bytes.ByteLength());
  range.device().copy(bytes.Data(), range.data, bytes.ByteLength(), CopyKind::kDeviceToHost, range.stream());
  range.stream().synchronize();
  return env.Undefined();
}

Napi::Value fillBuffer(Napi::Env env, OpsTable& table, const Fields& fields) {
  const auto bytes = static_cast<size_t>(fields.integer("count", 0, kMaxBytes));
  const auto value = static_cast<uint8_t>(fields.integer("value", 0, 255));
  const Range range(table, fields, bytes);
  range.device().fill(range.data, value, bytes, range.stream());
  return env.Undefined();
}

struct NamedFunction {
  const char* name;
  TableFunction function;
};

constexpr NamedFunction kFunctions[] = {
    {"open", open},
    {"close", close},
    {"deviceInfo", deviceInfo},
    {"deviceMemoryUse", deviceMemoryUse},
    {"deviceLedger", deviceLedger},
    {"deviceWorkspace", deviceWorkspace},
    {"synchronize", synchronize},
    {"createBuffer", createBuffer},
    {"destroyBuffer", destroyBuffer},
    {"writeBuffer", writeBuffer},
    {"readBuffer", readBuffer},
    {"fillBuffer", fillBuffer},
};

Napi::Value run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const NamedFunction& called = *static_cast<const NamedFunction*>(info.Data());
    return called.function(env, AddonData::of(env).ops, Fields(info[0], called.name));
  });
}

}  // namespace

void addBufferFunctions(Napi::Env env, Napi::Object ops) {
  for (const NamedFunction& named : kFunctions) {
    ops.Set(named.name, Napi::Function::New(env, run, named.name, const_cast<NamedFunction*>(&named)));
  }
}

}  // namespace octavo
