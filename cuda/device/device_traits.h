// What the launchers must know of a device to choose well.
#pragma once

namespace octavo::cuda {

class LinearTable;

/** Whose rates are reckoned with; see cuda/gemm/card_rates.h. */
enum class Card { kA100, kH100, kH200 };

struct DeviceTraits {
  int architecture = 80;      // of the code that is loaded: 80, or 90 for sm_90a
  int multiprocessors = 1;
  Card card = Card::kH200;
  LinearTable* plans = nullptr;  // where plans of dense products are kept; none: each is made afresh
};

}  // namespace octavo::cuda
