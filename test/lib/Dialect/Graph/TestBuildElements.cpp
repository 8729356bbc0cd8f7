//===- TestBuildElements.cpp - lower fusible ops to scalar loops ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-graph-build-elements` replaces each fusible op by a nest of scf.for
// over its result that calls buildElement, reads by tensor.extract and writes
// by tensor.insert. It shows that buildElement makes well-formed scalar code.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace fusec::graph;

namespace {

/// Reads elements from tensors, in compute types. A masked read is an scf.if,
/// so that no extract leaves its tensor.
class TensorReader : public ElementReader {
public:
  TensorReader(Operation *op, ElementBuilder &builder) : op(op), eb(builder) {}

  Value readMasked(unsigned operand, ValueRange index, Value mask,
                   Value other) override {
    if (!mask)
      return extract(eb, operand, index);
    auto branch = scf::IfOp::create(
        eb.getBuilder(), eb.getLoc(), mask,
        [&](OpBuilder &builder, Location loc) {
          ElementBuilder inner(builder, loc);
          scf::YieldOp::create(builder, loc, extract(inner, operand, index));
        },
        [&](OpBuilder &builder, Location loc) {
          scf::YieldOp::create(builder, loc, other);
        });
    return branch.getResult(0);
  }

private:
  Value extract(ElementBuilder &builder, unsigned operand, ValueRange index) {
    Value tensor = op->getOperand(operand);
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    Value value = builder.make<tensor::ExtractOp>(tensor, index);
    Type compute = ElementBuilder::computeType(element);
    if (element == compute)
      return value;
    if (isa<FloatType>(element))
      return builder.make<arith::ExtFOp>(compute, value);
    auto cast = UnrealizedConversionCastOp::create(
        builder.getBuilder(), builder.getLoc(), compute, value);
    return cast.getResult(0);
  }

  Operation *op;
  ElementBuilder &eb;
};

/// A computed value as an element of a tensor: narrowed floats, signed types.
Value store(ElementBuilder &eb, Value value, Type element) {
  Type compute = ElementBuilder::computeType(element);
  if (element == compute)
    return value;
  if (isa<FloatType>(element))
    return eb.make<arith::TruncFOp>(element, eb.roundTo(value, element));
  auto cast = UnrealizedConversionCastOp::create(eb.getBuilder(), eb.getLoc(),
                                                 element, value);
  return cast.getResult(0);
}

struct TestBuildElements
    : PassWrapper<TestBuildElements, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBuildElements)

  StringRef getArgument() const override { return "test-graph-build-elements"; }
  StringRef getDescription() const override {
    return "Lower each fusible op to scalar loops over its elements";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, scf::SCFDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    SmallVector<FusibleOpInterface> ops;
    getOperation().walk([&](FusibleOpInterface op) { ops.push_back(op); });
    for (FusibleOpInterface op : ops)
      if (failed(lower(op)))
        return signalPassFailure();
  }

  static LogicalResult lower(FusibleOpInterface op) {
    OpBuilder builder(op);
    SmallVector<Value> results;
    for (OpResult result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (!type.hasStaticShape())
        return op->emitOpError("needs a static shape");
      Value empty = tensor::EmptyOp::create(
          builder, op.getLoc(), type.getShape(), type.getElementType());
      Value filled = fill(builder, op, result.getResultNumber(), {}, empty);
      if (!filled)
        return op->emitOpError("gave no element");
      results.push_back(filled);
    }
    op->replaceAllUsesWith(results);
    op->erase();
    return success();
  }

  /// Fills `tensor` below the loops in `index`; null if there is no element.
  static Value fill(OpBuilder &builder, FusibleOpInterface op, unsigned result,
                    ValueRange index, Value tensor) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(tensor.getType());
    if (int64_t(index.size()) == type.getRank()) {
      ElementBuilder eb(builder, loc);
      TensorReader reader(op, eb);
      Value value = op.buildElement(eb, result, index, reader);
      if (!value)
        return {};
      Value stored = store(eb, value, type.getElementType());
      return tensor::InsertOp::create(builder, loc, stored, tensor, index);
    }
    Value lower = arith::ConstantIndexOp::create(builder, loc, 0);
    Value upper = arith::ConstantIndexOp::create(builder, loc,
                                                 type.getDimSize(index.size()));
    Value step = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, lower, upper, step, tensor);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    SmallVector<Value> extended(index);
    extended.push_back(loop.getInductionVar());
    Value filled = fill(inner, op, result, extended, loop.getRegionIterArg(0));
    if (!filled)
      return {};
    scf::YieldOp::create(inner, loc, filled);
    return loop.getResult(0);
  }
};

} // namespace

namespace fusec::test {
void registerTestBuildElements() { PassRegistration<TestBuildElements>(); }
} // namespace fusec::test
