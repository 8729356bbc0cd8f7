//===- VendorProduct.cpp - regions that are one product -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. The addresses of both operands and of the result as functions of the
//     loops; each must be a sum of multiples of them.
//  2. Loops are k (reduced), m or n (of one operand) or batches (of both).
//  3. Loops of one kind become one loop where memory allows; where that of rows
//     or columns does not, its outermost ones become batches.
//  4. n is what the result is contiguous along; what is added is a matrix like
//     the result, or a number for each n.
//===----------------------------------------------------------------------===//
#include "VendorProduct.h"
#include "ProductEpilogue.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"

#include <algorithm>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using runtime::MatrixProduct;

namespace {
/// Several loops as one.
struct Axis {
  int64_t size = 1;
  /// Of lhs, rhs, result and addends; 0 where the size is 1.
  std::array<int64_t, 5> strides = {};
};
enum Tensor { Lhs, Rhs, Result, FirstAddend };
} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// `loops`, outermost first, as one loop of all tensors that have them.
static std::optional<Axis> joined(ArrayRef<unsigned> loops,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<LinearAccess> tensors) {
  Axis axis;
  if (loops.empty())
    return axis;
  for (auto [stride, tensor] : llvm::zip(axis.strides, tensors))
    stride = tensor.strides[loops.back()];
  for (unsigned loop : llvm::reverse(loops)) {
    for (auto [stride, tensor] : llvm::zip(axis.strides, tensors))
      if (tensor.strides[loop] != stride * axis.size)
        return std::nullopt;
    axis.size *= sizes[loop];
  }
  return axis;
}

/// The same, after the outermost ones that do not join have become batches.
static Axis joinInner(SmallVectorImpl<unsigned> &loops,
                      SmallVectorImpl<unsigned> &batch, ArrayRef<int64_t> sizes,
                      ArrayRef<LinearAccess> tensors) {
  std::optional<Axis> axis;
  while (!(axis = joined(loops, sizes, tensors))) {
    batch.push_back(loops.front());
    loops.erase(loops.begin());
  }
  return *axis;
}

