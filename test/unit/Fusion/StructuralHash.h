//===- StructuralHash.h - what a function computes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash of the expression DAG behind a function's results that looks through
// graph.fusion. It must not change when ops move into fusions.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_FUSION_STRUCTURALHASH_H
#define FUSEC_TEST_UNIT_FUSION_STRUCTURALHASH_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec::test {

class StructuralHash {
public:
  static llvm::hash_code of(mlir::func::FuncOp function) {
    StructuralHash hash;
    for (mlir::BlockArgument argument : function.getArguments())
      hash.values[argument] =
          llvm::hash_combine("argument", argument.getArgNumber());
    hash.visit(function.getBody().front());
    llvm::hash_code code(0);
    for (mlir::Value value :
         function.getBody().front().getTerminator()->getOperands())
      code = llvm::hash_combine(code, hash.values.lookup(value));
    return code;
  }

private:
  llvm::DenseMap<mlir::Value, llvm::hash_code> values;

  void visit(mlir::Block &block) {
    for (mlir::Operation &op : block.without_terminator()) {
      if (auto fusion = llvm::dyn_cast<graph::FusionOp>(op)) {
        mlir::Block &body = fusion.getBody().front();
        for (auto [inner, outer] :
             llvm::zip(body.getArguments(), fusion.getInputs()))
          values[inner] = values.lookup(outer);
        visit(body);
        for (auto [result, yielded] : llvm::zip(
                 fusion.getResults(), body.getTerminator()->getOperands()))
          values[result] = values.lookup(yielded);
        continue;
      }
      llvm::hash_code code = llvm::hash_combine(
          op.getName().getAsOpaquePointer(), op.hashProperties(),
          op.getDiscardableAttrDictionary());
      for (mlir::Value operand : op.getOperands())
        code = llvm::hash_combine(code, values.lookup(operand));
      for (mlir::OpResult result : op.getResults())
        values[result] = llvm::hash_combine(code, result.getResultNumber(),
                                            result.getType());
    }
  }
};

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_FUSION_STRUCTURALHASH_H
