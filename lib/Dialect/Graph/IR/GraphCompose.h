//===- GraphCompose.h - short spelling of graph ops -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMPOSE_H
#define FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMPOSE_H

#include "GraphCombine.h"

namespace fusec::graph::ops {

/// Makes graph ops at the builder's place; the definitions of composites are
/// written in it.
class Compose {
public:
  Compose(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// An op of class `OpT` whose result type follows from `args`.
  template <typename OpT, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) {
    return make<AddOp>(lhs, rhs);
  }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs) {
    return make<SubOp>(lhs, rhs);
  }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) {
    return make<MulOp>(lhs, rhs);
  }
  mlir::Value div(mlir::Value lhs, mlir::Value rhs) {
    return make<DivOp>(lhs, rhs);
  }

  /// `value`, rounded to the element type, in every element of `type`.
  mlir::Value constant(mlir::Type type, double value);
  /// `constant` of the type of `like`.
  mlir::Value constantLike(mlir::Value like, double value) {
    return constant(like.getType(), value);
  }
  mlir::Value compare(ComparePredicate predicate, mlir::Value lhs,
                      mlir::Value rhs) {
    return make<CompareOp>(predicate, lhs, rhs);
  }
  mlir::Value select(mlir::Value pred, mlir::Value onTrue,
                     mlir::Value onFalse) {
    return make<SelectOp>(onTrue.getType(), pred, onTrue, onFalse);
  }
  /// `value` with element type `element`; no op if it has it already.
  mlir::Value cast(mlir::Value value, mlir::Type element);

  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims) {
    return make<ReduceOp>(kind, value, dims);
  }
  /// Sum over `dims`, all static, divided by the number of elements.
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  /// `value` as a tensor of the shape of `like`: its dimensions go to `dims`.
  mlir::Value broadcast(mlir::Value value, mlir::Value like,
                        llvm::ArrayRef<int64_t> dims);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// f64 for f64 and f32 for the rest: where statistics are computed.
mlir::Type statisticsType(mlir::Type element);

} // namespace fusec::graph::ops

#endif // FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMPOSE_H
