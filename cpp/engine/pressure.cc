// The rungs of the ladder in the engine: admit no more, then refuse what is new; what runs goes on.
#include <algorithm>

#include "engine/engine_state.h"
#include "memory/format_bytes.h"

namespace octavo {

std::string Engine::State::hostRoot() const {
  return options.testing.hostRoot.empty() ? "/" : options.testing.hostRoot;
}

void Engine::State::watchHost(const WeightManifest& manifest) {
  HostWatch::Options watch;
  watch.root = hostRoot();
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

/**
 * Reserving takes addresses, not memory: the kernel gives pages as rows are written, and kills where it has none. Read
 * anew and under the lock, so that what is written of other requests is what was booked of them, or more.
 */
void Engine::State::requireLogitsMemory(const RequestSpec& spec) const {
  if (!spec.score) return;
  const HostMemory memory = hostMemory(hostRoot());
  if (memory.totalBytes == 0) return;  // the system does not tell
  const size_t rowBytes = static_cast<size_t>(this->spec.vocabularySize) * sizeof(float);
  size_t promised = static_cast<size_t>(PressureLadder::kCriticalFree * static_cast<double>(memory.totalBytes));
  for (const auto& [id, request] : requests) {
    if (request->spec.score) promised += static_cast<size_t>(request->promptTokens() - request->scored) * rowBytes;
  }
  const size_t room = memory.freeBytes - std::min(memory.freeBytes, promised);
  const size_t wanted = spec.prompt.size() * rowBytes;
  if (wanted <= room) return;
  throw Error(ErrorCode::kOutOfMemory,
              "the logits of " + std::to_string(spec.prompt.size()) + " positions by " +
                  std::to_string(this->spec.vocabularySize) + " tokens take " + formatBytes(wanted) +
                  " of host memory; " + formatBytes(memory.freeBytes) + " of " + formatBytes(memory.totalBytes) +
                  " are free, of which " + formatBytes(promised) +
                  " are kept for the process and for scores that run: " +
                  std::to_string(room / rowBytes) +
                  " positions fit; score fewer a call, or raise the limit of the control group");
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
