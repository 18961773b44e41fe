// Which build this is.
#pragma once

#include <napi.h>

namespace octavo {

/** As package.json has it; lib/native.ts refuses an addon of another version. */
constexpr char kVersion[] = OCTAVO_VERSION;  // of package.json, by the build

/** {cuda, architectures, compiler, sanitizer} */
Napi::Object buildInfo(Napi::Env env);

}  // namespace octavo
