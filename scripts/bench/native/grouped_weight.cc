#include "cuda/quantized/quantized.h"
#include "ops/cpu/dequantize.h"
#include "ops/tensor_parts.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_weight.h"

namespace octavo::bench {

namespace {

/**
 * Blocks of e4m3: the experts have the same codes, for gigabytes of random numbers take long to make, and scales of
 * their own. No copies take turns: one is many times the L2. The active experts are spread evenly over all and share
 * the rows of x evenly.
 */
class GroupedWeight : public GemmWeight {
 public:
  explicit GroupedWeight(const GemmCase& of)
      : case_(of),
        expert_(describe(of)),
        codes_(randomCodes(static_cast<size_t>(expert_.rows * expert_.codeStride), expert_.codeType)),
        scaleBytes_(static_cast<size_t>(expert_.rows / expert_.groupRows * expert_.groups) * sizeof(float)),
        scales_(randomScales(scaleBytes_ / sizeof(float) * static_cast<size_t>(of.experts), DType::kF32)),
        deviceCodes_(codes_.size() * static_cast<size_t>(of.experts)),
        deviceScales_(scales_.size()),
        first_(static_cast<size_t>(of.experts)),
        rows_(static_cast<size_t>(of.experts)),
        layout_(DType::kBF16, of.rows, of.columns, of.depth, expert_.activations.scaling),
        scratch_(layout_.activationBytes) {
    for (int64_t e = 0; e < of.experts; ++e) upload(deviceCodes_.data() + e * codes_.size(), codes_);
    upload(deviceScales_.data(), scales_);
    std::vector<int32_t> first, rows;
    for (int64_t e = 0; e < of.experts; ++e) {
      const bool isActive = e % (of.experts / of.activeExperts) == 0;
      first.push_back(static_cast<int32_t>(e * of.activeExperts / of.experts * rowsEach()));
      rows.push_back(isActive ? static_cast<int32_t>(rowsEach()) : 0);
    }
    upload(first_.data(), first);
    upload(rows_.data(), rows);
  }

  int count() const override { return 1; }
  size_t bytes() const override { return static_cast<size_t>(case_.activeExperts) * (codes_.size() + scaleBytes_); }

  void prepare(const Matrix& x, const cuda::DeviceTraits& traits, cudaStream_t stream) override {
    if (!cuda::canMultiplyGroups(expert_, traits)) return;
    auto* const to = reinterpret_cast<uint8_t*>(scratch_.data());
    coded_ = {to, reinterpret_cast<float*>(to + layout_.scaleOffset), x.rows, x.columns, layout_.codeStride,
              static_cast<int32_t>(layout_.scaleStride)};
    cuda::launchQuantizeCodes(coded_, x, expert_.codeType, expert_.activations, traits, stream);
  }

  void launch(const Matrix& out, const Matrix& x, int, const cuda::DeviceTraits& traits,
              cudaStream_t stream) const override {
    QuantizedMatrix all = expert_;
    all.rows *= case_.experts;
    all.codes = deviceCodes_.data();
    all.scales = deviceScales_.data();
    const ExpertRows experts{static_cast<int32_t>(case_.experts), first_.data(), rows_.data(),
                             static_cast<int32_t>(rowsEach())};
    const LinearScratch scratch{scratch_.data(), scratch_.bytes()};
    if (coded_.codes) cuda::launchGroupedProduct(out, coded_, all, experts, traits, stream);
    else cuda::launchGroupedLinear(out, x, all, experts, scratch, traits, stream);
  }

  std::vector<float> row(int turn, int64_t n) const override { return rowFor(turn, 0, n); }

  std::vector<float> rowFor(int, int64_t m, int64_t n) const override {
    const int64_t expert = m / rowsEach() * (case_.experts / case_.activeExperts);
    QuantizedMatrix own = expert_;
    own.codes = codes_.data();
    own.scales = scales_.data() + static_cast<size_t>(expert) * scaleBytes_;
    std::vector<float> numbers(static_cast<size_t>(own.columns));
    cpu::dequantizeRow(numbers.data(), own, n, 0, own.columns);
    return numbers;
  }

  void changeInput(std::vector<float>& x) const override {
    cpu::quantizeRow(x.data(), expert_.columns, expert_.codeType, expert_.activations);
  }

 private:
  static QuantizedMatrix describe(const GemmCase& of) {
    QuantizedMatrix expert;
    expert.codeType = of.codes->type;
    expert.rows = of.columns;
    expert.columns = of.depth;
    expert.codeStride = QuantizedMatrix::strideOf(expert.codeType, of.depth);
    expert.groupRows = of.codes->groupRows;
    expert.groupColumns = of.codes->groupColumns;
    expert.groups = (of.depth + expert.groupColumns - 1) / expert.groupColumns;
    expert.activations = of.codes->activations;
    return expert;
  }

  template <typename Element>
  static void upload(Element* to, const std::vector<Element>& from) {
    cuda::check(cudaMemcpy(to, from.data(), from.size() * sizeof(Element), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  int64_t rowsEach() const { return case_.rows / case_.activeExperts; }

  GemmCase case_;
  QuantizedMatrix expert_;                // one; its pointers are those of no copy
  std::vector<uint8_t> codes_;            // of one
  size_t scaleBytes_ = 0;                 // of one
  std::vector<uint8_t> scales_;           // of all
  DeviceArray<uint8_t> deviceCodes_, deviceScales_;
  DeviceArray<int32_t> first_, rows_;
  LinearScratchLayout layout_;
  DeviceArray<char> scratch_;
  cuda::CodedInput coded_;
};

}  // namespace

std::unique_ptr<GemmWeight> groupedWeight(const GemmCase& of) { return std::make_unique<GroupedWeight>(of); }

}  // namespace octavo::bench
