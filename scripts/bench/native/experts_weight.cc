#include <algorithm>
#include <numeric>
#include <random>

#include "cuda/quantized/quantized.h"
#include "ops/cpu/dequantize.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_weight.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

template <typename Element>
void upload(Element* to, const std::vector<Element>& from) {
  cuda::check(cudaMemcpy(to, from.data(), from.size() * sizeof(Element), cudaMemcpyHostToDevice), "cudaMemcpy");
}

/** A weight of every expert: they have the same codes, for many random numbers take long to make, and scales of their own. */
class ExpertStack {
 public:
  ExpertStack(const CodedFormat& format, int64_t experts, int64_t columns, int64_t depth)
      : expert_(describe(format, columns, depth)),
        experts_(experts),
        codes_(randomCodes(static_cast<size_t>(columns * expert_.codeStride), format.type)),
        scaleBytes_(static_cast<size_t>(columns * expert_.groups) * dtypeBytes(format.scaleType)),
        scales_(randomScales(static_cast<size_t>(experts * columns * expert_.groups), format.scaleType)),
        deviceCodes_(codes_.size() * static_cast<size_t>(experts)),
        deviceScales_(scales_.size()) {
    for (int64_t e = 0; e < experts; ++e) upload(deviceCodes_.data() + static_cast<size_t>(e) * codes_.size(), codes_);
    upload(deviceScales_.data(), scales_);
    const DeviceArray<char> scratch(LinearScratchLayout::arrangeBytes(experts * columns, depth));
    if (cuda::launchArrange(all(), {scratch.data(), scratch.bytes()}, {})) order_ = CodeOrder::kTiles;
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  int64_t columns() const { return expert_.rows; }
  int64_t depth() const { return expert_.columns; }
  size_t expertBytes() const { return codes_.size() + scaleBytes_; }

  QuantizedMatrix all() const {
    QuantizedMatrix matrix = expert_;
    matrix.rows *= experts_;
    matrix.codes = deviceCodes_.data();
    matrix.scales = deviceScales_.data();
    matrix.order = order_;
    return matrix;
  }

  std::vector<float> row(int64_t expert, int64_t n) const {
    QuantizedMatrix own = expert_;
    own.codes = codes_.data();
    own.scales = scales_.data() + static_cast<size_t>(expert) * scaleBytes_;
    std::vector<float> numbers(static_cast<size_t>(own.columns));
    cpu::dequantizeRow(numbers.data(), own, n, 0, own.columns);
    return numbers;
  }

 private:
  static QuantizedMatrix describe(const CodedFormat& format, int64_t columns, int64_t depth) {
    QuantizedMatrix expert;
    expert.codeType = format.type;
    expert.rows = columns;
    expert.columns = depth;
    expert.codeStride = QuantizedMatrix::strideOf(format.type, depth);
    expert.scaleType = format.scaleType;
    expert.groupRows = format.groupRows;
    expert.groupColumns = format.groupColumns;
    expert.groups = (depth + format.groupColumns - 1) / format.groupColumns;
    return expert;
  }

  QuantizedMatrix expert_;                // one; its pointers are those of no copy
  int64_t experts_ = 0;
  std::vector<uint8_t> codes_;            // of one, on the host
  size_t scaleBytes_ = 0;                 // of one
  std::vector<uint8_t> scales_;           // of all
  DeviceArray<uint8_t> deviceCodes_, deviceScales_;
  CodeOrder order_ = CodeOrder::kRows;    // of the device's
};

/** Which rows an expert has: a token's experts are drawn anew every turn, without repeats while there are others. */
struct Routing {
  std::vector<int32_t> first, rows;

  Routing(int64_t experts, int64_t tokens, int64_t choices, std::vector<int32_t>& deck, std::mt19937& random)
      : first(static_cast<size_t>(experts)), rows(static_cast<size_t>(experts)) {
    for (int64_t token = 0; token < tokens; ++token) {
      if (static_cast<int64_t>(deck.size()) < choices) {
        deck.resize(static_cast<size_t>(experts));
        std::iota(deck.begin(), deck.end(), 0);
        std::shuffle(deck.begin(), deck.end(), random);
      }
      for (int64_t i = 0; i < choices; ++i, deck.pop_back()) ++rows[static_cast<size_t>(deck.back())];
      if (tokens > 1) deck.clear();  // tokens of a batch choose by themselves
    }
    std::exclusive_scan(rows.begin(), rows.end(), first.begin(), 0);
  }

