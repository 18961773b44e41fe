// Streams that work beside their caller, and the ops that read what the host does not know yet.
#pragma once

#include <napi.h>

namespace octavo::testing {

void defineStreamCalls(Napi::Env env, Napi::Object testing);

}  // namespace octavo::testing
