#include <algorithm>
#include <cstring>
#include <random>

#include "cuda/quantized/quantized.h"
#include "ops/cpu/dequantize.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_weight.h"
#include "scripts/bench/native/replay.h"

namespace octavo::bench {

std::vector<uint8_t> randomCodes(size_t bytes, CodeType type) {
  std::mt19937_64 random(3);
  std::vector<uint8_t> codes(bytes);
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    const uint64_t eight = random();
    std::memcpy(codes.data() + i, &eight, sizeof eight);
  }
  if (type != CodeType::kE4M3) return codes;
  for (uint8_t& code : codes) code = (code & 0x7f) == 0x7f ? code ^ 1 : code;
  return codes;
}

std::vector<uint8_t> randomScales(size_t count, DType type) {
  std::minstd_rand random(5);
  std::vector<uint8_t> bytes(count * dtypeBytes(type));
  for (size_t i = 0; i < count; ++i) {
    const float scale = (1 + static_cast<float>(random() % 1024) / 1024) / 128;
    const uint16_t half = floatToBf16(scale);
    if (type == DType::kF32) std::memcpy(bytes.data() + i * sizeof scale, &scale, sizeof scale);
    else std::memcpy(bytes.data() + i * sizeof half, &half, sizeof half);
  }
  return bytes;
}

