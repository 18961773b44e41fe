#include "binding/errors.h"

namespace octavo {

Napi::Error makeJsError(Napi::Env env, ErrorCode code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, errorCodeName(code)));
  return error;
}

Napi::Error makeJsError(Napi::Env env, std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Napi::Error& error) {
    return error;
  } catch (const Error& error) {
    return makeJsError(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return makeJsError(env, ErrorCode::kOutOfMemory, "the host is out of memory");
  } catch (const std::exception& error) {
    return makeJsError(env, ErrorCode::kInternal, error.what());
  } catch (...) {
    return makeJsError(env, ErrorCode::kInternal, "an unknown exception was thrown");
  }
}

}  // namespace octavo
