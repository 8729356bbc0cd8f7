//===- OpsFixture.h - ops as a region ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_ANALYSIS_OPSFIXTURE_H
#define FUSEC_TEST_ANALYSIS_OPSFIXTURE_H

#include "fusec/Analysis/RegionShape.h"
#include "gtest/gtest.h"

/// A module that a test adds ops to, which are then a region.
class OpsFixture : public ::testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Location loc = mlir::UnknownLoc::get(&context);
  mlir::OpBuilder builder{&context};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  fusec::analysis::FactTable facts;
  llvm::SmallVector<mlir::Operation *> ops;

  void SetUp() override {
    context.loadDialect<fusec::graph::GraphDialect>();
    module = mlir::ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
  }

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, mlir::Float32Type::get(&context));
  }
  /// A constant, which is no op of the region.
  mlir::Value input(llvm::ArrayRef<int64_t> shape) {
    return fusec::graph::ConstantOp::create(
        builder, loc, mlir::DenseElementsAttr::get(type(shape), 1.0f));
  }
};

#endif // FUSEC_TEST_ANALYSIS_OPSFIXTURE_H
