// Multi-head latent attention: its paged cache, attention over latents and over what they expand to. The contracts are
// those of ops/ops.h.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/device_traits.h"
#include "ops/latent_scratch.h"

namespace octavo::cuda {

/** Which of two ways of moving latents a kernel takes: to be timed against each other. The results have the same bits. */
struct LatentForms {
  bool sharesTiles = true;  // the wide kernel: two blocks with rows of the same sequence bring each other their tiles
  bool copiesRows = false;   // the other one: latents as they lie, a row a copy, in place of boxes of 64 columns
};

/** The arguments of Ops::latentAttention. */
struct LatentAttention {
  Heads out, query;
  LatentCacheView cache;
  int32_t layer = 0;
  AttentionBatch batch;
  float scale = 1;
  AttentionScratch scratch;
  LatentForms forms;
};

/** The arguments of Ops::expandedAttention. */
struct ExpandedAttention {
  Heads out, query;
  ExpandedKeys keys;
  AttentionBatch batch;
  float scale = 1;
};

void launchLatentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                       cudaStream_t stream);
void launchLatentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                      cudaStream_t stream);

/** The kernel for a sequence depends on that sequence, the dtypes and the card alone. */
void launchLatentAttention(const LatentAttention& attention, const DeviceTraits& traits, cudaStream_t stream);
void launchExpandedAttention(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);

/**
 * Sequences with 1 to kMostQueries query tokens, on Hopper; the others are left alone. `hasWide`: also those that the
 * wide kernel takes.
 */
void launchLatentDecode(const LatentAttention& attention, const LatentScratchLayout& layout, bool hasWide,
                        const DeviceTraits& traits, cudaStream_t stream);

/** Whether, besides, queries are packed, blocks are of 64 and the scale is positive. */
bool canDecodeLatentsWide(const LatentAttention& attention);
/** Of those sequences the ones with kFewestWideRows rows and more. */
void launchWideLatentDecode(const LatentAttention& attention, const LatentScratchLayout& layout,
                            const DeviceTraits& traits, cudaStream_t stream);

/** A block a query token and head, of sequences with more than `above` query tokens; any dtypes and dims. */
void launchPlainLatentAttention(const LatentAttention& attention, int32_t above, cudaStream_t stream);

/** True where the Hopper kernel applies: one 16-bit dtype, keys of 128 + 64 and values of 128, alignment. */
bool canPrefillExpanded(const ExpandedAttention& attention, const DeviceTraits& traits);
/** 128 query tokens of a head at a time. */
void launchExpandedPrefill(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);
void launchPlainExpandedAttention(const ExpandedAttention& attention, cudaStream_t stream);

}  // namespace octavo::cuda
