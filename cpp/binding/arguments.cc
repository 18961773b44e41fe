#include "binding/arguments.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/number_text.h"

namespace octavo {

namespace {

constexpr int64_t kLargestSafe = (int64_t{1} << 53) - 1;

std::string quoted(const std::string& text) {
  std::string quotes(1, '"');
  quotes += text;
  quotes += '"';
  return quotes;
}

}  // namespace

std::string describe(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined: return "missing";
    case napi_null: return "null";
    case napi_boolean: return value.As<Napi::Boolean>().Value() ? "true" : "false";
    case napi_number: return numberText(value.As<Napi::Number>().DoubleValue());
    case napi_string: return quoted(value.As<Napi::String>().Utf8Value().substr(0, 60));
    case napi_bigint: return "a bigint";
    case napi_function: return "a function";
    case napi_symbol: return "a symbol";
    case napi_external: return "an external";
    case napi_object: return value.IsArray() ? "an array" : value.IsTypedArray() ? "a typed array" : "an object";
  }
  return "unknown";
}

void refuse(const std::string& path, const Napi::Value& given, const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument, path + " is " + describe(given) + ": expected " + expected);
}

std::string readFilePath(const Napi::Value& value, const std::string& name) {
  if (!value.IsString()) refuse(name, value, "the path of a file");
  std::string read = value.As<Napi::String>().Utf8Value();
  const size_t nul = read.find('\0');
  if (nul == std::string::npos) return read;
  throw Error(ErrorCode::kInvalidArgument, name + " has a NUL at byte " + std::to_string(nul) + " of " +
                                               std::to_string(read.size()) + ": expected the path of a file");
}

Fields::Fields(const Napi::Value& value, std::string path) : path_(std::move(path)) {
  if (!value.IsObject()) octavo::refuse(path_, value, "an object");
  object_ = value.As<Napi::Object>();
}

void Fields::refuse(const char* name, const std::string& expected) const {
  octavo::refuse(path(name), get(name), expected);
}

Napi::Value Fields::get(const char* name) const { return object_.Get(name); }

bool Fields::has(const char* name) const {
  const Napi::Value value = get(name);
  return !value.IsUndefined() && !value.IsNull();
}

Fields Fields::fields(const char* name) const { return Fields(get(name), path(name)); }

Napi::Array Fields::list(const char* name) const {
  const Napi::Value value = get(name);
  if (!value.IsArray()) refuse(name, "an array");
  return value.As<Napi::Array>();
}

std::vector<Fields> Fields::fieldsList(const char* name) const {
  const Napi::Array given = list(name);
  std::vector<Fields> read;
  for (uint32_t index = 0; index < given.Length(); ++index) {
    read.emplace_back(given.Get(index), path(name) + "[" + std::to_string(index) + "]");
  }
  return read;
}

std::string Fields::text(const char* name) const {
  const Napi::Value value = get(name);
  if (!value.IsString()) refuse(name, "a string");
  return value.As<Napi::String>().Utf8Value();
}

std::string Fields::filePath(const char* name) const { return readFilePath(get(name), path(name)); }

bool Fields::flag(const char* name) const {
  const Napi::Value value = get(name);
  if (!value.IsBoolean()) refuse(name, "true or false");
  return value.As<Napi::Boolean>().Value();
}

int64_t Fields::integer(const char* name, int64_t smallest, int64_t largest) const {
  const Napi::Value value = get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  const bool fits = std::abs(number) <= static_cast<double>(kLargestSafe) && number == std::trunc(number) &&
      static_cast<int64_t>(number) >= smallest && static_cast<int64_t>(number) <= largest;
  if (!fits) refuse(name, "an integer from " + std::to_string(smallest) + " to " + std::to_string(largest));
  return static_cast<int64_t>(number);
}

int32_t Fields::int32(const char* name) const {
  using Limits = std::numeric_limits<int32_t>;
  return static_cast<int32_t>(integer(name, Limits::min(), Limits::max()));
}

uint64_t Fields::size(const char* name) const { return static_cast<uint64_t>(integer(name, 0, kLargestSafe)); }

double Fields::number(const char* name, double smallest, double largest) const {
  const Napi::Value value = get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(std::isfinite(number) && number >= smallest && number <= largest)) {
    refuse(name, "a finite number from " + numberText(smallest) + " to " + numberText(largest));
  }
  return number;
}

double Fields::number(const char* name) const {
  const Napi::Value value = get(name);
  if (!value.IsNumber()) refuse(name, "a number");
  return value.As<Napi::Number>().DoubleValue();
}

uint64_t Fields::bigUint64(const char* name) const {
  const Napi::Value value = get(name);
  bool lossless = false;
  const uint64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Uint64Value(&lossless) : 0;
  if (!lossless) refuse(name, "a bigint from 0n to 2n ** 64n - 1n");
  return number;
}

DType Fields::dtype(const char* name) const {
  try {
    return parseDType(text(name).c_str());
  } catch (const Error& error) {
    throw Error(error.code(), path(name) + ": " + error.what());
  }
}

DType Fields::floatDType(const char* name) const {
  const std::string given = text(name);
  for (const DType known : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (given == dtypeName(known)) return known;
  }
  refuse(name, "fp32, bf16 or fp16");
}

template <typename Array>
Array Fields::typedArray(const char* name, napi_typedarray_type type, const char* expected) const {
  const Napi::Value value = get(name);
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) refuse(name, expected);
  return value.As<Array>();
}

std::vector<int32_t> Fields::int32s(const char* name) const {
  const auto array = typedArray<Napi::Int32Array>(name, napi_int32_array, "an Int32Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<int64_t> Fields::int64s(const char* name) const {
  const auto array = typedArray<Napi::BigInt64Array>(name, napi_bigint64_array, "a BigInt64Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<float> Fields::floats(const char* name) const {
  const auto array = typedArray<Napi::Float32Array>(name, napi_float32_array, "a Float32Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

}  // namespace octavo
