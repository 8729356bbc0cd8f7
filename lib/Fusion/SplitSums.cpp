//===- SplitSums.cpp - long sums of few results ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few results and many terms keeps few multiprocessors busy, with
// small tiles that read much. Its sums are divided into parts, one batch each,
// which take large tiles; a second kernel adds the parts and has the epilogue.
// The parts stay in the L2, so they cost less than they save where k is long.
// Clusters that divide k (gemm_split.cuh) do without the second kernel. What
// they cannot: operands that are computed on their way, more parts than blocks
// of a cluster, and filling a GPU with clusters of more than two. So products
// that they are clearly faster for are left to them.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/SplitSums.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

/// Columns of a large tile, rows of any, and terms a step.
static constexpr int64_t kTileN = 256, kTileM = 128, kStep = 64;
/// Terms of a part at least, and results along each side.
static constexpr int64_t kShortPart = 512, kFewResults = 65;
/// Nanoseconds for one more term with large tiles, and with the tiles of whole
/// sums where large ones would be at most a 2nd, 4th, 8th of the
/// multiprocessors (benchmarks/results/2026-11-30-gemm.md).
static constexpr double kLarge = 10.8, kHalf = 8, kQuarter = 4.7, kEighth = 2.8;
/// Terms that start and end of a tile cost; the second kernel, in nanoseconds.
static constexpr double kFixedTerms = 200, kSecond = 2500;
/// What two kernels and one took beside that, in nanoseconds: 37 to 39 us for
/// 1024 x 1024 x 8192, 27 for 512 x 512 x 16384, and 16.2 for 4096 x 1024 x
/// 1024, where 13.2 are estimated.
static constexpr double kTwoKernels = 8000, kOneKernel = 3000;

int64_t fusion::sumParts(int64_t m, int64_t n, int64_t k, int64_t batch,
                         std::optional<cuda::GemmKind> boxes,
                         const TargetInfo &target) {
  if (target.computeCapability != 90 || m < kFewResults || n < kFewResults)
    return 1;
  int64_t tiles =
      llvm::divideCeil(m, kTileM) * llvm::divideCeil(n, kTileN) * batch;
  int64_t all = target.multiprocessors;
  if (tiles < 1 || 2 * tiles > all)
    return 1;
  double step = 8 * tiles <= all   ? kEighth
                : 4 * tiles <= all ? kQuarter
                                   : kHalf;
  // Nanoseconds of the product in parts, by the loop on warpgroups.
  auto product = [&](int64_t parts) {
    if (!boxes)
      return (double(k / parts) + kFixedTerms) * (parts > 1 ? kLarge : step);
    return 1000 * cuda::rankGemmConfigs(*boxes, m, n, k / parts, batch * parts,
                                        cuda::GemmSupply::Boxes,
                                        cuda::GemmDevice::of(target))
                      .front()
                      .microseconds;
  };
  // As many parts as large tiles fill the GPU with. (Fewer of small tiles, four
  // for 512 x 512 x 16384, took 22.4 us for 21.8.)
  int64_t parts = 1;
  while (2 * parts * tiles <= all && k % (2 * parts * kStep) == 0 &&
         k / (2 * parts) >= kShortPart)
    parts *= 2;
  if (parts == 1)
    return 1;
  double results = double(m * n * batch * parts) * 4;
  double divided =
      product(parts) + results / target.memoryBandwidth * 1e9 + kSecond;
  double whole = std::min(product(1), (double(k) + kFixedTerms) * step);
  if (boxes && whole + kOneKernel < 0.9 * (divided + kTwoKernels))
    return 1;
  return divided < 0.9 * whole ? parts : 1;
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `value` with dimension `dim` as [parts, rest].
static Value divide(OpBuilder &builder, Location loc, Value value, int64_t dim,
                    int64_t parts) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return graph::ReshapeOp::create(builder, loc, type.clone(shape), value);
}

/// `dims` where dimension `dim` has become two.
static SmallVector<int64_t> moved(ArrayRef<int64_t> dims, int64_t dim) {
  SmallVector<int64_t> result(dims);
  for (int64_t &d : result)
    d += d > dim;
  return result;
}

