// Memory for general use, kept when it is given back: best fit, split, merge, on pages that come and go.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/address_table.h"
#include "memory/byte_limit.h"
#include "memory/cache_lock.h"
#include "memory/cached_line.h"
#include "memory/memory_resource.h"
#include "memory/stream_pool.h"
#include "memory/stream_waits.h"
#include "memory/waiting_blocks.h"

namespace octavo {

struct CachingOptions {
  /** Ceiling over what the cache reserves, besides the region's own. */
  size_t limitBytes = ByteLimit::kUnlimited;
  /**
   * Requests from here on get whole pages of their own that serve only such requests again that are at most an eighth
   * smaller; 0: everything may be split. At least kSmallBytes + 1.
   */
  size_t maxSplitSize = 0;
};

/** A block or a gap, as `snapshot` shows it. Offsets from the start of its segment. */
struct BlockReport {
  const void* data;
  size_t bytes, requestedBytes;
  BlockState state;
  Owner owner;      // when allocated
  std::string tag;
};

struct SegmentReport {
  BlockClass blockClass;
  const Stream* stream;
  GraphPoolId graphPool;
  size_t pages, mappedPages;
  std::vector<BlockReport> blocks;  // in order of address; gaps have no memory
};

/**
 * Thread-safe. Sizes are rounded up to 512 bytes, addresses are multiples of that in their segment. A size class, a
 * stream and a graph pool share one range of addresses in which pages are mapped at the lowest gap, and free neighbours
 * always merge. All that is reserved is in the ledger: free bytes as (engine, "<region>.cached"), handed out ones under
 * the caller's owner and tag. The cached path takes tens of nanoseconds and never calls the device.
 *
 * A block belongs to the stream it was allocated for. Given back on that stream it is reusable there at once, for
 * what is enqueued later runs later; given back on another one, or after recordStream, when an event recorded then has
 * passed on each. A block allocated with no stream (nullptr) is for work that the host waits for. One allocator a
 * region: the ledger line of the cache is its own.
 */
class CachingAllocator final : public MemoryResource {
 public:
  CachingAllocator(std::shared_ptr<DeviceAllocator> allocator, Region region, CachingOptions options);
  /** Gives everything back, handed out or not. The device must have finished with it. */
  ~CachingAllocator() override;
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /**
   * When neither cache nor device has enough: gives back what is free, waits for the streams that blocks wait for, and
   * throws kOutOfMemory with a report only then. Throws kInvalidArgument for 0 bytes.
   */
  void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) override;
  /** What does not match an allocation is kept for check(). */
  void deallocate(void* data, size_t bytes, Stream* stream) noexcept override;

  /** Work already enqueued on `stream`, another than the block's own, uses the block. Unknown addresses are refused. */
  void recordStream(void* data, Stream& stream);
  /** Gives whole free pages back until at most `keepBytes` are reserved; waits for their streams. Returns the bytes. */
  size_t trim(size_t keepBytes = 0);
  /** Waits for `stream`, which is to be destroyed; its cached memory serves the next new stream. */
  void releaseStream(Stream& stream);

  /** A pool for captured graphs, held once. Its addresses keep their memory until every holder has released it. */
  GraphPoolId createGraphPool();
  void retainGraphPool(GraphPoolId pool);
  /** The last release gives its free pages back: the device must have finished with its graphs. */
  void releaseGraphPool(GraphPoolId pool);
  /**
   * Until `endCapture`, allocations for `stream` come from the pool, and frees that would need an event are put off.
   * Growing maps pages, which a capture in relaxed mode allows. A graph of several streams begins one for each.
   */
  void beginCapture(GraphPoolId pool, Stream& stream);
  void endCapture(Stream& stream);

  MemoryStatistics statistics() const;
  std::vector<SegmentReport> snapshot() const;
  Region region() const { return parts_.region; }
  /** Throws kInternal: blocks, index, counters and ledger disagree, or a deallocation ever failed to match. */
  void check() const;

  static constexpr size_t rounded(size_t bytes) { return (bytes + kBlockUnit - 1) / kBlockUnit * kBlockUnit; }

 private:
  struct Capture { Stream* stream; GraphPoolId pool; };

  BlockClass classOf(size_t bytes) const;
  size_t sizeOf(size_t bytes, std::string_view tag) const;
  CachedBlock* takeAtOnce(size_t size, const Stream* stream);
  bool canTakeBackAtOnce(const CachedBlock& block, size_t bytes, const Stream* stream) const;
  void countHandOut(CachedBlock& block, size_t asked);
  void countTakeBack(const CachedBlock& block);
  StreamPool& poolFor(Stream* stream, size_t bytes);
  StreamPool& makePool(BlockClass blockClass, Stream* stream, GraphPoolId graphPool);
  GraphPoolId capturedBy(const Stream* stream) const;
  CachedBlock& obtain(StreamPool& pool, size_t bytes, size_t asked, std::string_view tag);
  void handOut(CachedBlock& block, size_t asked, const Owner& owner, std::string_view tag);
  void takeBack(CachedBlock& block, size_t bytes, Stream* stream);
  void shareWith(CachedBlock& block, Stream* freedOn) noexcept;
  void waitOrRelease(CachedBlock& block) noexcept;
  void awaitStreams(CachedBlock& block);
  void defer(CachedBlock& block) noexcept;
  void retryDeferred() noexcept;
  void release(CachedBlock& block) noexcept;
  void endWait(CachedBlock& block) noexcept;
  MemoryStatistics counted() const;
  template <typename Collect>
  size_t releaseAll(const Collect& collect);
  void releasePassed();
  CachedBlock* retry(StreamPool& pool, size_t bytes);
  size_t waitForStreams();
  size_t trimPages(size_t most);
  bool canTrim(const StreamPool& pool) const;
  Error outOfMemory(size_t asked, std::string_view tag, const Error& cause);
  void remember(const std::string& problem) noexcept;
  uint64_t& holdersOf(GraphPoolId pool);
  void forgetUser(const Stream& stream) noexcept;
  void checkCounters() const;
  void checkLedger() const;

  std::shared_ptr<DeviceAllocator> allocator_;
  CachingOptions options_;
  PoolParts parts_;
  CachedLine cached_;
  mutable CacheLock lock_{cached_.lock()};
  AddressTable handedOut_;
  std::vector<std::unique_ptr<StreamPool>> pools_;
  StreamPool* recent_[2] = {};              // small and large of the stream last used
  StreamWaits waits_;
  WaitingBlocks waiting_;
  std::vector<Capture> captures_;
  CachedBlock* deferred_ = nullptr;         // given back while a capture, or a failure, forbade events
  std::map<GraphPoolId, uint64_t> holders_;
  GraphPoolId lastGraphPool_ = 0;
  std::vector<CachedBlock*> passed_;        // of releaseAll
  uint64_t problems_ = 0;
  std::string lastProblem_;
};

}  // namespace octavo
