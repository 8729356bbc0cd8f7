//===- VendorCall.cpp - a product by the GPU vendor's library -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Program.h"

using namespace fusec::runtime;

static std::optional<int64_t> reach(const MatrixProduct::Matrix &matrix,
                                    int64_t batch, int64_t contiguous,
                                    int64_t others) {
  int64_t across, batches, result = contiguous;
  if (matrix.pitch < contiguous || matrix.batchPitch < 0 ||
      __builtin_mul_overflow(others - 1, matrix.pitch, &across) ||
      __builtin_mul_overflow(batch - 1, matrix.batchPitch, &batches) ||
      __builtin_add_overflow(result, across, &result) ||
      __builtin_add_overflow(result, batches, &result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> MatrixProduct::lhsReach() const {
  return lhs.alongSum ? reach(lhs, batch, k, m) : reach(lhs, batch, m, k);
}
std::optional<int64_t> MatrixProduct::rhsReach() const {
  return rhs.alongSum ? reach(rhs, batch, k, n) : reach(rhs, batch, n, k);
}
std::optional<int64_t> MatrixProduct::resultReach() const {
  return reachAsResult(result);
}
std::optional<int64_t>
MatrixProduct::reachAsResult(const Matrix &matrix) const {
  return reach(matrix, batch, n, m);
}

void fusec::runtime::addVendorCall(Program &program, Launch &launch,
                                   const MatrixProduct &product,
                                   const VendorAlgorithm &algorithm) {
  BufferRef workspace{Space::Temporary, uint32_t(program.temporaries.size())};
  program.temporaries.push_back({int64_t(algorithm.workspaceBytes), -1});
  launch.vendor = VendorCall{product, algorithm, workspace};
}
