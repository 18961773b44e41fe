// The host arrays of a ragged batch, and the checks after which no kernel can read outside the cache.
#pragma once

#include "binding/ops_upload.h"
#include "binding/ops_views.h"
#include "ops/rope_write.h"

namespace octavo {

[[noreturn]] void refuse(const OpCall& call, const std::string& sentence);

/** `name[index]` */
std::string at(const char* name, int64_t index);

/** Throws kInvalidArgument for a slot at or past `end`; negative ones are fine. */
void checkSlots(const OpCall& call, const std::vector<int64_t>& slots, int64_t end);

/** A number above 0 in fp32; see KvScales. */
float readScale(const OpCall& call, const char* name);

/** `positions`, `inverseFrequencies` and `magnitude` of a call that rotates. */
struct RopeArguments {
  std::vector<int32_t> positions;
  std::vector<float> inverseFrequencies;
  float magnitude = 1;
};

RopeArguments readRope(const OpCall& call, const Heads& query, const Heads& key);

/** A step that a call has turned and stored; `upload` keeps what is in device memory. */
struct RopeStep {
  RopeWrite write;
  KvCacheView cache;
  int32_t layer = 0;
};

RopeStep readRopeStep(const OpCall& call, Upload& upload);

/** What a block table may name. */
struct BlockLimits {
  int64_t blocks = 0;
  int32_t blockSize = 0;
};

/** Reads and checks `queryStart`, `contextLength` and `blockTable` of a call with `tokens` query tokens. */
struct HostBatch {
  std::vector<int32_t> queryStart, contextLength, blockTable;
  int32_t sequences = 0, tableStride = 0, maxQueryLength = 0, maxContextLength = 0;

  HostBatch(const OpCall& call, int64_t tokens, const BlockLimits& cache, int32_t window);
  /** Without pages: no block table is read. */
  HostBatch(const OpCall& call, int64_t tokens);

  /** Copies on the device of `to`, which must outlive the work. */
  AttentionBatch upload(Upload& to) const;

 private:
  void readSequences(const OpCall& call);
  void readTable(const OpCall& call);
  void checkStarts(const OpCall& call, int64_t tokens) const;
  void checkLength(const OpCall& call, int32_t s);
  void checkBlocks(const OpCall& call, int32_t s, const BlockLimits& cache, int32_t window) const;
};

}  // namespace octavo
