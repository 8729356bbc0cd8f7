//===- MarchPadding.cpp - what windows read outside -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MarchSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {
/// Notes what masked reads of each operand give where the mask is false.
class PaddingReader : public graph::ElementReader {
public:
  PaddingReader(Operation *op, graph::ElementBuilder &eb) : op(op), eb(eb) {}
  Value readMasked(unsigned operand, ValueRange, Value mask,
                   Value other) override {
    if (mask) {
      TypedAttr constant;
      matchPattern(other, m_Constant(&constant));
      paddings[operand].push_back(constant);
    }
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    return eb.zero(graph::ElementBuilder::computeType(type.getElementType()));
  }
  llvm::SmallDenseMap<unsigned, SmallVector<TypedAttr>> paddings;

private:
  Operation *op;
  graph::ElementBuilder &eb;
};
} // namespace

/// The value around the operand of `pad` in compute type; null if it is no
/// constant.
static TypedAttr paddingOf(graph::PadOp pad, OpBuilder &builder) {
  Type element = pad.getType().getElementType();
  Type compute = graph::ElementBuilder::computeType(element);
  Attribute constant;
  if (!matchPattern(pad.getValue(), m_Constant(&constant)))
    return {};
  auto values = dyn_cast<DenseElementsAttr>(constant);
  if (!values || !values.isSplat())
    return {};
  auto value = values.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(value))
    return builder.getFloatAttr(compute, real.getValueAsDouble());
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer ? builder.getIntegerAttr(compute, integer.getValue())
                 : TypedAttr();
}

TypedAttr graph_to_tile::paddingOf(Value value,
                                   const analysis::RegionForm &form,
                                   OpBuilder builder) {
  Block scratch;
  builder.setInsertionPointToStart(&scratch);
  graph::ElementBuilder eb(builder, value.getLoc());
  std::optional<TypedAttr> common;
  for (const analysis::RegionStage &stage : form.stages) {
    auto window = cast<graph::ReductionOpInterface>(stage.op);
    graph::IterationSpace space =
        cast<graph::FusibleOpInterface>(stage.op).getIterationSpace();
    SmallVector<Value> parallel, reduced;
    for (size_t i = 0; i < space.parallel.size(); ++i)
      parallel.push_back(eb.index(0));
    for (size_t i = 0; i < space.reduced.size(); ++i)
      reduced.push_back(eb.index(0));
    PaddingReader reader(stage.op, eb);
    window.buildLift(eb, parallel, reduced, reader);
    for (OpOperand &operand : stage.op->getOpOperands())
      if (operand.get() == value)
        for (TypedAttr padding : reader.paddings[operand.getOperandNumber()]) {
          if (common && *common != padding)
            return {};
          common = padding;
        }
  }
  for (Operation *op : form.ops)
    if (auto pad = dyn_cast<graph::PadOp>(op);
        pad && pad.getOperand() == value) {
      TypedAttr padding = ::paddingOf(pad, builder);
      if (common && *common != padding)
        return {};
      common = padding;
    }
  return common.value_or(TypedAttr());
}

TypedAttr graph_to_tile::paddingInMemory(const Ring &ring) {
  Type storage = RegionEmitter::storageType(tensorOf(ring).getElementType());
  if (auto integer = dyn_cast_or_null<IntegerAttr>(ring.padding))
    return integer.getType() == storage ? integer : TypedAttr();
  auto real = dyn_cast_or_null<FloatAttr>(ring.padding);
  auto type = dyn_cast<FloatType>(storage);
  if (!real || !type)
    return {};
  bool losesInfo = false;
  llvm::APFloat value = real.getValue();
  bool isShort = storage.getIntOrFloatBitWidth() < 16;
  if (isShort && !value.isPosZero()) // not all of them have infinities
    return {};
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return losesInfo ? TypedAttr() : FloatAttr::get(type, value);
}

bool graph_to_tile::testsOnlyRange(Value mask, ValueRange index,
                                   ArrayRef<int64_t> shape) {
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op))
    return testsOnlyRange(op->getOperand(0), index, shape) &&
           testsOnlyRange(op->getOperand(1), index, shape);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  llvm::APInt bound;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ult ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&bound)))
    return false;
  auto at = llvm::find(index, compare.getLhs());
  return at != index.end() && bound.getSExtValue() == shape[at - index.begin()];
}
