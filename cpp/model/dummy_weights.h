// Weights of a shape whose files are not there: numbers at random, made on the device.
#pragma once

#include <atomic>
#include <functional>

#include "model/weight_layout.h"
#include "ops/random_fill.h"

namespace octavo {

/** What a static scale of activations is, which files would tell: 448 codes of e4m3 reach 7 standard deviations. */
constexpr float kDummyInputScale = 1.0f / 64;

/**
 * How the parameters of a layout are filled: weights with a variance of 1 / columns, so that a row of unit variance
 * stays one and logits stay finite; norms around 1; biases small; codes of every value that is a number, with scales
 * that give the same variance. Each parameter has a sequence of its own, which `seed` and its place in the list decide.
 */
std::vector<RandomFill> dummyFills(const WeightLayout& layout, void* arena, uint64_t seed);

/**
 * Carries them out on the device and waits; zeros of codes become the middle code. `progress` is called about every
 * 64 MiB and at the end, `cancelled` polled every 8 MiB. Throws kCancelled, kDeviceFailed.
 */
void fillDummyWeights(Device& device, const WeightLayout& layout, void* arena, uint64_t seed,
                      const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled);

}  // namespace octavo
