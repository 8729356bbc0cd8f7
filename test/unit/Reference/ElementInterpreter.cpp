//===- ElementInterpreter.cpp - run what buildElement builds --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Build one element in a function: arguments are the indices, reads
//    are conversion casts with the operand's number, masked reads scf.if.
// 2. Verify it.
// 3. For each index run its block: values are attributes, arith ops fold, math
//    ops call the C library, scf.for and scf.if are walked.
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

namespace {
/// Reads as `unrealized_conversion_cast(number of the operand, index...)`.
class CastReader : public ElementReader {
public:
  CastReader(Operation *op, ElementBuilder &builder) : op(op), eb(builder) {}

  Value readMasked(unsigned operand, ValueRange index, Value mask,
                   Value other) override {
    OpBuilder &builder = eb.getBuilder();
    if (!mask)
      return read(builder, operand, index);
    if (eb.getCarrier())
      return eb.select(mask, read(builder, operand, index), other);
    auto branch = scf::IfOp::create(
        builder, eb.getLoc(), mask,
        [&](OpBuilder &inner, Location loc) {
          scf::YieldOp::create(inner, loc, read(inner, operand, index));
        },
        [&](OpBuilder &inner, Location loc) {
          scf::YieldOp::create(inner, loc, other);
        });
    return branch.getResult(0);
  }

private:
  Value read(OpBuilder &builder, unsigned operand, ValueRange index) {
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    EXPECT_EQ(int64_t(index.size()), type.getRank());
    Value number =
        arith::ConstantIndexOp::create(builder, eb.getLoc(), operand);
    SmallVector<Value> inputs = {number};
    llvm::append_range(inputs, index);
    Type compute = eb.type(ElementBuilder::computeType(type.getElementType()));
    return UnrealizedConversionCastOp::create(builder, eb.getLoc(), compute,
                                              inputs)
        .getResult(0);
  }

  Operation *op;
  ElementBuilder &eb;
};

/// One element of a result in a function of its own, of the indices.
struct BuiltElement {
  OwningOpRef<func::FuncOp> function;
  Value value;
  Block &block() { return function->getBody().front(); }
};
} // namespace

