// Blocks that were given back while a stream may still work on them. Private to the caching allocator.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "device/device.h"
#include "memory/cached_block.h"

namespace octavo {

/** First in, first out a stream: events of one stream pass in the order they were recorded. Not thread-safe. */
class StreamWaits {
 public:
  explicit StreamWaits(Device& device) : device_(device) {}

  bool empty() const { return waits_ == 0; }
  /** The block waits for everything enqueued on `stream` so far. Throws what the device throws, waiting for nothing. */
  void add(CachedBlock& block, Stream& stream);
  /** Appends the blocks that wait for nothing any more. Asks every stream's first event. */
  void takePassed(std::vector<CachedBlock*>& passed);
  /** The same for all that wait, after waiting for the device. */
  void synchronize(std::vector<CachedBlock*>& passed);
  /** The same for what waits on `stream`, whose work is done; it is never asked again. */
  void forget(Stream& stream, std::vector<CachedBlock*>& passed);

 private:
  struct Wait {
    std::unique_ptr<Event> event;
    CachedBlock* block;
  };
  struct Queue {
    Stream* stream;
    std::deque<Wait> waits;
  };
  Queue& queueOf(Stream& stream);
  void pass(Queue& queue, std::vector<CachedBlock*>& passed);

  Device& device_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Event>> spare_;
  size_t waits_ = 0;
};

}  // namespace octavo
