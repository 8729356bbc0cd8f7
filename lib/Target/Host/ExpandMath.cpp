//===- ExpandMath.cpp - math functions of host kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream lowerings of these functions are off by up to thousands of ulp. Here
// each becomes inline code (MathCode.h) or a call per lane to a function of the
// runtime that computes f32 in f64 and rounds once; exact ops (floor, fma,
// sqrt,
// ...) stay.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "MathCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

/// The runtime's name of a function, empty for ops that are lowered exactly.
static StringRef functionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::ExpOp>([](auto) { return "exp"; })
      .Case<math::Exp2Op>([](auto) { return "exp2"; })
      .Case<math::ExpM1Op>([](auto) { return "expm1"; })
      .Case<math::LogOp>([](auto) { return "log"; })
      .Case<math::Log2Op>([](auto) { return "log2"; })
      .Case<math::Log10Op>([](auto) { return "log10"; })
      .Case<math::Log1pOp>([](auto) { return "log1p"; })
      .Case<math::SinOp>([](auto) { return "sin"; })
      .Case<math::CosOp>([](auto) { return "cos"; })
      .Case<math::TanOp>([](auto) { return "tan"; })
      .Case<math::AsinOp>([](auto) { return "asin"; })
      .Case<math::AcosOp>([](auto) { return "acos"; })
      .Case<math::AtanOp>([](auto) { return "atan"; })
      .Case<math::SinhOp>([](auto) { return "sinh"; })
      .Case<math::CoshOp>([](auto) { return "cosh"; })
      .Case<math::TanhOp>([](auto) { return "tanh"; })
      .Case<math::AsinhOp>([](auto) { return "asinh"; })
      .Case<math::AcoshOp>([](auto) { return "acosh"; })
      .Case<math::AtanhOp>([](auto) { return "atanh"; })
      .Case<math::ErfOp>([](auto) { return "erf"; })
      .Case<math::CbrtOp>([](auto) { return "cbrt"; })
      .Case<math::RsqrtOp>([](auto) { return "rsqrt"; })
      .Case<math::PowFOp>([](auto) { return "pow"; })
      .Case<math::Atan2Op>([](auto) { return "atan2"; })
      .Default([](auto) { return StringRef(); });
}

/// The declaration of `fusec_<name>_<type>`.
static LLVM::LLVMFuncOp declare(ModuleOp module, StringRef name, Type type,
                                unsigned arity) {
  std::string symbol =
      ("fusec_" + name + (type.isF64() ? "_f64" : "_f32")).str();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Type> arguments(arity, type);
  auto function =
      LLVM::LLVMFuncOp::create(builder, module.getLoc(), symbol,
                               LLVM::LLVMFunctionType::get(type, arguments));
  // Pure: equal calls merge, unused ones vanish.
  auto none = LLVM::ModRefInfo::NoModRef;
  function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      module.getContext(), none, none, none, none, none, none));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  return function;
}

/// A call per lane.
static Value callLanes(OpBuilder &builder, Location loc,
                       LLVM::LLVMFuncOp function, OperandRange operands) {
  auto type = dyn_cast<VectorType>(operands[0].getType());
  if (!type)
    return LLVM::CallOp::create(builder, loc, function, operands).getResult();
  Value result =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(vector::ExtractOp::create(builder, loc, operand, lane));
    Value value =
        LLVM::CallOp::create(builder, loc, function, scalars).getResult();
    result = vector::InsertOp::create(builder, loc, value, result, lane);
  }
  return result;
}

/// The larger or smaller of two scalars is NaN where one is. LLVM's code for
/// AVX-512 asks for quiet NaNs alone where it knows that the other operand is
/// none (an integer, a constant), and gives that one for a signalling NaN.
static void keepNaN(Operation *extreme) {
  OpBuilder builder(extreme->getContext());
  builder.setInsertionPointAfter(extreme);
  Location loc = extreme->getLoc();
  Value lhs = extreme->getOperand(0), rhs = extreme->getOperand(1);
  Value isNaN =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, lhs, rhs);
  Value sum = arith::AddFOp::create(builder, loc, lhs, rhs);
  auto chosen =
      arith::SelectOp::create(builder, loc, isNaN, sum, extreme->getResult(0));
  extreme->getResult(0).replaceAllUsesExcept(chosen, chosen);
}

void host::expandMath(ModuleOp module) {
  SmallVector<Operation *> extremes;
  module.walk([&](Operation *op) {
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op) &&
        isa<FloatType>(op->getResult(0).getType()))
      extremes.push_back(op);
  });
  llvm::for_each(extremes, keepNaN);
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (!functionOf(op).empty())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    Value value = buildMathCode(op);
    if (!value) {
      OpBuilder builder(op);
      Type element = getElementTypeOrSelf(op->getResult(0));
      LLVM::LLVMFuncOp function =
          declare(module, functionOf(op), element, op->getNumOperands());
      value = callLanes(builder, op->getLoc(), function, op->getOperands());
    }
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
}
