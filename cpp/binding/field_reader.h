// Typed reads of the fields of a JS object; every refusal is a sentence that names the field.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "base/dtype.h"

namespace octavo::binding {

class FieldReader {
 public:
  /** `path`: how messages call the object, "load.spec". Throws kInvalidArgument when `value` is no object. */
  FieldReader(const Napi::Value& value, std::string path);

  bool has(const char* name) const;
  Napi::Value value(const char* name) const;
  FieldReader object(const char* name) const;
  /** The elements of an array, each an object. */
  std::vector<FieldReader> objects(const char* name) const;

  bool boolean(const char* name) const;
  std::string text(const char* name) const;
  std::vector<std::string> texts(const char* name) const;
  /** NaN and infinities pass: their meaning is the runtime's to judge. */
  float number(const char* name) const;
  int32_t integer(const char* name) const;
  /** An integer from 0 to 2⁵³ − 1: bytes, offsets. */
  uint64_t size(const char* name) const;
  /** A bigint from 0 to 2⁶⁴ − 1. */
  uint64_t word(const char* name) const;
  DType dtype(const char* name) const;
  std::vector<int64_t> shape(const char* name) const;
  std::vector<int32_t> int32s(const char* name) const;
  std::vector<float> floats(const char* name) const;

 private:
  [[noreturn]] void refuse(const std::string& field, const char* wanted) const;

  Napi::Object object_;
  std::string path_;
};

/** A whole number from `low` to `high`; throws kInvalidArgument naming `name`. */
double wholeNumber(const Napi::Value& value, const std::string& name, double low, double high);

}  // namespace octavo::binding
