// Several samples of one prompt: the first computes it, the others fork its session then and go their own ways.
#include "engine/engine_state.h"

namespace octavo {

/** They wait, outside the queue, for the prompt of the first; sample i draws with its seed plus i. */
void Engine::State::addSamples(Request& first) {
  std::vector<std::unique_ptr<Request>> samples;
  for (int32_t index = 1; index < first.spec.samples; ++index) {
    Request& sample = *samples.emplace_back(std::make_unique<Request>());
    sample.session = first.session;
    sample.spec = first.spec;
    sample.spec.samples = 1;
    sample.spec.sampling.seed += static_cast<uint64_t>(index);
    sample.promisedBlocks = first.promisedBlocks;
    sample.credits = first.credits;
    sample.timings.submitted = first.timings.submitted;
    sample.timer = StageTimer(first.timer.limits(), first.timings.submitted);
    sample.prepare(spec.vocabularySize);
    sample.id = first.id + static_cast<RequestId>(index);
    sample.awaits = first.id;
    first.samples.push_back(sample.id);
  }
  for (auto& sample : samples) {
    lastRequest = sample->id;
    requests.emplace(sample->id, std::move(sample));
  }
}

/** The prompt of `first` is computed: its samples begin. Those that could not would end with it. */
void Engine::State::beginSamples(Request& first, Session& session) {
  for (const RequestId id : first.samples) {
    const auto found = requests.find(id);
    if (found != requests.end()) beginSample(*found->second, session);  // else it was cancelled meanwhile
  }
  first.samples.clear();
}

/** In a session of its own, which shares the blocks of this one. */
void Engine::State::beginSample(Request& sample, Session& session) {
  const int64_t now = clock->now();
  Session& forked = sessions->fork(session);
  forked.parent = session.id;
  forked.created = now;
  forked.use = session.use;
  session.samples.insert(forked.id);
  sample.session = forked.id;
  sample.awaits = 0;
  sample.timer = StageTimer(sample.timer.limits(), now);
  scheduler->enqueue(sample);
  beginTimers(sample, forked);
}

/** Those that still wait for the prompt of a request that is over end as it did. */
void Engine::State::endSamples(const std::vector<RequestId>& samples, FinishReason reason, const Error* error) {
  for (const RequestId id : samples) {
    const auto found = requests.find(id);
    if (found != requests.end() && found->second->awaits != 0) finish(*found->second, reason, error);
  }
}

/** The session of a sample goes with its request; its parent is idle when all have gone. */
void Engine::State::leaveParent(const Session& session) {
  Session* const parent = sessions->find(session.parent);
  if (!parent) return;
  parent->samples.erase(session.id);
  if (!parent->isBusy()) endRequest(*parent);
}

}  // namespace octavo
