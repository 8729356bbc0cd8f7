//===- Writer.h - a graph that grows ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What recipes stand on: values to build on, and values made to fit.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUZZ_WRITER_H
#define FUSEC_LIB_FUZZ_WRITER_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Fuzz/Generate.h"
#include "mlir/IR/Builders.h"

namespace fusec::fuzz {

using Shape = llvm::SmallVector<int64_t>;

/// Most elements of a tensor: the reference evaluator must stay quick.
inline constexpr int64_t kMaxElements = 20000;

/// A function in the making. All values have static shapes.
class Writer {
public:
  Writer(mlir::func::FuncOp function, Rng &rng);

  Rng &rng;
  mlir::OpBuilder builder;
  std::vector<HostTensor> inputs;

  mlir::MLIRContext *context() { return builder.getContext(); }
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static DType dtypeOf(mlir::Value value) {
    return *graph::toDType(typeOf(value).getElementType());
  }
  static Shape shapeOf(mlir::Value value) {
    return Shape(typeOf(value).getShape());
  }
  static bool isReal(mlir::Value value) { return isFloat(dtypeOf(value)); }

  // Choices.
  int64_t size();
  Shape shape(int64_t minRank = 0, int64_t maxRank = 6);
  /// Shrinks sizes until at most `most` elements are left.
  void shrink(Shape &shape, int64_t most = kMaxElements);
  DType dtype();
  DType floatType();
  DType intType();

  // Values.
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, DType dtype);
  /// A function argument or a constant.
  mlir::Value given(HostTensor tensor);
  mlir::Value fresh(llvm::ArrayRef<int64_t> shape, DType dtype);
  mlir::Value constant(HostTensor tensor);
  /// A value made before, recent ones more often; a fresh one if there is none
  /// that `fits`.
  mlir::Value any();
  mlir::Value anyReal();
  mlir::Value anyOf(llvm::function_ref<bool(mlir::Value)> fits,
                    llvm::function_ref<mlir::Value()> otherwise);
  /// A value of just this type: one made before, a cast, view or broadcast of
  /// one, or a fresh one.
  mlir::Value fitting(llvm::ArrayRef<int64_t> shape, DType dtype);
  /// `value` in another element type.
  mlir::Value cast(mlir::Value value, DType dtype);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// Same shape and type as `like`, all elements `x`.
  mlir::Value splat(mlir::Value like, double x);

  /// Makes an op and keeps its results. Null, with nothing left behind, if the
  /// op is not valid.
  mlir::Value make(const mlir::OperationState &state);
  template <typename OpT, typename... Args>
  mlir::Value op(Args &&...args) {
    mlir::OperationState state(builder.getUnknownLoc(),
                               OpT::getOperationName());
    OpT::build(builder, state, std::forward<Args>(args)...);
    return make(state);
  }
  /// A generic op of one result with these operands, by its name.
  mlir::Value named(mlir::OperationName name, mlir::ValueRange operands,
                    mlir::Type result);

  /// All values that may be used, in the order made.
  llvm::SmallVector<mlir::Value> values;

private:
  mlir::func::FuncOp function;
};

/// Adds something to the graph; returns a value to go on with, or null if
/// there was nothing to do.
using Recipe = mlir::Value (*)(Writer &writer);
struct WeightedRecipe {
  Recipe recipe;
  int64_t weight;
};
void appendElementwiseRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendMovementRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendReductionRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendCompositeRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendPatternRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendFloat8Recipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);
void appendControlRecipes(llvm::SmallVectorImpl<WeightedRecipe> &recipes);

/// One elementwise op that keeps the type of `value`, which is one operand.
mlir::Value sameTypeOp(Writer &writer, mlir::Value value);

/// Other ops, before `op`, that compute the same; null if there are none.
mlir::Value rewritten(mlir::OpBuilder &builder, mlir::Operation *op, Rng &rng);

} // namespace fusec::fuzz

#endif // FUSEC_LIB_FUZZ_WRITER_H
