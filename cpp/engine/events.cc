#include "engine/events.h"

namespace octavo {

const char* finishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndOfSequence: return "eos";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kFailed: return "failed";
  }
  return "failed";
}

}  // namespace octavo
