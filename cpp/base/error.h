// The one exception type of the runtime. The binding turns it into an OctavoError with the same code.
#pragma once

#include <stdexcept>
#include <string>

namespace octavo {

/** Why a call was refused. Names are API: `errorCodeName` gives the string users match on. */
enum class ErrorCode {
  kInvalidArgument,     // a value outside what the call accepts
  kCheckpointInvalid,   // a file is broken: header, offsets, JSON
  kCheckpointMismatch,  // a tensor is missing, unexpected or of another shape
  kUnsupportedModel,    // architecture, rope type, dtype or quantisation we do not run
  kNoCudaBuild,         // this addon was built without CUDA
  kNoDriver,            // no NVIDIA driver on this machine
  kNoDevice,            // a driver, but no such device
  kKernelsUnavailable,  // the device or driver cannot run the kernels in this build
  kOutOfMemory,         // a limit or the device is exhausted
  kContextExceeded,     // prompt (+ new tokens) longer than the model's context
  kRequestTooLarge,     // can never fit the KV pool, even alone
  kSessionBusy,         // the session already runs a request
  kQuotaExceeded,       // more than the session's quota can ever hold
  kTimedOut,            // a stage of the request took longer than it may
  kLeaseExpired,        // the session was not heard of for too long
  kDisposed,            // the engine or session was disposed
  kCancelled,           // the caller aborted a load
  kIoFailed,            // reading a file failed
  kDeviceFailed,        // the device reported an error
  kInternal,            // an invariant of octavo is broken: a bug
};

/** `OCTAVO_OUT_OF_MEMORY` and so on. */
const char* errorCodeName(ErrorCode code);

/** A refusal: a stable code and a sentence with the numbers on both sides and what to do. */
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace octavo
