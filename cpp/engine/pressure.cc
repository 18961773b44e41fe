// The rungs of the ladder in the engine: admit no more, then refuse what is new; what runs goes on.
#include "engine/engine_state.h"
#include "memory/format_bytes.h"

namespace octavo {

void Engine::State::watchHost(const WeightManifest& manifest) {
  HostWatch::Options watch;
  if (!options.testing.hostRoot.empty()) watch.root = options.testing.hostRoot;
  watch.polls = options.testing.hostRoot.empty();
  watch.files = manifest.files;
  watch.clock = clock;
  watch.unpin = [this] { return allocator->trimPinned(); };
  watch.changed = [this](PressureLevel level, const std::string& reason) { feelPressure(level, reason); };
  host = std::make_unique<HostWatch>(std::move(watch));
}

void Engine::State::feelPressure(PressureLevel level, const std::string& reason) {
  const std::lock_guard lock(mutex);
  pressure = level;
  pressureReason = reason;
  scheduler->setAdmitting(level == PressureLevel::kNone);
  notify();
}

void Engine::State::requireHostMemory() const {
  if (pressure != PressureLevel::kCritical) return;
  throw Error(ErrorCode::kOutOfMemory, "the host is short of memory (" + pressureReason +
                                           "): no new request is taken until it has recovered; try again later, "
                                           "raise the limit of the control group, or end what else uses the host");
}

HostReport Engine::host() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  return state_->host->report();
}

void Engine::pollHost() {
  const std::lock_guard kept(state_->disposing);  // the watch does not go while it is asked; it takes `mutex` itself
  {
    const std::lock_guard lock(state_->mutex);
    state_->requireOpen();
  }
  state_->host->poll();
}

}  // namespace octavo
