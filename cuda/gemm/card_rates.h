// What a multiprocessor of each card moves, as linear_plan.cc reckons with it.
#pragma once

#include "cuda/device/device_traits.h"

namespace octavo::cuda {

/** Bytes a clock of a multiprocessor, of those that differ from card to card. */
struct CardRates {
  double memory;  // its share of what device memory gives when all of them read
  double l2;      // from there into its shared memory
};

CardRates ratesOf(Card card);

}  // namespace octavo::cuda
