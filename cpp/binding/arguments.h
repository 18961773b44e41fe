// Reading JavaScript arguments: every refusal is a sentence that names the field and what it holds.
#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace octavo {

/** The fields of one plain object. All readers throw kInvalidArgument. */
class Fields {
 public:
  /** `path` is what the caller calls the object: "linear.x". Throws when `value` is no object. */
  Fields(const Napi::Value& value, std::string path);

  const std::string& path() const { return path_; }
  std::string path(const char* name) const { return path_ + "." + name; }
  bool has(const char* name) const;  // present and neither undefined nor null
  Napi::Value get(const char* name) const;

  Fields fields(const char* name) const;
  Napi::Array list(const char* name) const;
  /** A list of objects; their paths are `path.name[index]`. */
  std::vector<Fields> fieldsList(const char* name) const;
  std::string text(const char* name) const;
  /** See readFilePath. */
  std::string filePath(const char* name) const;
  bool flag(const char* name) const;
  int64_t integer(const char* name, int64_t smallest, int64_t largest) const;
  int32_t int32(const char* name) const;
  /** Bytes, offsets: from 0 to 2⁵³ − 1. */
  uint64_t size(const char* name) const;
  /** Finite, and within the bounds. */
  double number(const char* name, double smallest, double largest) const;
  /** NaN and infinities pass: their meaning is the runtime's to judge. */
  double number(const char* name) const;
  uint64_t bigUint64(const char* name) const;
  DType dtype(const char* name) const;
  DType floatDType(const char* name) const;

  /** Copies: what is checked is what is used, whatever other threads do to the caller's array. */
  std::vector<int32_t> int32s(const char* name) const;
  std::vector<int64_t> int64s(const char* name) const;
  std::vector<float> floats(const char* name) const;

  [[noreturn]] void refuse(const char* name, const std::string& expected) const;

 private:
  template <typename Array>
  Array typedArray(const char* name, napi_typedarray_type type, const char* expected) const;

  Napi::Object object_;
  std::string path_;
};

/** "path is GIVEN: expected EXPECTED", as kInvalidArgument. */
[[noreturn]] void refuse(const std::string& path, const Napi::Value& given, const std::string& expected);

/** A string that becomes a path of the system, where a NUL would end it early. `name` is what the caller calls it. */
std::string readFilePath(const Napi::Value& value, const std::string& name);

/** A short rendering of any value for an error sentence; runs no JavaScript. */
std::string describe(const Napi::Value& value);

}  // namespace octavo