namespace {

constexpr size_t kScaleAlignment = 256;

class CodedWeight : public GemmWeight {
 public:
  CodedWeight(const GemmCase& of)
      : format_(*of.codes),
        matrix_(describe(of)),
        codes_(randomCodes(static_cast<size_t>(paddedRows() * matrix_.codeStride), format_.type)),
        scales_(randomScales(scaleCount(), format_.scaleType)),
        count_(coldRotation(bytes())),
        stride_((codes_.size() + scales_.size() + kScaleAlignment - 1) / kScaleAlignment * kScaleAlignment),
        copies_(stride_ * count_),
        givesCodes_(of.givesCodes),
        groupIndex_(of.hasActOrder ? randomGroups() : std::vector<int32_t>()),
        layout_(DType::kBF16, of.rows, of.columns, of.depth, format_.activations.scaling),
        scratch_(layout_.bytes) {
    for (int turn = 0; turn < count_ && !groupIndex_.empty(); ++turn) {
      indices_.push_back(std::make_unique<DeviceArray<int32_t>>(groupIndex_));
    }
    for (int turn = 0; turn < count_; ++turn) {
      uint8_t* const to = copies_.data() + turn * stride_;
      cuda::check(cudaMemcpy(to, codes_.data(), codes_.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
      cuda::check(cudaMemcpy(to + codes_.size(), scales_.data(), scales_.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    arrange();
  }

  int count() const override { return count_; }
  size_t bytes() const override { return codes_.size() + scales_.size(); }

  void prepare(const Matrix& x, const cuda::DeviceTraits& traits, cudaStream_t stream) override {
    if (!givesCodes_ || !cuda::canMultiplyCodes(placed(codes_.data(), scales_.data()), traits)) return;
    auto* const to = reinterpret_cast<uint8_t*>(scratch_.data());
    coded_ = {to, reinterpret_cast<float*>(to + layout_.scaleOffset), x.rows, x.columns, layout_.codeStride,
              static_cast<int32_t>(layout_.scaleStride)};
    cuda::launchQuantizeCodes(coded_, x, format_.type, format_.activations, traits, stream);
  }

  void launch(const Matrix& out, const Matrix& x, int turn, const cuda::DeviceTraits& traits,
              cudaStream_t stream) const override {
    const uint8_t* const copy = copies_.data() + turn * stride_;
    QuantizedMatrix weight = placed(copy, copy + codes_.size(), turn);
    weight.order = order_;
    if (coded_.codes) cuda::launchCodedProduct(out, coded_, weight, {}, traits, stream);
    else cuda::launchQuantizedLinear(out, x, weight, {}, {scratch_.data(), scratch_.bytes()}, traits, stream);
  }

  std::vector<float> row(int, int64_t n) const override {
    std::vector<float> numbers(static_cast<size_t>(matrix_.columns));
    QuantizedMatrix matrix = placed(codes_.data(), scales_.data());
    if (!groupIndex_.empty()) matrix.groupIndex = groupIndex_.data();
    cpu::dequantizeRow(numbers.data(), matrix, n, 0, matrix_.columns);
    return numbers;
  }

  void changeInput(std::vector<float>& x) const override {
    if (format_.activations.scaling == ActivationScaling::kNone) return;
    cpu::quantizeRow(x.data(), matrix_.columns, format_.type, format_.activations);
  }

 private:
  static QuantizedMatrix describe(const GemmCase& of) {
    const CodedFormat& format = *of.codes;
    QuantizedMatrix matrix;
    matrix.codeType = format.type;
    matrix.rows = of.columns;
    matrix.columns = of.depth;
    matrix.codeStride = QuantizedMatrix::strideOf(format.type, of.depth);
    matrix.scaleType = format.scaleType;
    matrix.groupRows = format.groupRows;
    matrix.groupColumns = format.groupColumns > 0 ? format.groupColumns : static_cast<int32_t>(of.depth);
    matrix.groups = (of.depth + matrix.groupColumns - 1) / matrix.groupColumns;
    matrix.activations = format.activations;
    return matrix;
  }

  int64_t paddedRows() const { return QuantizedMatrix::paddedRows(matrix_.codeType, matrix_.rows); }

  size_t scaleCount() const {
    return static_cast<size_t>((paddedRows() + matrix_.groupRows - 1) / matrix_.groupRows * matrix_.groups);
  }

  /** As a load does. */
  void arrange() {
    const DeviceArray<char> scratch(LinearScratchLayout::arrangeBytes(matrix_.rows, matrix_.columns));
    for (int turn = 0; turn < count_; ++turn) {
      const uint8_t* const copy = copies_.data() + turn * stride_;
      const bool done = cuda::launchArrange(placed(copy, copy + codes_.size(), turn), {scratch.data(), scratch.bytes()}, {});
      if (done) order_ = CodeOrder::kTiles;
    }
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  /** Of a copy on the device, with its own index of groups, or on the host without one. */
  QuantizedMatrix placed(const void* codes, const void* scales, int turn = -1) const {
    QuantizedMatrix matrix = matrix_;
    matrix.codes = codes;
    matrix.scales = scales;
    if (turn >= 0 && !indices_.empty()) matrix.groupIndex = indices_[static_cast<size_t>(turn)]->data();
    return matrix;
  }

  /** As many columns a group as without act-order. */
  std::vector<int32_t> randomGroups() const {
    std::vector<int32_t> groups(static_cast<size_t>(matrix_.columns));
    for (size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<int32_t>(k) / matrix_.groupColumns;
    std::shuffle(groups.begin(), groups.end(), std::mt19937(11));
    return groups;
  }

  CodedFormat format_;
  QuantizedMatrix matrix_;                // its pointers are those of no copy
  std::vector<uint8_t> codes_, scales_;  // on the host; every copy holds the same
  int count_ = 0;
  size_t stride_ = 0;                     // from copy to copy
  DeviceArray<uint8_t> copies_;           // codes and scales of each
  bool givesCodes_ = false;
  std::vector<int32_t> groupIndex_;       // of act-order, on the host
  std::vector<std::unique_ptr<DeviceArray<int32_t>>> indices_;  // of each copy
  LinearScratchLayout layout_;
  DeviceArray<char> scratch_;
  cuda::CodedInput coded_;                // in the scratch, where x was quantised before
  CodeOrder order_ = CodeOrder::kRows;    // of the copies
};

}  // namespace

std::unique_ptr<GemmWeight> codedWeight(const GemmCase& of) { return std::make_unique<CodedWeight>(of); }

}  // namespace octavo::bench
