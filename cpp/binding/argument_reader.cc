#include "binding/argument_reader.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace octavo {

namespace {

constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

std::string quoted(std::string text) {
  text.insert(0, 1, '\'');
  text.push_back('\'');
  return text;
}

/** A short form of what was given; never runs user code. */
std::string describe(Napi::Value value) {
  switch (value.Type()) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return value.As<Napi::Boolean>() ? "true" : "false";
    case napi_number: return value.ToString().Utf8Value();
    case napi_string: return quoted(value.As<Napi::String>().Utf8Value().substr(0, 60));
    case napi_function: return "a function";
    default: return value.IsArray() ? "an array" : "an object";
  }
}

}  // namespace

ArgumentReader::ArgumentReader(Napi::Value value, std::string path) : path_(std::move(path)) {
  if (!value.IsObject()) refuse(path_, "an object", value);
  object_ = value.As<Napi::Object>();
}

void ArgumentReader::refuse(const std::string& path, const std::string& expected, Napi::Value given) {
  throw Error(ErrorCode::kInvalidArgument, path + " must be " + expected + ", not " + describe(given));
}

bool ArgumentReader::has(const char* name) const {
  const Napi::Value found = value(name);
  return !found.IsUndefined() && !found.IsNull();
}

int64_t ArgumentReader::integer(const char* name, int64_t least, int64_t most) const {
  const Napi::Value given = value(name);
  const double number = given.IsNumber() ? given.As<Napi::Number>().DoubleValue() : std::nan("");
  if (number >= static_cast<double>(least) && number <= static_cast<double>(most) && std::trunc(number) == number) {
    return static_cast<int64_t>(number);
  }
  refuse(path(name), "a whole number from " + std::to_string(least) + " to " + std::to_string(most), given);
}

int32_t ArgumentReader::int32(const char* name) const {
  using Limits = std::numeric_limits<int32_t>;
  return static_cast<int32_t>(integer(name, Limits::min(), Limits::max()));
}

uint64_t ArgumentReader::size(const char* name) const {
  return static_cast<uint64_t>(integer(name, 0, kMaxSafeInteger));
}

double ArgumentReader::number(const char* name) const {
  const Napi::Value given = value(name);
  if (!given.IsNumber()) refuse(path(name), "a number", given);
  return given.As<Napi::Number>().DoubleValue();
}

bool ArgumentReader::boolean(const char* name) const {
  const Napi::Value given = value(name);
  if (!given.IsBoolean()) refuse(path(name), "true or false", given);
  return given.As<Napi::Boolean>();
}

std::string ArgumentReader::string(const char* name) const {
  const Napi::Value given = value(name);
  if (!given.IsString()) refuse(path(name), "a string", given);
  return given.As<Napi::String>();
}

DType ArgumentReader::floatType(const char* name) const {
  const Napi::Value given = value(name);
  const std::string text = given.IsString() ? given.As<Napi::String>().Utf8Value() : "";
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (text == dtypeName(dtype)) return dtype;
  }
  refuse(path(name), "'fp32', 'bf16' or 'fp16'", given);
}

ArgumentReader ArgumentReader::object(const char* name) const { return {value(name), path(name)}; }

Napi::Array ArgumentReader::array(const char* name) const {
  const Napi::Value given = value(name);
  if (!given.IsArray()) refuse(path(name), "an array", given);
  return given.As<Napi::Array>();
}

ArgumentReader ArgumentReader::element(const char* name, uint32_t index) const {
  return {array(name).Get(index), path(name) + "[" + std::to_string(index) + "]"};
}

}  // namespace octavo
