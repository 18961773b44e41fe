#include "binding/field_reader.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace octavo::binding {

namespace {

constexpr double kLargestSafe = 9007199254740991;  // 2⁵³ − 1

std::string show(const Napi::Value& value) {
  if (value.IsNumber()) return value.ToString().Utf8Value();
  if (value.IsString()) return "\"" + value.As<Napi::String>().Utf8Value().substr(0, 80) + "\"";
  if (value.IsUndefined()) return "undefined";
  if (value.IsNull()) return "null";
  if (value.IsArray()) return "an array";
  if (value.IsFunction()) return "a function";
  if (value.IsTypedArray()) return "a typed array";
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value() ? "true" : "false";
  return value.IsBigInt() ? "a bigint" : "an object";
}

[[noreturn]] void refuseValue(const std::string& name, const Napi::Value& value, const std::string& wanted) {
  throw Error(ErrorCode::kInvalidArgument, name + " is " + show(value) + "; give " + wanted);
}

template <typename Array>
std::vector<typename std::remove_pointer_t<decltype(std::declval<Array>().Data())>> copyOf(const Array& array) {
  return {array.Data(), array.Data() + array.ElementLength()};
}

}  // namespace

double wholeNumber(const Napi::Value& value, const std::string& name, double low, double high) {
  if (value.IsNumber()) {
    const double number = value.As<Napi::Number>().DoubleValue();
    if (number >= low && number <= high && std::floor(number) == number) return number;
  }
  char wanted[80];
  std::snprintf(wanted, sizeof wanted, "a whole number from %.0f to %.0f", low, high);
  refuseValue(name, value, wanted);
}

FieldReader::FieldReader(const Napi::Value& value, std::string path) : path_(std::move(path)) {
  if (!value.IsObject()) refuseValue(path_, value, "an object");
  object_ = value.As<Napi::Object>();
}

void FieldReader::refuse(const std::string& field, const char* wanted) const {
  refuseValue(path_ + "." + field, object_.Get(field), wanted);
}

bool FieldReader::has(const char* name) const { return !value(name).IsUndefined(); }

Napi::Value FieldReader::value(const char* name) const { return object_.Get(name); }

FieldReader FieldReader::object(const char* name) const { return {value(name), path_ + "." + name}; }

std::vector<FieldReader> FieldReader::objects(const char* name) const {
  const Napi::Value list = value(name);
  if (!list.IsArray()) refuse(name, "an array");
  const auto array = list.As<Napi::Array>();
  std::vector<FieldReader> readers;
  for (uint32_t index = 0; index < array.Length(); ++index) {
    readers.emplace_back(array.Get(index), path_ + "." + name + "[" + std::to_string(index) + "]");
  }
  return readers;
}

bool FieldReader::boolean(const char* name) const {
  const Napi::Value field = value(name);
  if (!field.IsBoolean()) refuse(name, "true or false");
  return field.As<Napi::Boolean>().Value();
}

std::string FieldReader::text(const char* name) const {
  const Napi::Value field = value(name);
  if (!field.IsString()) refuse(name, "a string");
  return field.As<Napi::String>().Utf8Value();
}

std::vector<std::string> FieldReader::texts(const char* name) const {
  const Napi::Value list = value(name);
  if (!list.IsArray()) refuse(name, "an array of strings");
  const auto array = list.As<Napi::Array>();
  std::vector<std::string> texts;
  for (uint32_t index = 0; index < array.Length(); ++index) {
    const Napi::Value element = array.Get(index);
    if (!element.IsString()) refuse(name, "an array of strings");
    texts.push_back(element.As<Napi::String>().Utf8Value());
  }
  return texts;
}

float FieldReader::number(const char* name) const {
  const Napi::Value field = value(name);
  if (!field.IsNumber()) refuse(name, "a number");
  return field.As<Napi::Number>().FloatValue();
}

int32_t FieldReader::integer(const char* name) const {
  using Limits = std::numeric_limits<int32_t>;
  return static_cast<int32_t>(wholeNumber(value(name), path_ + "." + name, Limits::min(), Limits::max()));
}

uint64_t FieldReader::size(const char* name) const {
  return static_cast<uint64_t>(wholeNumber(value(name), path_ + "." + name, 0, kLargestSafe));
}

uint64_t FieldReader::word(const char* name) const {
  const Napi::Value field = value(name);
  bool lossless = false;
  const uint64_t word = field.IsBigInt() ? field.As<Napi::BigInt>().Uint64Value(&lossless) : 0;
  if (!lossless) refuse(name, "a bigint from 0n to 2n ** 64n - 1n");
  return word;
}

DType FieldReader::dtype(const char* name) const {
  const std::string dtype = text(name);
  for (const DType known : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (dtype == dtypeName(known)) return known;
  }
  refuse(name, "\"fp32\", \"bf16\" or \"fp16\"");
}

std::vector<int64_t> FieldReader::shape(const char* name) const {
  const Napi::Value list = value(name);
  if (!list.IsArray()) refuse(name, "an array of whole numbers");
  const auto array = list.As<Napi::Array>();
  std::vector<int64_t> shape;
  for (uint32_t index = 0; index < array.Length(); ++index) {
    const std::string element = path_ + "." + name + "[" + std::to_string(index) + "]";
    shape.push_back(static_cast<int64_t>(wholeNumber(array.Get(index), element, 0, kLargestSafe)));
  }
  return shape;
}

std::vector<int32_t> FieldReader::int32s(const char* name) const {
  const Napi::Value field = value(name);
  const bool fits = field.IsTypedArray() && field.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array;
  if (!fits) refuse(name, "an Int32Array");
  return copyOf(field.As<Napi::Int32Array>());
}

std::vector<float> FieldReader::floats(const char* name) const {
  const Napi::Value field = value(name);
  const bool fits = field.IsTypedArray() && field.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
  if (!fits) refuse(name, "a Float32Array");
  return copyOf(field.As<Napi::Float32Array>());
}

}  // namespace octavo::binding