static void split(graph::ContractOp op, int64_t parts) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t l = op.getLhsContract()[0], r = op.getRhsContract()[0];
  SmallVector<int64_t> lhsBatch = moved(op.getLhsBatch(), l);
  SmallVector<int64_t> rhsBatch = moved(op.getRhsBatch(), r);
  lhsBatch.push_back(l);
  rhsBatch.push_back(r);
  RankedTensorType type = typeOf(op.getResult());
  SmallVector<int64_t> shape(type.getShape());
  int64_t at = op.getLhsBatch().size();
  shape.insert(shape.begin() + at, parts);
  auto partial = RankedTensorType::get(shape, builder.getF32Type());
  Value sums = graph::ContractOp::create(
      builder, loc, partial, divide(builder, loc, op.getLhs(), l, parts),
      divide(builder, loc, op.getRhs(), r, parts), lhsBatch, rhsBatch,
      ArrayRef<int64_t>{l + 1}, ArrayRef<int64_t>{r + 1});
  Value sum = graph::ReduceOp::create(
      builder, loc, type.clone(builder.getF32Type()), graph::ReduceKind::sum,
      sums, ArrayRef<int64_t>{at});
  if (!type.getElementType().isF32())
    sum = graph::CastOp::create(builder, loc, type, sum);
  op.getResult().replaceAllUsesWith(sum);
  op.erase();
}

/// Whether `value` has 16-bit floats of known size.
static bool isPlain(Value value) {
  RankedTensorType type = typeOf(value);
  return type.hasStaticShape() &&
         (type.getElementType().isF16() || type.getElementType().isBF16());
}

/// Whether the copy engine brings `value`, an operand of `op`: it is in memory,
/// as an argument or what another product makes, in rows of whole 16 bytes
/// along k or along its other dimension.
static bool isBoxed(Value value, ArrayRef<int64_t> contract,
                    ArrayRef<int64_t> free) {
  int64_t last = typeOf(value).getRank() - 1;
  return free.size() == 1 && (contract[0] == last || free[0] == last) &&
         typeOf(value).getDimSize(last) % 8 == 0 &&
         (!value.getDefiningOp() || value.getDefiningOp<graph::ContractOp>() ||
          value.getDefiningOp()->hasTrait<OpTrait::ConstantLike>());
}

using DividedSums = SmallVector<std::pair<graph::ContractOp, int64_t>>;

/// The products whose sums are divided, and into how many parts.
static DividedSums findLongSums(FunctionOpInterface function,
                                const TargetInfo &target) {
  DividedSums found;
  for (auto op : function.getFunctionBody().getOps<graph::ContractOp>()) {
    RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs());
    if (op.getLhsContract().size() != 1 || !isPlain(op.getLhs()) ||
        !isPlain(op.getRhs()) || lhs.getElementType() != rhs.getElementType() ||
        typeOf(op.getResult()).getElementType().isF64())
      continue;
    auto product = [](RankedTensorType type, ArrayRef<int64_t> dims) {
      int64_t result = 1;
      for (int64_t dim : dims)
        result *= type.getDimSize(dim);
      return result;
    };
    int64_t k = lhs.getDimSize(op.getLhsContract()[0]);
    std::optional<cuda::GemmKind> boxes;
    if (isBoxed(op.getLhs(), op.getLhsContract(), op.getLhsFree()) &&
        isBoxed(op.getRhs(), op.getRhsContract(), op.getRhsFree()))
      boxes = lhs.getElementType().isF16() ? cuda::GemmKind::F16
                                           : cuda::GemmKind::BF16;
    int64_t parts =
        sumParts(product(lhs, op.getLhsFree()), product(rhs, op.getRhsFree()),
                 k, product(lhs, op.getLhsBatch()), boxes, target);
    if (parts > 1)
      found.push_back({op, parts});
  }
  return found;
}

bool fusion::hasLongSums(FunctionOpInterface function,
                         const TargetInfo &target) {
  return !findLongSums(function, target).empty();
}

unsigned fusion::splitSums(FunctionOpInterface function,
                           const TargetInfo &target) {
  DividedSums found = findLongSums(function, target);
  for (auto [op, parts] : found)
    split(op, parts);
  return found.size();
}
