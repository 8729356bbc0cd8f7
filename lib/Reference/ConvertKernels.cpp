//===- ConvertKernels.cpp - cast, quantize, dequantize --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions keep their rounding in wide mode: they are the point of the op.
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

/// A float as an integer of `to`: truncated, saturated, NaN as 0.
static int64_t realToWhole(double value, DType to) {
  unsigned bits = integerBits(to);
  return isSignedInt(to)
             ? toSignedSaturating(value, bits)
             : static_cast<int64_t>(toUnsignedSaturating(value, bits));
}

static bool isFloat8(DType dtype) {
  return dtype == DType::F8E4M3 || dtype == DType::F8E5M2;
}

/// A value rounded to the float type `to` as a cast does.
static double realToReal(double value, DType to, bool saturate) {
  return roundToFloat(to, value,
                      saturate && isFloat8(to) ? Overflow::Saturate
                                               : Overflow::Infinity);
}

static Results castKernel(Operation *op, Operands operands, Context &context) {
  const Tensor &x = *operands[0];
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  DType from = x.dtype, to = result->dtype;
  bool saturate = cast<graph::CastOp>(op).getSaturate();
  if (from == to) {
    result->real = x.real;
    result->whole = x.whole;
    return single(std::move(*result));
  }
  int64_t count = x.elements();
  for (int64_t i = 0; i < count; ++i) {
    if (to == DType::Bool)
      result->whole[i] = x.isReal() ? x.real[i] != 0 : x.whole[i] != 0;
    else if (result->isReal())
      result->real[i] = realToReal(
          x.isReal() ? x.real[i] : integerToReal(x.whole[i], from, to), to,
          saturate);
    else
      result->whole[i] = x.isReal() ? realToWhole(x.real[i], to) : x.whole[i];
  }
  return single(std::move(*result));
}

/// The type in which quotient and product of quantisation are rounded.
static DType workType(DType lhs, DType rhs) {
  return lhs == DType::F64 || rhs == DType::F64 ? DType::F64 : DType::F32;
}

static bool sameShapes(Operands operands) {
  return operands[1]->shape == operands[0]->shape &&
         operands[2]->shape == operands[0]->shape;
}

/// A NaN quotient counts as 0 where the result is an integer.
static Results quantizeKernel(Operation *op, Operands operands,
                              Context &context) {
  const Tensor &x = *operands[0], &scale = *operands[1],
               &zeroPoint = *operands[2];
  if (!sameShapes(operands))
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  DType work = workType(x.dtype, scale.dtype), to = result->dtype;
  for (int64_t i = 0, count = x.elements(); i < count; ++i) {
    double quotient = roundResult(work, x.real[i] / scale.real[i]);
    if (result->isReal())
      result->real[i] = realToReal(quotient, to, /*saturate=*/true);
    else // The sum is exact in f64 wherever it does not saturate.
      result->whole[i] =
          realToWhole((std::isnan(quotient) ? 0.0 : std::nearbyint(quotient)) +
                          static_cast<double>(zeroPoint.whole[i]),
                      to);
  }
  return single(std::move(*result));
}

/// The product is rounded to f32 first where the result is narrower, unless
/// wide.
static Results dequantizeKernel(Operation *op, Operands operands,
                                Context &context) {
  const Tensor &x = *operands[0], &scale = *operands[1],
               &zeroPoint = *operands[2];
  if (!sameShapes(operands))
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  bool wide = context.options().wide;
  DType work = workType(result->dtype, scale.dtype);
  for (int64_t i = 0, count = x.elements(); i < count; ++i) {
    double centred = x.isReal()
                         ? x.real[i] - zeroPoint.real[i]
                         : static_cast<double>(x.whole[i] - zeroPoint.whole[i]);
    double product =
        (wide ? centred : roundResult(work, centred)) * scale.real[i];
    result->real[i] = wide ? product : roundResult(work, product);
  }
  return single(std::move(*result));
}

void reference::registerConvertKernels(Registry &registry) {
  registry.add<graph::CastOp>(castKernel);
  registry.add<graph::QuantizeOp>(quantizeKernel);
  registry.add<graph::DequantizeOp>(dequantizeKernel);
}
