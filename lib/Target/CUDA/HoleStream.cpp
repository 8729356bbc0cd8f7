//===- HoleStream.cpp - a hole as reads and arithmetic --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An integer in a byte that was read becomes a float without a conversion: the
// byte is put below the exponent of 2^15, in one instruction. 2^15 is taken off
// together with a zero point, by a subtraction that is exact.
//===----------------------------------------------------------------------===//
#include "HoleStream.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"

#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

HoleStream::HoleStream(Block &hole, const DenseSet<Operation *> &late)
    : hole(hole), late(late) {
  for (Operation &op : hole) {
    if (!late.contains(&op))
      continue;
    op.walk([&](simt::LoadOp load) {
      arrays[load.getRegisters()] = load.getVector();
      loads[&op] = load.getRegisters();
    });
  }
}

void HoleStream::addRead(Operation *op, DenseSet<Operation *> &reads) const {
  if (!late.contains(op) || !reads.insert(op).second)
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !arrays.contains(operand) &&
          producer->getBlock() == &hole)
        addRead(producer, reads);
    }
  });
}

DenseSet<Operation *> HoleStream::readsOf(bool isStaged) const {
  DenseSet<Operation *> reads;
  for (auto [op, array] : loads)
    if (this->isStaged(array) == isStaged)
      addRead(op, reads);
  return reads;
}

bool HoleStream::isStaged(Value array) const {
  auto type = cast<MemRefType>(array.getType());
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return arrays.find(array)->second == type.getNumElements() &&
         (bytes == 4 || bytes == 8 || bytes == 16);
}

simt::LoadOp HoleStream::loadOf(Value array) const {
  for (Operation *user : array.getUsers())
    if (auto load = dyn_cast<simt::LoadOp>(user))
      return load;
  return {};
}

bool HoleStream::isFixed(Value array) const {
  simt::LoadOp load = loadOf(array);
  auto isEarly = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? op->getBlock() == load->getBlock() && !late.contains(op)
              : value != hole.getArgument(2);
  };
  return load->getBlock() == &hole &&
         (isEarly(load.getOffset()) || constantOf(load.getOffset()));
}

std::string HoleStream::typeOf(Emitter &emitter, Value array) const {
  auto type = cast<MemRefType>(array.getType());
  return "GemmPacked<" + emitter.typeName(type.getElementType()) + ", " +
         std::to_string(type.getNumElements()) + ", " +
         std::to_string(arrays.find(array)->second) + ">";
}

std::string HoleStream::where(Value array) const {
  return (isStaged(array) ? "groups." : "raw.") + member(array);
}

std::string HoleStream::member(Value array) const {
  return "a" + std::to_string(arrays.find(array) - arrays.begin());
}

Value cuda::throughArray(Value value) {
  auto load = value.getDefiningOp<memref::LoadOp>();
  Operation *alloca =
      load ? load.getMemRef().getDefiningOp<memref::AllocaOp>() : nullptr;
  if (!alloca ||
      cast<MemRefType>(load.getMemRef().getType()).getNumElements() != 1)
    return value;
  Value stored;
  for (Operation *user : load.getMemRef().getUsers()) {
    auto store = dyn_cast<memref::StoreOp>(user);
    if (!store && !isa<memref::LoadOp>(user))
      return value;
    if (store && stored)
      return value;
    if (store)
      stored = store.getValue();
  }
  return stored ? stored : value;
}

std::optional<HoleStream::Field> HoleStream::partOf(Value integer,
                                                    bool isSigned) const {
  integer = throughArray(integer);
  Operation *op = integer.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto type = cast<MemRefType>(load.getMemRef().getType());
    auto array = arrays.find(load.getMemRef());
    if (array == arrays.end() || !type.getElementType().isInteger(8) ||
        array->second % 4)
      return std::nullopt;
    Field field;
    field.array = load.getMemRef();
    field.index = load.getIndices()[0];
    field.isSigned = isSigned;
    return field;
  }
  auto isNumber = [&](unsigned operand, int64_t number) {
    return constantOf(op->getOperand(operand)) == number;
  };
  auto half = [&](Value of, int64_t offset, bool isSigned) {
    std::optional<Field> whole = partOf(of, isSigned);
    if (!whole || whole->width != 8)
      return std::optional<Field>();
    whole->width = 4;
    whole->offset = offset;
    return whole;
  };
  if (isa<arith::AndIOp>(op) && isNumber(1, 15)) {
    if (auto shift = op->getOperand(0).getDefiningOp();
        isa_and_nonnull<arith::ShRUIOp, arith::ShRSIOp>(shift) &&
        constantOf(shift->getOperand(1)) == 4)
      return half(shift->getOperand(0), 4, false);
    return half(op->getOperand(0), 0, false);
  }
  if (isa<arith::ShRUIOp>(op) && isNumber(1, 4))
    return half(op->getOperand(0), 4, false);
  if (isa<arith::ShRSIOp>(op) && isNumber(1, 4) && isSigned) {
    if (auto left = op->getOperand(0).getDefiningOp<arith::ShLIOp>();
        left && constantOf(left.getRhs()) == 4)
      return half(left.getLhs(), 0, true);
    return half(op->getOperand(0), 4, true);
  }
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return std::nullopt;
  std::optional<Field> yes = partOf(select.getTrueValue(), isSigned);
  std::optional<Field> no = partOf(select.getFalseValue(), isSigned);
  if (!yes || !no || yes->array != no->array || yes->index != no->index ||
      yes->width != no->width || yes->isSigned != no->isSigned ||
      yes->condition || no->condition)
    return std::nullopt;
  yes->otherwise = no->offset;
  yes->condition = select.getCondition();
  return yes;
}

