//===- ShapeUtils.h - checked shape arithmetic ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes come from untrusted text, so every sum and product is checked.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DIALECT_GRAPH_IR_SHAPEUTILS_H
#define FUSEC_LIB_DIALECT_GRAPH_IR_SHAPEUTILS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <optional>
#include <string>

namespace fusec::graph::shapes {

/// lhs + rhs; nothing on overflow.
inline std::optional<int64_t> checkedAdd(int64_t lhs, int64_t rhs) {
  int64_t sum;
  if (llvm::AddOverflow(lhs, rhs, sum))
    return std::nullopt;
  return sum;
}

/// lhs * rhs; nothing on overflow.
inline std::optional<int64_t> checkedMul(int64_t lhs, int64_t rhs) {
  int64_t product;
  if (llvm::MulOverflow(lhs, rhs, product))
    return std::nullopt;
  return product;
}

/// The product of static sizes (0 wins over any overflow); nothing if it does
/// not fit in 63 bits.
std::optional<int64_t> checkedProduct(llvm::ArrayRef<int64_t> sizes);

/// True if one is dynamic or both are equal.
inline bool sizesAgree(int64_t lhs, int64_t rhs) {
  return mlir::ShapedType::isDynamic(lhs) || mlir::ShapedType::isDynamic(rhs) ||
         lhs == rhs;
}

/// The indices of `operand` elements from the index of the same element in
/// `result`, both row-major. Pure collapses and expansions and all shapes with
/// common factors give one division per split; others go through one linear
/// index. Nothing if dynamic dimensions cannot be matched.
std::optional<mlir::AffineMap> reshapeMap(llvm::ArrayRef<int64_t> operand,
                                          llvm::ArrayRef<int64_t> result,
                                          mlir::MLIRContext *context);

/// Fails with a message unless `axis` lies in [0, rank).
mlir::LogicalResult
checkAxis(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
          int64_t axis, int64_t rank);
/// Fails with a message unless `result` has a number of elements that fits in
/// 63 bits. Dynamic dimensions count as 1.
mlir::LogicalResult checkElementCount(mlir::Operation *op,
                                      mlir::RankedTensorType result);
/// Fails with a message unless `name` has one entry per dimension.
mlir::LogicalResult checkLength(mlir::Operation *op, llvm::StringRef name,
                                llvm::ArrayRef<int64_t> values, int64_t rank);
/// Fails unless both tensors have one element type.
mlir::LogicalResult checkSameElement(mlir::Operation *op,
                                     mlir::RankedTensorType operand,
                                     mlir::RankedTensorType result);

//===----------------------------------------------------------------------===//
// One inference for verify and inferReturnTypes
//===----------------------------------------------------------------------===//

/// Takes the reason why a type cannot be inferred.
using Complain = llvm::function_ref<void(const llvm::Twine &)>;

/// `type` as it is printed.
std::string text(mlir::Type type);

/// inferReturnTypes of an op whose `infer` takes an adaptor and a Complain.
template <typename InferFn>
mlir::LogicalResult inferInto(llvm::SmallVectorImpl<mlir::Type> &types,
                              std::optional<mlir::Location> location,
                              InferFn infer) {
  mlir::FailureOr<mlir::RankedTensorType> type =
      infer([&](const llvm::Twine &why) {
        (void)mlir::emitOptionalError(location, why.str());
      });
  if (failed(type))
    return mlir::failure();
  types.push_back(*type);
  return mlir::success();
}

/// The same inference from an op's verifier, which runs before that of the
/// inference trait: one message, and no later check sees bad attributes.
template <typename InferFn>
mlir::LogicalResult verifyInferred(mlir::Operation *op, InferFn infer) {
  mlir::FailureOr<mlir::RankedTensorType> type =
      infer([&](const llvm::Twine &why) { op->emitOpError(why); });
  if (failed(type))
    return mlir::failure();
  mlir::Type found = op->getResult(0).getType();
  if (*type != found)
    return op->emitOpError()
           << "result must have type " << *type << ", found " << found;
  return checkElementCount(op, *type);
}

} // namespace fusec::graph::shapes

#endif // FUSEC_LIB_DIALECT_GRAPH_IR_SHAPEUTILS_H
