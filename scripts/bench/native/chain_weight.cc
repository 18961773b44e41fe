#include "scripts/bench/native/chain_weight.h"

#include "base/error.h"
#include "cuda/fused/fused.h"
#include "cuda/quantized/quantized.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

void requireKernel(bool hasKernel) {
  if (!hasKernel) throw Error(ErrorCode::kKernelsUnavailable, "the chain has no kernel for a product of this shape");
}

class DenseLink : public ChainWeight {
 public:
  DenseLink(int64_t rows, int64_t columns, cudaStream_t stream)
      : values_(static_cast<size_t>(rows * columns)), matrix_{values_.data(), DType::kBF16, rows, columns, columns} {
    fillUniform(values_.data(), values_.count(), static_cast<uint32_t>(rows), stream);
  }
  size_t bytes() const override { return values_.bytes(); }
  void launch(const FusedLinear& fused, const ChainLaunch& to) const override {
    requireKernel(cuda::canMultiplyRows(fused, matrix_, to.traits));
    cuda::launchRowProduct(fused, matrix_, {}, to.traits, to.stream);
  }

 private:
  DeviceArray<uint16_t> values_;
  Matrix matrix_;
};

class CodedLink : public ChainWeight {
 public:
  CodedLink(int64_t rows, int64_t columns, const CodedFormat& format, cudaStream_t stream)
      : matrix_(describe(rows, columns, format)),
        codes_(static_cast<size_t>(padded() * matrix_.codeStride)),
        scales_(scaleCount() * dtypeBytes(format.scaleType)) {
    matrix_.codes = codes_.data();
    matrix_.scales = scales_.data();
    const auto seed = static_cast<uint32_t>(rows);
    fillWeightCodes(codes_.data(), codes_.bytes(), format.type, seed, stream);
    fillScales(scales_.data(), scaleCount(), format.scaleType, seed, stream);
    const DeviceArray<char> scratch(LinearScratchLayout::arrangeBytes(rows, columns));
    if (cuda::launchArrange(matrix_, {scratch.data(), scratch.bytes()}, stream)) matrix_.order = CodeOrder::kTiles;
    cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  size_t bytes() const override { return codes_.bytes() + scales_.bytes(); }
  void launch(const FusedLinear& fused, const ChainLaunch& to) const override {
    requireKernel(cuda::canMultiplyRows(fused, matrix_, to.traits));
    cuda::launchRowProduct(fused, matrix_, {}, to.traits, to.stream);
  }

 private:
  static QuantizedMatrix describe(int64_t rows, int64_t columns, const CodedFormat& format) {
    QuantizedMatrix matrix;
    matrix.codeType = format.type;
    matrix.rows = rows;
    matrix.columns = columns;
    matrix.codeStride = QuantizedMatrix::strideOf(format.type, columns);
    matrix.scaleType = format.scaleType;
    matrix.groupRows = format.groupRows;
    matrix.groupColumns = format.groupColumns > 0 ? format.groupColumns : static_cast<int32_t>(columns);
    matrix.groups = (columns + matrix.groupColumns - 1) / matrix.groupColumns;
    matrix.activations = format.activations;
    return matrix;
  }
  int64_t padded() const { return QuantizedMatrix::paddedRows(matrix_.codeType, matrix_.rows); }
  size_t scaleCount() const {
    return static_cast<size_t>((padded() + matrix_.groupRows - 1) / matrix_.groupRows * matrix_.groups);
  }

  QuantizedMatrix matrix_;
  DeviceArray<uint8_t> codes_, scales_;
};

}  // namespace

std::unique_ptr<ChainWeight> chainWeight(int64_t rows, int64_t columns, const CodedFormat* format, cudaStream_t stream) {
  if (format) return std::make_unique<CodedLink>(rows, columns, *format, stream);
  return std::make_unique<DenseLink>(rows, columns, stream);
}

}  // namespace octavo::bench
