#include "memory/stream_waits.h"

#include <algorithm>

namespace octavo {

StreamWaits::Queue& StreamWaits::queueOf(Stream& stream) {
  for (const auto& queue : queues_) {
    if (queue->stream == &stream) return *queue;
  }
  queues_.push_back(std::make_unique<Queue>(Queue{&stream, {}}));
  return *queues_.back();
}

void StreamWaits::add(CachedBlock& block, Stream& stream) {
  Queue& queue = queueOf(stream);
  spare_.reserve(waits_ + spare_.size() + 1);  // so that passing cannot fail
  std::unique_ptr<Event> event;
  if (spare_.empty()) {
    event = device_.createEvent();
  } else {
    event = std::move(spare_.back());
    spare_.pop_back();
  }
  event->record(stream);
  queue.waits.push_back({std::move(event), &block});
  ++BlockStore::useOf(block).pendingEvents;
  ++waits_;
}

void StreamWaits::pass(Queue& queue, std::vector<CachedBlock*>& passed) {
  Wait& first = queue.waits.front();
  uint32_t& pending = BlockStore::useOf(*first.block).pendingEvents;
  if (pending == 1) passed.push_back(first.block);
  --pending;
  spare_.push_back(std::move(first.event));
  queue.waits.pop_front();
  --waits_;
}

void StreamWaits::takePassed(std::vector<CachedBlock*>& passed) {
  for (const auto& queue : queues_) {
    while (!queue->waits.empty() && queue->waits.front().event->query()) pass(*queue, passed);
  }
}

void StreamWaits::synchronize(std::vector<CachedBlock*>& passed) {
  for (const auto& queue : queues_) {
    while (!queue->waits.empty()) {
      queue->waits.front().event->synchronize();
      pass(*queue, passed);
    }
  }
}

void StreamWaits::forget(Stream& stream, std::vector<CachedBlock*>& passed) {
  for (const auto& queue : queues_) {
    while (queue->stream == &stream && !queue->waits.empty()) pass(*queue, passed);
  }
  std::erase_if(queues_, [&](const auto& queue) { return queue->stream == &stream; });
}

}  // namespace octavo
