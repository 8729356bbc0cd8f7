//===- ContractBoxes.cpp - operands that the copy engine brings -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractBoxes.h"
#include "EpilogueHole.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

namespace {
/// A sum of multiples of the epilogue's coordinates and of the variable of the
/// loop over a call's results.
struct Places {
  int64_t constant = 0, coordinates[3] = {}, result = 0;
};
} // namespace

static std::optional<Places> placesOf(Value value, Block &hole) {
  Places places;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    places.constant = number.getSExtValue();
    return places;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == &hole && argument.getArgNumber() < 3)
      places.coordinates[argument.getArgNumber()] = 1;
    else if (isa<scf::ForOp>(argument.getOwner()->getParentOp()))
      places.result = 1;
    else
      return std::nullopt;
    return places;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Places> left = placesOf(op->getOperand(0), hole),
                        right = placesOf(op->getOperand(1), hole);
  bool isSum = isa<arith::AddIOp>(op);
  if (!left || !right ||
      (!isSum && !matchPattern(op->getOperand(1), m_ConstantInt(&number))))
    return std::nullopt;
  auto join = [&](int64_t a, int64_t b) {
    return isSum ? a + b : a * right->constant;
  };
  places.constant = join(left->constant, right->constant);
  for (int i = 0; i < 3; ++i)
    places.coordinates[i] = join(left->coordinates[i], right->coordinates[i]);
  places.result = join(left->result, right->result);
  return places;
}

std::optional<GemmMatrix> cuda::storedMatrix(simt::ContractOp op) {
  GemmConfig config = GemmConfig::fromNumbers(op.getConfig());
  std::optional<GemmMatrix> a = boxedMatrix(op, /*isLhs=*/true),
                            b = boxedMatrix(op, /*isLhs=*/false);
  Block &hole = op.getEpilogue().front();
  simt::StoreOp store = turnedStore(hole);
  // The Warpgroup loop is one architecture's.
  if (!a || !b || !store || store.getMask() || !op.getStates().empty() ||
      !canMask(hole, nullptr) || !config.storesBoxes(GemmDevice()))
    return std::nullopt;
  std::optional<Places> places = placesOf(store.getOffset(), hole);
  if (!places || places->constant || places->result != 1 ||
      places->coordinates[2] != 1)
    return std::nullopt;
  GemmMatrix matrix;
  matrix.outer = a->outer, matrix.k = b->outer;
  matrix.outerStride = places->coordinates[1], matrix.kStride = 1;
  matrix.high = a->split * a->high;
  matrix.highStride = places->coordinates[0];
  if (!matrix.isBoxable(/*bytes=*/2, /*isOuter=*/false) ||
      (matrix.high > 1 && !matrix.hasHigh()))
    return std::nullopt;
  return matrix;
}

/// The map of the results: boxes of 64 rows and columns.
static TensorBoxes storedBoxes(simt::ContractOp op, const GemmMatrix &matrix) {
  TensorBoxes result;
  Value buffer = turnedStore(op.getEpilogue().front()).getBuffer();
  result.argument = cast<BlockArgument>(buffer).getArgNumber();
  runtime::TensorMapArg &map = result.map;
  map.dtype = DType::F16;
  map.swizzle = 128;
  map.dims = {matrix.k, matrix.outer};
  map.box = {64, 64};
  map.strides = {2 * matrix.outerStride};
  if (matrix.hasHigh()) {
    map.dims.push_back(matrix.high);
    map.box.push_back(1);
    map.strides.push_back(2 * matrix.highStride);
  }
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
  for (auto op : kernel.getBody().front().getOps<simt::ContractOp>())
    if (std::optional<GemmMatrix> matrix = storedMatrix(op))
      result.push_back(storedBoxes(op, *matrix));
  return result;
}
