// The paged KV cache: writing it and attending over it. The contracts are those of ops/ops.h.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "ops/attention_variant.h"
#include "ops/block_copies.h"
#include "ops/rope_write.h"
#include "ops/tensor.h"

namespace octavo::cuda {

/** The arguments of Ops::pagedAttention. */
struct PagedAttention {
  Heads out, query;
  KvCacheView cache;
  int32_t layer = 0;
  AttentionBatch batch;
  float scale = 1;
  AttentionVariant variant;
  AttentionScratch scratch;
  int32_t leastPrefill = 2;  // query tokens of the sequences that prefill takes, at least
};

void launchKvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                   const int64_t* slots, const KvScales& scales, cudaStream_t stream);
void launchRopeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, cudaStream_t stream);
void launchCopyBlocks(const BlockCopies& copies, cudaStream_t stream);

/**
 * Sequences with few query tokens (mostSplitTokens, or one where the split kernel does not apply) go to the decode
 * kernel and the others to the prefill kernel, where it applies: the choice for a sequence depends on that sequence,
 * the dtypes and the card alone.
 */
void launchPagedAttention(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);

/**
 * True where the split decode kernel applies: one 16-bit dtype, or a query of 16 bits over codes on Hopper; a head dim
 * it is made for, alignment, and a scratch whose limits hold the batch.
 */
bool canSplitDecode(const PagedAttention& attention, const DeviceTraits& traits);

/**
 * Query tokens of the sequences that it takes, at most: kMostDecodeTokens; one where no kernel for this card has room
 * for the rows of so many. What it says depends on heads, dtype and card alone.
 */
int32_t mostSplitTokens(const PagedAttention& attention, const DeviceTraits& traits);

/** Sequences with at most mostSplitTokens query tokens, their keys dealt to the whole card; no others. */
void launchSplitDecode(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);

/** A block a query token and KV head; any dtypes and any head dim up to 256. */
void launchDecodeAttention(const PagedAttention& attention, bool everyToken, const DeviceTraits& traits,
                           cudaStream_t stream);

/**
 * True where the tensor-core kernel applies: a query of 16 bits over a cache of its dtype or of codes, head dim a
 * multiple of 8, aligned, a positive scale.
 */
bool canPrefillOnTensorCores(const PagedAttention& attention);

/** A block 128 query tokens of a head, for sequences with at least leastPrefill query tokens. */
void launchPrefillAttention(const PagedAttention& attention, cudaStream_t stream);

/** True where the Hopper kernel applies besides: sm_90a code is loaded, head dim 64, 128 or 256. */
bool canPrefillWide(const PagedAttention& attention, const DeviceTraits& traits);
/** 128 query tokens of a head (192 of head dim 64) at a time, for sequences with at least leastPrefill query tokens. */
void launchWidePrefill(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);

}  // namespace octavo::cuda
