//===- GraphDialect.cpp - the graph dialect -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

#include "fusec/Dialect/Graph/IR/GraphDialect.cpp.inc"
#include "fusec/Dialect/Graph/IR/GraphEnums.cpp.inc"
#include "fusec/Dialect/Graph/IR/GraphInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fusec/Dialect/Graph/IR/GraphAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "fusec/Dialect/Graph/IR/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fusec/Dialect/Graph/IR/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fusec/Dialect/Graph/IR/GraphOps.cpp.inc"
      >();
  addInterfaces<ConstantStore>();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                             Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

std::optional<DType> graph::toDType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.isSigned())
      return std::nullopt;
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return isUnsigned ? std::nullopt : std::optional(DType::Bool);
    case 4:
      return isUnsigned ? DType::U4 : DType::I4;
    case 8:
      return isUnsigned ? DType::U8 : DType::I8;
    case 16:
      return isUnsigned ? DType::U16 : DType::I16;
    case 32:
      return isUnsigned ? DType::U32 : DType::I32;
    case 64:
      return isUnsigned ? DType::U64 : DType::I64;
    default:
      return std::nullopt;
    }
  }
  return llvm::TypeSwitch<Type, std::optional<DType>>(type)
      .Case<Float64Type>([](auto) { return DType::F64; })
      .Case<Float32Type>([](auto) { return DType::F32; })
      .Case<Float16Type>([](auto) { return DType::F16; })
      .Case<BFloat16Type>([](auto) { return DType::BF16; })
      .Case<Float8E4M3FNType>([](auto) { return DType::F8E4M3; })
      .Case<Float8E5M2Type>([](auto) { return DType::F8E5M2; })
      .Default([](auto) { return std::nullopt; });
}

Type graph::fromDType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::Bool:
    return IntegerType::get(context, 1);
  default:
    return IntegerType::get(context, integerBits(dtype),
                            isUnsignedInt(dtype) ? IntegerType::Unsigned
                                                 : IntegerType::Signless);
  }
}
