//===- Writer.cpp - a graph that grows ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "fusec/Reference/Attributes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

Writer::Writer(func::FuncOp function, Rng &rng)
    : rng(rng), builder(OpBuilder::atBlockEnd(&function.getBody().front())),
      function(function) {}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

int64_t Writer::size() {
  static constexpr int64_t kSmall[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static constexpr int64_t kAwkward[] = {9,  11, 13, 15, 16, 17, 31, 32,
                                         33, 37, 63, 64, 65, 96, 97};
  static constexpr int64_t kLong[] = {127, 128, 129, 255,  256,  257, 511,
                                      512, 513, 769, 1023, 1025, 2049};
  int64_t roll = rng.below(100);
  if (roll < 1)
    return 0;
  return roll < 55   ? rng.pick(kSmall)
         : roll < 93 ? rng.pick(kAwkward)
                     : rng.pick(kLong);
}

void Writer::shrink(Shape &shape, int64_t most) {
  auto count = [&] {
    int64_t product = 1;
    // What is left by a reduction of no elements may be many.
    for (int64_t size : shape)
      product *= std::max<int64_t>(size, 1);
    return product;
  };
  while (count() > most)
    *std::max_element(shape.begin(), shape.end()) /= 2;
}

Shape Writer::shape(int64_t minRank, int64_t maxRank) {
  static constexpr int64_t kRanks[] = {0, 1, 1, 2, 2, 2, 2,
                                       3, 3, 3, 4, 4, 5, 6};
  int64_t rank = std::clamp(rng.pick(kRanks), minRank, maxRank);
  Shape result;
  for (int64_t i = 0; i < rank; ++i)
    result.push_back(size());
  shrink(result);
  return result;
}

DType Writer::floatType() {
  static constexpr DType kTypes[] = {
      DType::F32, DType::F32, DType::F32,    DType::F32,
      DType::F32, DType::F32, DType::F32,    DType::F16,
      DType::F16, DType::F16, DType::BF16,   DType::BF16,
      DType::F64, DType::F64, DType::F8E4M3, DType::F8E5M2};
  return rng.pick(kTypes);
}

DType Writer::intType() {
  static constexpr DType kTypes[] = {
      DType::I64, DType::I64, DType::I32, DType::I32, DType::I32,
      DType::I16, DType::I8,  DType::I8,  DType::I4,  DType::U64,
      DType::U32, DType::U16, DType::U8,  DType::U8,  DType::U4};
  return rng.pick(kTypes);
}

DType Writer::dtype() {
  int64_t roll = rng.below(20);
  return roll < 14 ? floatType() : roll < 19 ? intType() : DType::Bool;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

RankedTensorType Writer::tensor(ArrayRef<int64_t> shape, DType dtype) {
  return RankedTensorType::get(shape, graph::fromDType(context(), dtype));
}

Value Writer::constant(HostTensor tensor) {
  return op<graph::ConstantOp>(reference::toAttribute(tensor, context()));
}

Value Writer::given(HostTensor tensor) {
  if (rng.chance(1, 4))
    return constant(std::move(tensor));
  Value argument = function.getBody().front().addArgument(
      this->tensor(tensor.shape, tensor.dtype), builder.getUnknownLoc());
  inputs.push_back(std::move(tensor));
  values.push_back(argument);
  return argument;
}

Value Writer::fresh(ArrayRef<int64_t> shape, DType dtype) {
  return given(randomValues(rng, dtype, shape));
}

Value Writer::anyOf(llvm::function_ref<bool(Value)> fits,
                    llvm::function_ref<Value()> otherwise) {
  SmallVector<Value> candidates;
  for (Value value : values)
    if (fits(value))
      candidates.push_back(value);
  if (candidates.empty() || rng.chance(1, 8))
    return otherwise();
  // The last ones make chains.
  size_t last = std::min<size_t>(candidates.size(), rng.chance(2, 3) ? 2 : 99);
  return rng.pick(ArrayRef(candidates).take_back(last));
}

Value Writer::any() {
  return anyOf([](Value) { return true; },
               [&] { return fresh(shape(), dtype()); });
}

Value Writer::anyReal() {
  return anyOf([](Value value) { return isReal(value); },
               [&] { return fresh(shape(), floatType()); });
}

Value Writer::cast(Value value, DType dtype) {
  if (!value || dtypeOf(value) == dtype)
    return value;
  return op<graph::CastOp>(tensor(shapeOf(value), dtype), value,
                           builder.getBoolAttr(rng.chance(3, 4)));
}

Value Writer::broadcast(Value value, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> dims) {
  if (!value)
    return {};
  return op<graph::BroadcastOp>(tensor(shape, dtypeOf(value)), value,
                                builder.getDenseI64ArrayAttr(dims));
}

Value Writer::splat(Value like, double x) {
  HostTensor scalar = llvm::cantFail(HostTensor::create(dtypeOf(like), {}));
  scalar.setF64(0, x);
  return broadcast(constant(std::move(scalar)), shapeOf(like), {});
}

/// True if dims of `from`, in order, are dims of `to` or 1; `dims` says where.
static bool canBroadcast(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                         SmallVectorImpl<int64_t> &dims) {
  // Matched from the last dimension, as most graphs do.
  int64_t at = to.size();
  dims.assign(from.size(), 0);
  for (int64_t i = from.size(); i-- > 0;) {
    do {
      if (--at < 0)
        return false;
    } while (from[i] != to[at] && from[i] != 1);
    dims[i] = at;
  }
  return true;
}

Value Writer::fitting(ArrayRef<int64_t> shape, DType dtype) {
  RankedTensorType type = tensor(shape, dtype);
  SmallVector<Value> same, others;
  SmallVector<int64_t> dims;
  for (Value value : values) {
    if (value.getType() == type)
      same.push_back(value);
    else if (typeOf(value).getShape() == shape ||
             (typeOf(value).getElementType() == type.getElementType() &&
              (canBroadcast(typeOf(value).getShape(), shape, dims) ||
               typeOf(value).getNumElements() == type.getNumElements())))
      others.push_back(value);
  }
  if (!same.empty() && rng.chance(1, 2))
    return rng.pick(ArrayRef<Value>(same));
  if (!others.empty() && rng.chance(2, 3)) {
    Value value = rng.pick(ArrayRef<Value>(others));
    if (typeOf(value).getShape() == shape)
      return cast(value, dtype);
    if (canBroadcast(typeOf(value).getShape(), shape, dims))
      return broadcast(value, shape, dims);
    return op<graph::ReshapeOp>(type, value);
  }
  if (!rng.chance(1, 2) || shape.empty())
    return fresh(shape, dtype);
  // A part of the dimensions, some of them 1.
  Shape from;
  dims.clear();
  for (auto [i, size] : llvm::enumerate(shape))
    if (rng.chance(1, 2)) {
      from.push_back(rng.chance(1, 4) ? 1 : size);
      dims.push_back(i);
    }
  return broadcast(fresh(from, dtype), shape, dims);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value Writer::make(const OperationState &state) {
  if (llvm::is_contained(state.operands, Value()))
    return {};
  ScopedDiagnosticHandler quiet(context(), [](Diagnostic &) {});
  Operation *op = builder.create(state);
  bool isLarge = llvm::any_of(op->getResultTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() > 4 * kMaxElements;
  });
  if (isLarge || failed(mlir::verify(op))) {
    op->erase();
    return {};
  }
  llvm::append_range(values, op->getResults());
  return op->getResult(0);
}

Value Writer::named(OperationName name, ValueRange operands, Type result) {
  OperationState state(builder.getUnknownLoc(), name);
  state.addOperands(operands);
  state.addTypes(result);
  return make(state);
}
