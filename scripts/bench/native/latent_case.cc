#include "scripts/bench/native/latent_case.h"

#include <numeric>

namespace octavo::bench {

namespace {

using Figure = AttentionFigure;
using Lengths = std::vector<int32_t>;

LatentCase decode(const std::string& name, Figure figure, int32_t heads, const Lengths& context) {
  return {"MLA decode " + name, figure, heads, false, context, {}};
}

}  // namespace

int32_t LatentCase::tokens() const {
  return isPrompt ? std::accumulate(context.begin(), context.end(), 0) : sequences();
}

double LatentCase::cacheBytes() const {
  const double keys = std::accumulate(context.begin(), context.end(), 0.0);
  return isPrompt ? keys * (heads * (kKeyDim + kValueDim) + kRopeDim) * 2 : keys * kWidth * 2;
}

double LatentCase::flops() const {
  double pairs = 0;  // of a query and a key that it sees
  for (const double length : context) pairs += isPrompt ? length * (length + 1) / 2 : length;
  return 2 * pairs * heads * (queryDim() + outDim());
}

std::vector<LatentCase> latentCases() {
  return {decode("16 heads 64x4096", Figure::kBandwidth, 16, Lengths(64, 4096)),
          decode("16 heads 128x4096", Figure::kBandwidth, 16, Lengths(128, 4096)),
          decode("128 heads 128x4096", Figure::kRate, 128, Lengths(128, 4096)),
          decode("16 heads 1x4096", Figure::kReadTime, 16, {4096}),
          decode("128 heads 1x4096", Figure::kReadTime, 128, {4096}),
          {"MLA prefill 128 heads 8k", Figure::kRate, 128, true, {8192}, {}}};
}

LatentCase otherFormOf(const LatentCase& of) {
  LatentCase other = of;
  other.name += ", other form";
  other.forms = {!of.forms.sharesTiles, !of.forms.copiesRows};
  return other;
}

}  // namespace octavo::bench
