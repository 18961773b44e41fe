#include "binding/build_info.h"

#include "device/device.h"

namespace octavo {

namespace {

#if defined(__clang__)
constexpr char kCompiler[] = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr char kCompiler[] = "gcc " __VERSION__;
#else
constexpr char kCompiler[] = "msvc";
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitizer = true;
#else
constexpr bool kSanitizer = false;
#endif

}  // namespace

Napi::Object buildInfo(Napi::Env env) {
  const CudaStatus status = cudaStatus();
  Napi::Object info = Napi::Object::New(env);
  info.Set("cuda", status.built);
  info.Set("architectures", status.architectures);
  info.Set("compiler", kCompiler);
  info.Set("sanitizer", kSanitizer);
  return info;
}

}  // namespace octavo