static Error build(Operation *op, unsigned result, RankedTensorType carrier,
                   BuiltElement &built) {
  OpBuilder builder(op->getContext());
  ElementBuilder eb(builder, op->getLoc(), carrier);
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  SmallVector<Type> indices(type.getRank(), eb.type(builder.getIndexType()));
  built.function = func::FuncOp::create(op->getLoc(), "element",
                                        builder.getFunctionType(indices, {}));
  builder.setInsertionPointToStart(built.function->addEntryBlock());
  CastReader reader(op, eb);
  Value value = cast<FusibleOpInterface>(op).buildElement(
      eb, result, built.block().getArguments(), reader);
  if (!value)
    return llvm::createStringError("no element was built");
  Type compute = eb.type(ElementBuilder::computeType(type.getElementType()));
  if (value.getType() != compute)
    return llvm::createStringError("the element has the wrong type");
  built.value = eb.roundTo(value, type.getElementType());
  func::ReturnOp::create(builder, op->getLoc());
  if (failed(verify(*built.function)))
    return llvm::createStringError("the code does not verify");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Interpreting
//===----------------------------------------------------------------------===//

static const llvm::StringMap<double (*)(double)> &unaryMath() {
  static const llvm::StringMap<double (*)(double)> table = {
      {"math.absf", std::fabs},
      {"math.acos", std::acos},
      {"math.acosh", std::acosh},
      {"math.asin", std::asin},
      {"math.asinh", std::asinh},
      {"math.atan", std::atan},
      {"math.atanh", std::atanh},
      {"math.cbrt", std::cbrt},
      {"math.ceil", std::ceil},
      {"math.cos", std::cos},
      {"math.cosh", std::cosh},
      {"math.erf", std::erf},
      {"math.exp", std::exp},
      {"math.exp2", std::exp2},
      {"math.expm1", std::expm1},
      {"math.floor", std::floor},
      {"math.log", std::log},
      {"math.log1p", std::log1p},
      {"math.log2", std::log2},
      {"math.roundeven", std::nearbyint},
      {"math.rsqrt", [](double x) { return 1.0 / std::sqrt(x); }},
      {"math.sin", std::sin},
      {"math.sinh", std::sinh},
      {"math.sqrt", std::sqrt},
      {"math.tan", std::tan},
      {"math.tanh", std::tanh},
      {"math.trunc", std::trunc}};
  return table;
}

static const llvm::StringMap<double (*)(double, double)> &binaryMath() {
  static const llvm::StringMap<double (*)(double, double)> table = {
      {"math.atan2", std::atan2},
      {"math.copysign", std::copysign},
      {"math.powf", std::pow}};
  return table;
}

namespace {
using Environment = llvm::DenseMap<Value, Attribute>;

class Interpreter {
public:
  explicit Interpreter(ArrayRef<HostTensor> operands) : operands(operands) {}

  /// Runs the ops of `block`; a terminator's operands are returned.
  Expected<SmallVector<Attribute>> runBlock(Block &block, Environment &values) {
    for (Operation &op : block) {
      SmallVector<Attribute> inputs;
      for (Value operand : op.getOperands())
        inputs.push_back(values.lookup(operand));
      if (op.hasTrait<OpTrait::IsTerminator>())
        return inputs;
      Expected<SmallVector<Attribute>> results = runOp(op, inputs, values);
      if (!results)
        return results;
      for (auto [value, attribute] : llvm::zip_equal(op.getResults(), *results))
        values[value] = attribute;
    }
    return SmallVector<Attribute>();
  }

private:
  Expected<SmallVector<Attribute>>
  runOp(Operation &op, ArrayRef<Attribute> inputs, Environment &values) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return runLoop(loop, inputs, values);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool taken = cast<IntegerAttr>(inputs[0]).getValue().getBoolValue();
      return runBlock(taken ? *branch.thenBlock() : *branch.elseBlock(),
                      values);
    }
    Expected<Attribute> result = runSingle(op, inputs);
    if (!result)
      return result.takeError();
    return SmallVector<Attribute>{*result};
  }

  Expected<SmallVector<Attribute>>
  runLoop(scf::ForOp loop, ArrayRef<Attribute> inputs, Environment &values) {
    auto bound = [&](int i) { return cast<IntegerAttr>(inputs[i]).getInt(); };
    SmallVector<Attribute> state(inputs.drop_front(3));
    Builder builder(loop.getContext());
    for (int64_t i = bound(0); i < bound(1); i += bound(2)) {
      values[loop.getInductionVar()] = builder.getIndexAttr(i);
      for (auto [argument, value] :
           llvm::zip_equal(loop.getRegionIterArgs(), state))
        values[argument] = value;
      Expected<SmallVector<Attribute>> next = runBlock(*loop.getBody(), values);
      if (!next)
        return next;
      state = std::move(*next);
    }
    return state;
  }

  Expected<Attribute> runSingle(Operation &op, ArrayRef<Attribute> inputs) {
    if (isa<UnrealizedConversionCastOp>(op))
      return readElement(op, inputs);
    if (isa<arith::TruncFOp, arith::ExtFOp>(op)) {
      auto type = cast<FloatType>(op.getResult(0).getType());
      APFloat value = cast<FloatAttr>(inputs[0]).getValue();
      bool lost;
      value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &lost);
      return FloatAttr::get(type, value);
    }
    StringRef name = op.getName().getStringRef();
    auto real = [&](int i) {
      return cast<FloatAttr>(inputs[i]).getValueAsDouble();
    };
    if (auto found = unaryMath().find(name); found != unaryMath().end())
      return rounded(op, found->second(real(0)));
    if (auto found = binaryMath().find(name); found != binaryMath().end())
      return rounded(op, found->second(real(0), real(1)));
    if (isa<math::FmaOp>(op))
      return fused(op, inputs);
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(inputs, results)) || results.empty())
      return llvm::createStringError("no defined result of " + name);
    if (auto attribute = dyn_cast<Attribute>(results[0]))
      return attribute;
    // The fold gave an operand back.
    for (auto [operand, attribute] : llvm::zip_equal(op.getOperands(), inputs))
      if (operand == cast<Value>(results[0]))
        return attribute;
    return llvm::createStringError("a fold led away from " + name);
  }

  static Attribute rounded(Operation &op, double value) {
    Type type = op.getResult(0).getType();
    return FloatAttr::get(type,
                          type.isF32() ? static_cast<float>(value) : value);
  }

  /// a * b + c with one rounding, to the type of the op.
  static Attribute fused(Operation &op, ArrayRef<Attribute> inputs) {
    APFloat value = cast<FloatAttr>(inputs[0]).getValue();
    value.fusedMultiplyAdd(cast<FloatAttr>(inputs[1]).getValue(),
                           cast<FloatAttr>(inputs[2]).getValue(),
                           APFloat::rmNearestTiesToEven);
    return FloatAttr::get(op.getResult(0).getType(), value);
  }

  Expected<Attribute> readElement(Operation &op, ArrayRef<Attribute> inputs) {
    const HostTensor &tensor = operands[cast<IntegerAttr>(inputs[0]).getInt()];
    int64_t position = 0;
    for (auto [size, index] :
         llvm::zip_equal(tensor.shape, inputs.drop_front())) {
      int64_t at = cast<IntegerAttr>(index).getInt();
      if (at < 0 || at >= size)
        return llvm::createStringError("a read at %lld of %lld",
                                       static_cast<long long>(at),
                                       static_cast<long long>(size));
      position = position * size + at;
    }
    Type type = op.getResult(0).getType();
    if (isa<FloatType>(type))
      return FloatAttr::get(type, tensor.getF64(position));
    return IntegerAttr::get(type, APInt(64, tensor.getBits(position))
                                      .trunc(type.getIntOrFloatBitWidth()));
  }

  ArrayRef<HostTensor> operands;
};
} // namespace

