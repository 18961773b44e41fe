// Reading plain JS objects into C++ structures: every value checked, every refusal names its path.
#pragma once

#include <napi.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/dtype.h"

namespace octavo {

/** An object argument and its path for messages: `spec.layers[3].attention`. Throws kInvalidArgument. */
class ArgumentReader {
 public:
  ArgumentReader(Napi::Value value, std::string path);

  int64_t integer(const char* name, int64_t least, int64_t most) const;
  int32_t int32(const char* name) const;
  /** A whole number of at most 53 bits. */
  uint64_t size(const char* name) const;
  double number(const char* name) const;
  bool boolean(const char* name) const;
  std::string string(const char* name) const;
  /** `fp32`, `bf16` or `fp16`. */
  DType floatType(const char* name) const;
  Napi::Value value(const char* name) const { return object_.Get(name); }
  bool has(const char* name) const;

  ArgumentReader object(const char* name) const;
  Napi::Array array(const char* name) const;
  /** `path.name[index]` */
  ArgumentReader element(const char* name, uint32_t index) const;
  std::string path(const char* name) const { return path_ + "." + name; }

  [[noreturn]] static void refuse(const std::string& path, const std::string& expected, Napi::Value given);

 private:
  Napi::Object object_;
  std::string path_;
};

}  // namespace octavo
