#include "base/error.h"

namespace octavo {

const char* errorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "OCTAVO_INVALID_ARGUMENT";
    case ErrorCode::kCheckpointInvalid: return "OCTAVO_CHECKPOINT_INVALID";
    case ErrorCode::kCheckpointMismatch: return "OCTAVO_CHECKPOINT_MISMATCH";
    case ErrorCode::kUnsupportedModel: return "OCTAVO_UNSUPPORTED_MODEL";
    case ErrorCode::kNoCudaBuild: return "OCTAVO_NO_CUDA_BUILD";
    case ErrorCode::kNoDriver: return "OCTAVO_NO_DRIVER";
    case ErrorCode::kNoDevice: return "OCTAVO_NO_DEVICE";
    case ErrorCode::kKernelsUnavailable: return "OCTAVO_KERNELS_UNAVAILABLE";
    case ErrorCode::kOutOfMemory: return "OCTAVO_OUT_OF_MEMORY";
    case ErrorCode::kContextExceeded: return "OCTAVO_CONTEXT_EXCEEDED";
    case ErrorCode::kRequestTooLarge: return "OCTAVO_REQUEST_TOO_LARGE";
    case ErrorCode::kSessionBusy: return "OCTAVO_SESSION_BUSY";
    case ErrorCode::kQuotaExceeded: return "OCTAVO_QUOTA_EXCEEDED";
    case ErrorCode::kTimedOut: return "OCTAVO_TIMED_OUT";
    case ErrorCode::kLeaseExpired: return "OCTAVO_LEASE_EXPIRED";
    case ErrorCode::kDisposed: return "OCTAVO_DISPOSED";
    case ErrorCode::kCancelled: return "OCTAVO_CANCELLED";
    case ErrorCode::kIoFailed: return "OCTAVO_IO_FAILED";
    case ErrorCode::kDeviceFailed: return "OCTAVO_DEVICE_FAILED";
    case ErrorCode::kInternal: return "OCTAVO_INTERNAL";
  }
  return "OCTAVO_INTERNAL";
}

}  // namespace octavo
