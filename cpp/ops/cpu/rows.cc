// Ops that work row by row: norms, add, rope, swiglu.
#include "ops/cpu/access.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/head_rows.h"
#include "ops/cpu/scratch.h"

namespace octavo {

using namespace cpu;

namespace {

const float* loadVector(const Vector& vector, float* space) {
  rowKernels().load(space, vector.data, vector.dtype, vector.size);
  return space;
}

}  // namespace

void CpuOps::rmsNorm(const Matrix& out, const Matrix& x, const Vector& weight, float epsilon, Stream&) {
  forRows(x.rows, x.columns, [&](int64_t begin, int64_t end) {
    const float* factors = loadVector(weight, scratch(ScratchUse::kWeight, x.columns));
    float* row = scratch(ScratchUse::kInput, x.columns);
    for (int64_t r = begin; r < end; ++r) {
      loadRow(row, x, r);
      normalizeRow(row, factors, x.columns, epsilon);
      storeRow(out, r, row);
    }
  });
}

void CpuOps::addRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight,
                        float epsilon, Stream&) {
  forRows(x.rows, 2 * x.columns, [&](int64_t begin, int64_t end) {
    const float* factors = loadVector(weight, scratch(ScratchUse::kWeight, x.columns));
    float* row = scratch(ScratchUse::kInput, x.columns);
    float* sum = scratch(ScratchUse::kOutput, x.columns);
    for (int64_t r = begin; r < end; ++r) {
      loadRow(row, x, r);
      loadRow(sum, residual, r);
      rowKernels().add(sum, row, x.columns);
      storeRow(residual, r, sum);
      loadRow(sum, residual, r);  // as rounded
      normalizeRow(sum, factors, x.columns, epsilon);
      storeRow(out, r, sum);
    }
  });
}

void CpuOps::add(const Matrix& y, const Matrix& x, Stream&) {
  forRows(y.rows, y.columns, [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchUse::kInput, y.columns);
    float* sum = scratch(ScratchUse::kOutput, y.columns);
    for (int64_t r = begin; r < end; ++r) {
      loadRow(row, x, r);
      loadRow(sum, y, r);
      rowKernels().add(sum, row, y.columns);
      storeRow(y, r, sum);
    }
  });
}

void CpuOps::headNorm(const Heads& heads, const Vector& weight, float epsilon, Stream&) {
  forRows(heads.tokens, static_cast<int64_t>(heads.heads) * heads.dim, [&](int64_t begin, int64_t end) {
    const float* factors = loadVector(weight, scratch(ScratchUse::kWeight, heads.dim));
    float* row = scratch(ScratchUse::kInput, heads.dim);
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t h = 0; h < heads.heads; ++h) {
        rowKernels().load(row, headOf(heads, t, h), heads.dtype, heads.dim);
        normalizeRow(row, factors, heads.dim, epsilon);
        rowKernels().store(headOf(heads, t, h), heads.dtype, row, heads.dim);
      }
    }
  });
}

namespace {

void rotateHeads(const Heads& heads, int64_t token, const float* cosines, const float* sines, float* row) {
  const int64_t half = heads.dim / 2;
  for (int64_t h = 0; h < heads.heads; ++h) {
    void* head = headOf(heads, token, h);
    rowKernels().load(row, head, heads.dtype, heads.dim);
    rowKernels().rotate(row, row + half, cosines, sines, half);
    rowKernels().store(head, heads.dtype, row, heads.dim);
  }
}

}  // namespace

void CpuOps::rope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
                  float magnitude, Stream&) {
  const int64_t half = query.dim / 2;
  const int64_t elements = (static_cast<int64_t>(query.heads) + key.heads) * query.dim;
  forRows(query.tokens, elements, [&](int64_t begin, int64_t end) {
    float* cosines = scratch(ScratchUse::kWeight, 2 * half);
    float* sines = cosines + half;
    float* row = scratch(ScratchUse::kInput, query.dim);
    for (int64_t t = begin; t < end; ++t) {
      setRotation(cosines, sines, positions[t], inverseFrequencies, magnitude, half);
      rotateHeads(query, t, cosines, sines, row);
      rotateHeads(key, t, cosines, sines, row);
    }
  });
}

void CpuOps::swiglu(const Matrix& out, const Matrix& gateUp, Stream&) {
  forRows(out.rows, 4 * out.columns, [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchUse::kInput, gateUp.columns);
    for (int64_t r = begin; r < end; ++r) {
      loadRow(row, gateUp, r);
      rowKernels().swiglu(row, row + out.columns, out.columns);
      storeRow(out, r, row);
    }
  });
}

}  // namespace octavo
