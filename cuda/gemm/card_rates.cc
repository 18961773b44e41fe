// H200: measured on one (2026-11-29): products read their weights at 4.1 TB/s, 17.7 bytes a clock of each of 132
// multiprocessors at 1.755 GHz, and x from the L2 at 56. That is 0.854 of the 4.8 TB/s of its datasheet, and 7/8 of the 64
// bytes a clock that a multiprocessor's port to the L2 takes.
//
// The others were not measured. They are the peaks that NVIDIA has published times these shares:
//   H100 (SXM)   memory 3.35 TB/s · 0.854 / (132 · 1.755 GHz); the L2 of the same chip
//   A100 (80 GB) memory 2.039 TB/s · 0.854 / (108 · 1.41 GHz); L2 5120 bytes a clock (whitepaper) · 7/8 / 108
// Variants of a card with slower memory (H100 PCIe, A100 40 GB) are planned as it is.
#include "cuda/gemm/card_rates.h"

namespace octavo::cuda {

CardRates ratesOf(Card card) {
  switch (card) {
    case Card::kA100: return {11.4, 41.5};
    case Card::kH100: return {12.4, 56};
    case Card::kH200: return {17.7, 56};
  }
  return {17.7, 56};
}

}  // namespace octavo::cuda