std::optional<HoleStream::Field> HoleStream::fieldOf(Value number) const {
  Operation *op = throughArray(number).getDefiningOp();
  if (auto widened = dyn_cast_or_null<arith::ExtFOp>(op)) {
    auto load = widened.getIn().getDefiningOp<memref::LoadOp>();
    auto array = load ? arrays.find(load.getMemRef()) : arrays.end();
    if (array == arrays.end() || array->second % 4 ||
        widened.getIn().getType().getIntOrFloatBitWidth() != 8)
      return std::nullopt;
    Field field;
    field.array = array->first;
    field.index = load.getIndices()[0];
    field.isFloat = true;
    return field;
  }
  if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
    return std::nullopt;
  Value integer = op->getOperand(0);
  bool isSigned = isa<arith::SIToFPOp>(op);
  if (Operation *extension = integer.getDefiningOp();
      isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension)) {
    // A number without a sign stays what it is.
    isSigned = isa<arith::ExtSIOp>(extension);
    integer = extension->getOperand(0);
  }
  return partOf(integer, isSigned);
}

std::string HoleStream::bitOf(Emitter &emitter, const Field &field) const {
  std::string bit = "8 * " + emitter.use(field.index) + " + ";
  if (!field.condition)
    return bit + std::to_string(field.offset);
  return bit + "(" + emitter.use(field.condition) + " ? " +
         std::to_string(field.offset) + " : " +
         std::to_string(field.otherwise) + ")";
}

static std::string floatText(double number) {
  return std::to_string(int64_t(number)) + ".0f";
}

std::optional<std::pair<int64_t, int64_t>> cuda::smallRange(Value number) {
  Operation *op = throughArray(number).getDefiningOp();
  if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
    return std::nullopt;
  bool isSigned = isa<arith::SIToFPOp>(op);
  Value from = op->getOperand(0);
  if (Operation *extension = from.getDefiningOp();
      isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension)) {
    isSigned = isa<arith::ExtSIOp>(extension);
    from = extension->getOperand(0);
  }
  if (!from.getType().isInteger() || from.getType().getIntOrFloatBitWidth() > 8)
    return std::nullopt;
  int64_t count = int64_t(1) << from.getType().getIntOrFloatBitWidth();
  return isSigned ? std::pair(-count / 2, count / 2 - 1)
                  : std::pair<int64_t, int64_t>(0, count - 1);
}

std::optional<HoleStream::Biased> HoleStream::biasedOf(Emitter &emitter,
                                                       Value value) const {
  value = throughArray(value);
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isF32())
    return std::nullopt;
  if (std::optional<Field> field = fieldOf(value); field && !field->isFloat) {
    Biased result;
    result.text = where(field->array) + ".template biased<" +
                  std::to_string(field->width) + ", " +
                  (field->isSigned ? "true" : "false") + ">(" +
                  bitOf(emitter, *field) + ")";
    result.number =
        32768.0 + (field->isSigned ? std::ldexp(1.0, field->width - 1) : 0.0);
    result.excess = floatText(result.number);
    return result;
  }
  auto difference = dyn_cast<arith::SubFOp>(op);
  if (!difference)
    return std::nullopt;
  std::optional<Biased> inner = biasedOf(emitter, difference.getLhs());
  if (!inner || !inner->number)
    return std::nullopt;
  llvm::APFloat number(0.0f);
  if (matchPattern(difference.getRhs(), m_ConstantFloat(&number))) {
    double known = number.convertToDouble();
    if (known != std::trunc(known) || std::abs(known) > 256)
      return std::nullopt;
    inner->number += known;
    inner->excess = floatText(inner->number);
    return inner;
  }
  if (!smallRange(difference.getRhs()))
    return std::nullopt;
  inner->excess =
      "(" + inner->excess + " + " + emitter.use(difference.getRhs()) + ")";
  inner->number = 0;
  return inner;
}

std::optional<std::string> HoleStream::shorten(Emitter &emitter,
                                               Operation *op) const {
  if (op->getNumResults() != 1)
    return std::nullopt;
  if (isa<arith::ExtFOp>(op)) {
    std::optional<Field> field = fieldOf(op->getResult(0));
    if (!field)
      return std::nullopt;
    return where(field->array) + ".wide(" + emitter.use(field->index) + ")";
  }
  std::optional<Biased> biased =
      isa<arith::SIToFPOp, arith::UIToFPOp, arith::SubFOp>(op)
          ? biasedOf(emitter, op->getResult(0))
          : std::nullopt;
  if (!biased)
    return std::nullopt;
  return biased->text + " - " + biased->excess;
}
