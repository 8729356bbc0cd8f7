//===- ContractBoxes.cpp - operands that the copy engine brings -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractBoxes.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

std::optional<GemmMatrix> cuda::boxedMatrix(simt::ContractOp op, bool isLhs) {
  GemmConfig config = GemmConfig::fromNumbers(op.getConfig());
  Value base = isLhs ? op.getLhsBase() : op.getRhsBase();
  std::optional<llvm::ArrayRef<int64_t>> numbers =
      isLhs ? op.getLhsMatrix() : op.getRhsMatrix();
  if (config.loop != GemmLoop::Warpgroup || !base || !numbers)
    return std::nullopt;
  GemmMatrix matrix = GemmMatrix::fromNumbers(*numbers);
  bool isOuter = isLhs ? op.getLhsOuter() : op.getRhsOuter();
  if (!matrix.isBoxable(config.elementBytes(), isOuter))
    return std::nullopt;
  return matrix;
}

int64_t cuda::shortRows(simt::ContractOp op) {
  return boxedMatrix(op, /*isLhs=*/true) && !op.getLhsOuter()
             ? GemmConfig::fromNumbers(op.getConfig()).boxRows
             : 0;
}

std::optional<int64_t> cuda::rowBlocks(simt::ContractOp op) {
  std::optional<GemmMatrix> matrix = boxedMatrix(op, /*isLhs=*/false);
  // Results that turn in shared memory, or have 32 bits, are taken as they are.
  Type results = op.getEpilogue().front().getArgument(3).getType();
  if (cast<MemRefType>(results).getNumElements() == 2)
    return std::nullopt;
  // An open number of columns need not be a multiple of 32.
  if (!matrix || op.getRhsOuter() || !matchPattern(op.getN(), m_Constant()) ||
      matrix->outer % 32 != 0 || matrix->hasLow() ||
      // The copy engine's limit of strides.
      matrix->outerStride >= (int64_t(1) << 35) / 4 ||
      GemmConfig::fromNumbers(op.getConfig()).boxColumns() % 32 != 0)
    return std::nullopt;
  if (!matrix->hasHigh())
    return 0;
  // One dimension goes through the blocks of all batches.
  if (matrix->highStride != matrix->outer * matrix->outerStride)
    return std::nullopt;
  return matrix->outer / 32;
}

/// The map of one operand: the contiguous dimension first; a box is 128 bytes
/// of it by the tile's extent along the other one.
static TensorBoxes boxesOf(simt::ContractOp op, bool isLhs,
                           const GemmMatrix &matrix) {
  GemmConfig config = GemmConfig::fromNumbers(op.getConfig());
  bool isOuter = isLhs ? op.getLhsOuter() : op.getRhsOuter();
  int64_t tile = isLhs ? config.boxLines(isOuter) : config.boxColumns();
  if (int64_t rows = isLhs ? shortRows(op) : 0)
    tile = rows;
  int64_t bytes = config.elementBytes();
  TensorBoxes result;
  Value base = isLhs ? op.getLhsBase() : op.getRhsBase();
  result.argument = cast<BlockArgument>(base).getArgNumber();
  runtime::TensorMapArg &map = result.map;
  map.dtype = bytes == 1                     ? DType::U8
              : bytes == 4                   ? DType::F32
              : config.kind == GemmKind::F16 ? DType::F16
                                             : DType::BF16;
  map.roundsToTf32 = config.kind == GemmKind::TF32;
  map.swizzle = 128;
  map.l2Promotion = 256;
  auto add = [&](int64_t size, int64_t box, int64_t stride) {
    if (!map.dims.empty())
      map.strides.push_back(stride * bytes);
    map.dims.push_back(size);
    map.box.push_back(uint32_t(box));
  };
  int64_t inner = 128 / bytes;
  if (!isLhs && rowBlocks(op)) {
    // Rows of 2, 4 (8 apart), 4 (2 apart), then 32, through all batches.
    add(matrix.k, inner, 1);
    add(2, 2, matrix.outerStride);
    add(4, 4, 8 * matrix.outerStride);
    add(4, 4, 2 * matrix.outerStride);
    add(matrix.outer / 32 * (matrix.hasHigh() ? matrix.high : 1), tile / 32,
        32 * matrix.outerStride);
    return result;
  }
  if (isOuter) {
    add(matrix.outer, inner, 1);
    add(matrix.k, isLhs ? tile : config.boxDepth(), matrix.kStride);
  } else {
    add(matrix.k, inner, 1);
    add(matrix.outer, tile, matrix.outerStride);
  }
  if (matrix.hasLow())
    add(matrix.split, 1, matrix.lowStride);
  if (matrix.hasHigh())
    add(matrix.high, 1, matrix.highStride);
  return result;
}

SmallVector<TensorBoxes> cuda::tensorBoxes(simt::KernelOp kernel) {
  SmallVector<TensorBoxes> result;
  for (auto op : kernel.getBody().front().getOps<simt::ContractOp>())
    for (bool isLhs : {true, false})
      if (std::optional<GemmMatrix> matrix = boxedMatrix(op, isLhs))
        result.push_back(boxesOf(op, isLhs, *matrix));
  for (auto op : kernel.getBody().front().getOps<simt::ContractOp>())
    if (Value base = op.getPairBase()) {
      result.push_back(result.back());
      result.back().argument = cast<BlockArgument>(base).getArgNumber();
    }
  return result;
}