/// Widest first, equal ones in the order of loops.
static void sortByStride(SmallVectorImpl<unsigned> &loops,
                         const LinearAccess &tensor) {
  llvm::sort(loops, [&](unsigned a, unsigned b) {
    return std::pair(tensor.strides[b], a) < std::pair(tensor.strides[a], b);
  });
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// The matrix of an operand with `outer` beside k.
static std::optional<MatrixProduct::Matrix>
operandMatrix(const LinearAccess &access, Tensor which, const Axis &outer,
              const Axis &k, const Axis &batch) {
  int64_t along = k.strides[which], across = outer.strides[which];
  MatrixProduct::Matrix matrix{access.argument, access.dtype, true, across,
                               batch.strides[which]};
  if (along == 1 || k.size == 1) {
    if (outer.size == 1)
      matrix.pitch = k.size;
    if (matrix.pitch >= k.size)
      return matrix;
  }
  if (across != 1 && outer.size != 1)
    return std::nullopt;
  matrix.alongSum = false;
  matrix.pitch = k.size == 1 ? outer.size : along;
  return matrix.pitch >= outer.size ? std::optional(matrix) : std::nullopt;
}

/// Puts what is added, in order, into its place: a matrix first, then a number
/// for each column. False if it is something else.
static bool placeAddends(MatrixProduct &product, ArrayRef<LinearAccess> addends,
                         const Axis &rows, const Axis &columns,
                         const Axis &batches) {
  for (auto [i, addend] : llvm::enumerate(addends)) {
    unsigned which = FirstAddend + i;
    int64_t across = rows.strides[which], between = batches.strides[which];
    if (addend.dtype != product.result.dtype || product.bias ||
        (columns.size != 1 && columns.strides[which] != 1))
      return false;
    bool isLast = i + 1 == addends.size();
    if (across == 0 && between == 0 && isLast) {
      product.bias = addend.argument;
      continue;
    }
    MatrixProduct::Matrix matrix{addend.argument, addend.dtype, false,
                                 rows.size == 1 ? columns.size : across,
                                 between};
    if (product.addend || matrix.pitch < columns.size)
      return false;
    product.addend = matrix;
  }
  return true;
}

/// Types of products that the library may have, with sums as here.
static bool hasTypes(const MatrixProduct &product) {
  DType lhs = product.lhs.dtype, rhs = product.rhs.dtype,
        result = product.result.dtype;
  auto isFloat8 = [](DType type) {
    return type == DType::F8E4M3 || type == DType::F8E5M2;
  };
  if (lhs == DType::I8)
    return rhs == DType::I8 && result == DType::I32;
  bool isHalf = result == DType::F16 || result == DType::BF16;
  if (isFloat8(lhs))
    return isFloat8(rhs) && (isHalf || (result == DType::F32 && !product.bias));
  if (lhs == DType::F32)
    return rhs == DType::F32 && result == DType::F32;
  return (lhs == DType::F16 || lhs == DType::BF16) && rhs == lhs &&
         (result == lhs || result == DType::F32);
}

static std::optional<MatrixProduct>
productOf(ArrayRef<LinearAccess> tensors, const analysis::RegionForm &form) {
  SmallVector<int64_t> sizes = form.spine();
  SmallVector<unsigned> batch, m, n, k;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    if (size < 1)
      return std::nullopt;
    if (size == 1)
      continue;
    bool inLhs = tensors[Lhs].strides[loop], inRhs = tensors[Rhs].strides[loop];
    auto &loops = loop >= form.parallel.size() ? k
                  : inLhs == inRhs             ? batch
                  : inLhs                      ? m
                                               : n;
    loops.push_back(loop);
  }
  for (auto *loops : {&m, &n})
    sortByStride(*loops, tensors[Result]);
  sortByStride(k, tensors[Lhs]);
  std::optional<Axis> sum = joined(k, sizes, tensors);
  if (!sum)
    return std::nullopt;
  Axis rows = joinInner(m, batch, sizes, tensors);
  Axis columns = joinInner(n, batch, sizes, tensors);
  sortByStride(batch, tensors[Result]);
  std::optional<Axis> batches = joined(batch, sizes, tensors);
  if (!batches)
    return std::nullopt;
  Tensor lhs = Lhs, rhs = Rhs;
  if (columns.strides[Result] != 1 &&
      (columns.size != 1 || rows.strides[Result] == 1)) {
    std::swap(rows, columns);
    std::swap(lhs, rhs);
  }
  if (columns.size != 1 && columns.strides[Result] != 1)
    return std::nullopt;
  MatrixProduct product;
  product.batch = batches->size;
  product.m = rows.size;
  product.n = columns.size;
  product.k = sum->size;
  if (std::max({product.batch, product.m, product.n, product.k}) > INT32_MAX)
    return std::nullopt;
  auto left = operandMatrix(tensors[lhs], lhs, rows, *sum, *batches);
  auto right = operandMatrix(tensors[rhs], rhs, columns, *sum, *batches);
  if (!left || !right)
    return std::nullopt;
  product.lhs = *left;
  product.rhs = *right;
  product.result = {tensors[Result].argument, tensors[Result].dtype, false,
                    rows.size == 1 ? columns.size : rows.strides[Result],
                    batches->strides[Result]};
  if (product.result.pitch < product.n ||
      !placeAddends(product, tensors.drop_front(FirstAddend), rows, columns,
                    *batches) ||
      !hasTypes(product))
    return std::nullopt;
  return product;
}

std::optional<MatrixProduct>
driver::vendorProduct(graph::FusionOp fusion,
                      const analysis::RegionForm &form) {
  auto hero = dyn_cast_or_null<graph::ContractOp>(form.hero());
  if (!hero || form.outputs.size() != 1 || !form.statistics.empty() ||
      form.second() || llvm::any_of(form.spine(), ShapedType::isDynamic))
    return std::nullopt;
  analysis::FactTable facts;
  const analysis::OpFacts *fact = facts.get(hero);
  if (!fact || fact->space.operands.size() != 2)
    return std::nullopt;
  SmallVector<int64_t> sizes = form.spine();
  SmallVector<LinearAccess> tensors;
  for (auto [operand, access] :
       llvm::zip(hero->getOperands(), fact->space.operands)) {
    AffineMap at =
        analysis::composeIndex(access.map, form.stages.front().loops, sizes);
    std::optional<LinearAccess> found =
        operandAccess(facts, operand, at, sizes);
    if (!found)
      return std::nullopt;
    tensors.push_back(std::move(*found));
  }
  const analysis::RegionOutput &output = form.outputs.front();
  std::optional<LinearAccess> result =
      accessOf(fusion.getNumOperands(), output.index, output.value, sizes);
  if (!result)
    return std::nullopt;
  tensors.push_back(std::move(*result));
  std::optional<ProductEpilogue> epilogue = productEpilogue(facts, form);
  if (!epilogue)
    return std::nullopt;
  llvm::append_range(tensors, epilogue->addends);
  std::optional<MatrixProduct> product = productOf(tensors, form);
  if (!product)
    return std::nullopt;
  product->activation = epilogue->activation;
  product->fastAccumulation = graph::hasFastAccumulation(hero);
  product->allowTf32 = product->lhs.dtype == DType::F32 && hero.getAllowTf32();
  return product;
}