  int64_t active() const { return std::count_if(rows.begin(), rows.end(), [](int32_t count) { return count > 0; }); }
  int64_t expertOf(int64_t row) const {
    return std::upper_bound(first.begin(), first.end(), static_cast<int32_t>(row)) - first.begin() - 1;
  }
};

/** The products of a step of a mixture: that of the case, and after it the one that leads back where the case has one. */
class ExpertsWeight : public GemmWeight {
 public:
  ExpertsWeight(const GemmCase& of, cudaStream_t stream)
      : case_(of), stacks_(), deck_(), routings_(routingsOf(of)),
        first_(static_cast<size_t>(of.experts) * routings_.size()), rows_(first_.count()) {
    stacks_.push_back(std::make_unique<ExpertStack>(*of.codes, of.experts, of.columns, of.depth));
    if (of.backColumns > 0) {
      stacks_.push_back(std::make_unique<ExpertStack>(*of.codes, of.experts, of.backColumns, of.backDepth));
      backX_ = std::make_unique<DeviceArray<uint16_t>>(static_cast<size_t>(of.rows * of.backDepth));
      backOut_ = std::make_unique<DeviceArray<uint16_t>>(static_cast<size_t>(of.rows * of.backColumns));
      fillUniform(backX_->data(), backX_->count(), 1, stream);
    }
    for (size_t turn = 0; turn < routings_.size(); ++turn) {
      upload(first_.data() + turn * static_cast<size_t>(of.experts), routings_[turn].first);
      upload(rows_.data() + turn * static_cast<size_t>(of.experts), routings_[turn].rows);
    }
  }

  int count() const override { return static_cast<int>(routings_.size()); }

  /** The mean of the turns. */
  size_t bytes() const override {
    size_t active = 0, expert = 0;
    for (const Routing& routing : routings_) active += static_cast<size_t>(routing.active());
    for (const auto& stack : stacks_) expert += stack->expertBytes();
    return active * expert / routings_.size();
  }

  void launch(const Matrix& out, const Matrix& x, int turn, const cuda::DeviceTraits& traits,
              cudaStream_t stream) const override {
    const size_t at = static_cast<size_t>(turn * case_.experts);
    const std::vector<int32_t>& rows = routings_[static_cast<size_t>(turn)].rows;
    const ExpertRows experts{static_cast<int32_t>(case_.experts), first_.data() + at, rows_.data() + at,
                             *std::max_element(rows.begin(), rows.end())};
    cuda::launchGroupedLinear(out, x, stacks_[0]->all(), experts, {}, traits, stream);
    if (stacks_.size() == 1) return;
    const int64_t columns = stacks_[1]->columns(), depth = stacks_[1]->depth();
    const Matrix backX{backX_->data(), DType::kBF16, case_.rows, depth, depth};
    const Matrix back{backOut_->data(), DType::kBF16, case_.rows, columns, columns};
    cuda::launchGroupedLinear(back, backX, stacks_[1]->all(), experts, {}, traits, stream);
  }

  std::vector<float> row(int turn, int64_t n) const override { return rowFor(turn, 0, n); }
  std::vector<float> rowFor(int turn, int64_t m, int64_t n) const override {
    return stacks_[0]->row(routings_[static_cast<size_t>(turn)].expertOf(m), n);
  }

 private:
  /** As many as read more than the L2 holds. */
  static std::vector<Routing> routingsOf(const GemmCase& of) {
    std::mt19937 random(7);
    std::vector<int32_t> deck;
    std::vector<Routing> routings;
    const int64_t tokens = of.rows / of.choices;
    const auto expert = static_cast<size_t>(of.columns * of.depth + of.backColumns * of.backDepth) / 2;
    const int turns = coldRotation(expert * static_cast<size_t>(std::min(of.rows, of.experts)));
    while (static_cast<int>(routings.size()) < turns) routings.emplace_back(of.experts, tokens, of.choices, deck, random);
    return routings;
  }

  GemmCase case_;
  std::vector<std::unique_ptr<ExpertStack>> stacks_;
  std::vector<int32_t> deck_;
  std::vector<Routing> routings_;         // of each turn
  DeviceArray<int32_t> first_, rows_;     // [turns, experts]
  std::unique_ptr<DeviceArray<uint16_t>> backX_, backOut_;
};

}  // namespace

std::unique_ptr<GemmWeight> expertsWeight(const GemmCase& of, cudaStream_t stream) {
  return std::make_unique<ExpertsWeight>(of, stream);
}

}  // namespace octavo::bench