static Expected<HostTensor> interpretResult(Operation *op, unsigned result,
                                            ArrayRef<HostTensor> operands) {
  BuiltElement built;
  if (Error error = build(op, result, {}, built))
    return std::move(error);
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  Expected<HostTensor> tensor =
      HostTensor::create(*toDType(type.getElementType()), type.getShape());
  if (!tensor)
    return tensor;
  Interpreter interpreter(operands);
  Builder builder(op->getContext());
  for (int64_t i = 0, count = tensor->elements(); i < count; ++i) {
    Environment values;
    int64_t rest = i;
    for (int64_t dim = type.getRank(); dim-- > 0; rest /= type.getDimSize(dim))
      values[built.block().getArgument(dim)] =
          builder.getIndexAttr(rest % type.getDimSize(dim));
    Expected<SmallVector<Attribute>> end =
        interpreter.runBlock(built.block(), values);
    if (!end)
      return end.takeError();
    Attribute value = values.lookup(built.value);
    if (auto real = dyn_cast<FloatAttr>(value))
      tensor->setF64(i, real.getValueAsDouble());
    else
      tensor->setU64(i, cast<IntegerAttr>(value).getValue().getZExtValue());
  }
  return tensor;
}

/// Merges the states of `points` as a balanced tree.
static SmallVector<Value> buildTree(ReductionOpInterface op, ElementBuilder &eb,
                                    ArrayRef<int64_t> points,
                                    ElementReader &reader) {
  if (points.size() == 1)
    return op.buildLift(eb, {}, eb.index(points[0]), reader);
  size_t half = points.size() / 2;
  auto lhs = buildTree(op, eb, points.take_front(half), reader);
  auto rhs = buildTree(op, eb, points.drop_front(half), reader);
  return op.buildCombine(eb, lhs, rhs);
}

Expected<HostTensor>
reference::test::interpretMerged(Operation *op, ArrayRef<HostTensor> operands,
                                 ArrayRef<int64_t> order) {
  OpBuilder builder(op->getContext());
  ElementBuilder eb(builder, op->getLoc());
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      op->getLoc(), "merged", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function->addEntryBlock());
  CastReader reader(op, eb);
  auto reduction = cast<ReductionOpInterface>(op);
  Value value = reduction.buildFinish(
      eb, buildTree(reduction, eb, order, reader), /*result=*/0);
  func::ReturnOp::create(builder, op->getLoc());
  if (failed(verify(*function)))
    return llvm::createStringError("the code does not verify");
  Environment values;
  auto end =
      Interpreter(operands).runBlock(function->getBody().front(), values);
  if (!end)
    return end.takeError();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Expected<HostTensor> tensor =
      HostTensor::create(*toDType(type.getElementType()), {});
  if (!tensor)
    return tensor;
  Attribute result = values.lookup(value);
  if (auto real = dyn_cast<FloatAttr>(result))
    tensor->setF64(0, real.getValueAsDouble());
  else
    tensor->setU64(0, cast<IntegerAttr>(result).getValue().getZExtValue());
  return tensor;
}

Expected<std::vector<HostTensor>>
reference::test::interpretElements(Operation *op,
                                   ArrayRef<HostTensor> operands) {
  std::vector<HostTensor> results;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    Expected<HostTensor> result = interpretResult(op, i, operands);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  return results;
}

void reference::test::expectElementsMatch(Operation *op,
                                          ArrayRef<HostTensor> operands,
                                          int64_t ulps) {
  std::string what;
  llvm::raw_string_ostream(what) << *op;
  auto expected = evaluateOp(op, operands);
  auto actual = interpretElements(op, operands);
  if (!expected || !actual) {
    ADD_FAILURE() << what << ": " << llvm::toString(expected.takeError())
                  << llvm::toString(actual.takeError());
    return;
  }
  for (auto [found, wanted] : llvm::zip_equal(*actual, *expected))
    expectSame(found, wanted, what, ulps);

  Builder builder(op->getContext());
  auto carrier = RankedTensorType::get({2, 8}, builder.getF32Type(),
                                       builder.getStringAttr("layout"));
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    BuiltElement tile;
    if (Error error = build(op, i, carrier, tile))
      ADD_FAILURE() << what
                    << " as a tile: " << llvm::toString(std::move(error));
  }
}
