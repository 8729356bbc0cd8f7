//===- ImportQuantization.cpp - quantisation ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ReduceKind;

/// Repeats every element of `v` `block` times along `axis`, cut to `size`.
static Val repeatBlocks(Operator &op, const Val &v, int64_t axis, int64_t block,
                        int64_t size) {
  Emitter &emit = op.emit;
  int64_t blocks = v.shape[axis];
  auto total = checkedMul(blocks, block);
  if (!op.require(total && *total >= size && *total - size < block,
                  llvm::Twine(blocks) + " blocks of " + llvm::Twine(block) +
                      " do not cover " + llvm::Twine(size) + " elements"))
    return {};
  Dims split = v.shape, wide, flat = v.shape;
  split.insert(split.begin() + axis + 1, 1);
  wide = split;
  wide[axis + 1] = block;
  flat[axis] = *total;
  Val repeated =
      emit.reshape(emit.broadcastTo(emit.reshape(v, split), wide), flat);
  return emit.sliceAxis(repeated, axis, 0, size);
}

/// A scale or zero point (one, one per element of an axis, or one per block)
/// with the shape of `x`.
static Val spreadParam(Operator &op, const Val &v, const Val &x, int64_t axis,
                       int64_t block) {
  Emitter &emit = op.emit;
  if (!v || !x)
    return {};
  if (v.elements() == 1 && v.rank() <= 1)
    return emit.splat(emit.reshape(v, {}), x.shape);
  auto normal = op.axis(axis, x.rank());
  if (!normal)
    return {};
  if (v.rank() == 1 && block == 0) {
    if (!op.require(v.shape[0] == x.shape[*normal],
                    "expected " + llvm::Twine(x.shape[*normal]) +
                        " scales, found " + describe(v.shape)))
      return {};
    return emit.broadcast(v, x.shape, {*normal});
  }
  if (!op.requireSupport(block > 0 && v.rank() == x.rank(),
                         "unsupported shape of scales " + describe(v.shape)))
    return {};
  return emit.broadcastTo(repeatBlocks(op, v, *normal, block, x.shape[*normal]),
                          x.shape);
}

static Val quantize(Operator &op, const Val &x, const Val &scale,
                    const Val &zero) {
  if (!x || !scale || !zero)
    return {};
  Emitter &emit = op.emit;
  return emit.make(zero.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::QuantizeOp::create(emit.builder, emit.location(), type,
                                     emit.use(x), emit.use(scale),
                                     emit.use(zero))
        .getResult();
  });
}

static void importQuantizeLinear(Operator &op) {
  int64_t axis = op.intAttr("axis", 1), block = op.intAttr("block_size", 0);
  Val x = op.in(0), scale = op.in(1);
  if (!op.requireSupport(op.intAttr("saturate", 1) == 1,
                         "only saturating quantisation is supported") ||
      !op.require(block >= 0, "a negative block_size"))
    return;
  // The division is done in the scale's type unless the node says otherwise.
  if (op.intAttr("precision", 0) != 0) {
    DType precision = op.dtypeAttr("precision", DType::F32);
    if (!op.requireSupport(isFloat(precision), "unsupported precision"))
      return;
    x = op.emit.cast(x, precision);
    scale = op.emit.cast(scale, precision);
  }
  if (!x || !scale)
    return;
  DType to = DType::U8;
  if (op.intAttr("output_dtype", 0) != 0)
    to = op.dtypeAttr("output_dtype", DType::U8);
  Val zero = op.hasInput(2) ? op.in(2) : op.emit.scalarInt(to, 0);
  if (!zero || !op.require(isFloat(scale.dtype), "expected float scales"))
    return;
  if (!isFloat(x.dtype))
    x = op.emit.cast(x, scale.dtype);
  else if (x.dtype != scale.dtype) {
    DType wide = precisionBits(x.dtype) > precisionBits(scale.dtype)
                     ? x.dtype
                     : scale.dtype;
    x = op.emit.cast(x, wide);
    scale = op.emit.cast(scale, wide);
  }
  op.out(quantize(op, x, spreadParam(op, scale, x, axis, block),
                  spreadParam(op, zero, x, axis, block)));
}

static void importDequantizeLinear(Operator &op) {
  int64_t axis = op.intAttr("axis", 1), block = op.intAttr("block_size", 0);
  Val x = op.in(0), scale = op.in(1);
  if (!x || !scale || !op.require(block >= 0, "a negative block_size") ||
      !op.require(isFloat(scale.dtype), "expected float scales"))
    return;
  DType to = scale.dtype;
  if (op.intAttr("output_dtype", 0) != 0)
    to = op.dtypeAttr("output_dtype", to);
  Val zero = op.hasInput(2) ? op.in(2) : op.emit.scalarInt(x.dtype, 0);
  if (!zero ||
      !op.require(zero.dtype == x.dtype,
                  "expected a zero point of type " + name(x.dtype)) ||
      !op.require(isFloat(to), "expected a float output_dtype"))
    return;
  Emitter &emit = op.emit;
  Val scales = spreadParam(op, scale, x, axis, block);
  Val zeros = spreadParam(op, zero, x, axis, block);
  if (!scales || !zeros)
    return;
  Val y = emit.make(scale.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::DequantizeOp::create(emit.builder, emit.location(), type,
                                       emit.use(x), emit.use(scales),
                                       emit.use(zeros))
        .getResult();
  });
  op.out(emit.cast(y, to));
}

/// Scale and zero point from the range of the data, which includes 0.
static void importDynamicQuantizeLinear(Operator &op) {
  Val x = op.in(0);
  if (!x || !op.require(x.dtype == DType::F32, "expected f32"))
    return;
  Emitter &emit = op.emit;
  Dims all = countUp(x.rank());
  Val zero = emit.scalar(DType::F32, 0);
  Val high =
      emit.binary<graph::MaxOp>(emit.reduce(ReduceKind::max, x, all), zero);
  Val low =
      emit.binary<graph::MinOp>(emit.reduce(ReduceKind::min, x, all), zero);
  Val scale = emit.binary<graph::DivOp>(emit.sub(high, low), 255.0);
  Val point = emit.unary<graph::RoundOp>(
      emit.div(emit.unary<graph::NegOp>(low), scale));
  // Saturating: casts to u8 clamp, and 0 / 0 becomes 0.
  Val zeroPoint = emit.cast(point, DType::U8);
  op.out(0, quantize(op, x, emit.broadcastTo(scale, x.shape),
                     emit.broadcastTo(zeroPoint, x.shape)));
  op.out(1, scale);
  op.out(2, zeroPoint);
}

void importer::addQuantization(Registry &registry) {
  registry.add("QuantizeLinear", importQuantizeLinear);
  registry.add("DequantizeLinear", importDequantizeLinear);
  registry.add("DynamicQuantizeLinear", importDynamicQuantizeLinear);
}
