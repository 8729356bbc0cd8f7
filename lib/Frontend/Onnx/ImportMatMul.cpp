//===- ImportMatMul.cpp - matrix products ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

Val importer::contract(Operator &op, const Val &a, const Val &b,
                       const Pairing &p) {
  if (!a || !b ||
      !op.require(a.dtype == b.dtype && a.dtype != DType::Bool,
                  "expected numbers of one type, found " + name(a.dtype) +
                      " and " + name(b.dtype)))
    return {};
  for (size_t i = 0; i < p.lhsContract.size(); ++i)
    if (!op.require(a.shape[p.lhsContract[i]] == b.shape[p.rhsContract[i]],
                    "cannot multiply " + describe(a.shape) + " and " +
                        describe(b.shape)))
      return {};
  Dims shape;
  for (int64_t d : p.lhsBatch)
    shape.push_back(a.shape[d]);
  for (int64_t d = 0; d < a.rank(); ++d)
    if (!llvm::is_contained(p.lhsBatch, d) &&
        !llvm::is_contained(p.lhsContract, d))
      shape.push_back(a.shape[d]);
  for (int64_t d = 0; d < b.rank(); ++d)
    if (!llvm::is_contained(p.rhsBatch, d) &&
        !llvm::is_contained(p.rhsContract, d))
      shape.push_back(b.shape[d]);
  Emitter &emit = op.emit;
  return emit.make(a.dtype, shape, [&](mlir::RankedTensorType type) {
    return graph::ContractOp::create(emit.builder, emit.location(), type,
                                     emit.use(a), emit.use(b), p.lhsBatch,
                                     p.rhsBatch, p.lhsContract, p.rhsContract)
        .getResult();
  });
}

/// Broadcasts the batch dimensions (all but two) of both.
static bool unifyBatch(Operator &op, Val &a, Val &b) {
  Dims batch;
  for (const Val *v : {&a, &b}) {
    DimsRef own = DimsRef(v->shape).drop_back(2);
    if (own.size() > batch.size())
      batch.insert(batch.begin(), own.size() - batch.size(), 1);
    size_t shift = batch.size() - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      int64_t &dim = batch[shift + i];
      if (dim == 1)
        dim = own[i];
      if (!op.require(own[i] == 1 || own[i] == dim,
                      "batch dimensions of " + describe(a.shape) + " and " +
                          describe(b.shape) + " do not broadcast"))
        return false;
    }
  }
  for (Val *v : {&a, &b}) {
    Dims shape = batch;
    shape.append(v->shape.end() - 2, v->shape.end());
    *v = op.emit.broadcastTo(*v, shape);
    if (!*v)
      return false;
  }
  return true;
}

Val importer::matmul(Operator &op, Val a, Val b) {
  if (!a || !b ||
      !op.require(a.rank() >= 1 && b.rank() >= 1, "expected rank 1 or more"))
    return {};
  Pairing p;
  p.lhsContract = {a.rank() - 1};
  p.rhsContract = {std::max<int64_t>(b.rank() - 2, 0)};
  // A matrix (or vector) on the right serves every batch, and a vector on the
  // left every matrix of an unbatched right side.
  if (b.rank() <= 2)
    return contract(op, a, b, p);
  bool vector = a.rank() == 1;
  if (vector)
    a = op.emit.reshape(a, {1, a.shape[0]});
  if (!unifyBatch(op, a, b))
    return {};
  p.lhsBatch = p.rhsBatch = countUp(b.rank() - 2);
  p.lhsContract = {a.rank() - 1};
  p.rhsContract = {b.rank() - 2};
  Val product = contract(op, a, b, p);
  if (!vector || !product)
    return product;
  Dims shape = product.shape;
  shape.erase(shape.end() - 2);
  return op.emit.reshape(product, shape);
}

Val importer::multiplyTransposed(Operator &op, const Val &x, const Val &w) {
  if (!x || !w)
    return {};
  return contract(op, x, w, {{}, {}, {x.rank() - 1}, {w.rank() - 1}});
}

static void importMatMul(Operator &op) {
  op.out(matmul(op, op.in(0), op.in(1)));
}

/// alpha * A' B' + beta * C.
static void importGemm(Operator &op) {
  double alpha = op.floatAttr("alpha", 1), beta = op.floatAttr("beta", 1);
  bool transA = op.intAttr("transA", 0) != 0;
  bool transB = op.intAttr("transB", 0) != 0;
  Val a = op.in(0), b = op.in(1);
  if (!a || !b ||
      !op.require(a.rank() == 2 && b.rank() == 2, "expected matrices") ||
      !op.require(isFloat(a.dtype) || (alpha == static_cast<int64_t>(alpha) &&
                                       beta == static_cast<int64_t>(beta)),
                  "expected integral alpha and beta for integers"))
    return;
  Pairing p;
  p.lhsContract = {transA ? 0 : 1};
  p.rhsContract = {transB ? 1 : 0};
  Val y = contract(op, a, b, p);
  if (alpha != 1)
    y = op.emit.binary<graph::MulOp>(y, alpha);
  if (y && op.hasInput(2)) {
    Val c = op.in(2);
    if (beta != 1)
      c = op.emit.binary<graph::MulOp>(c, beta);
    y = op.emit.add(y, op.emit.broadcastTo(c, y.shape));
  }
  op.out(y);
}

//===----------------------------------------------------------------------===//
// Integer products
//===----------------------------------------------------------------------===//

/// x - zeroPoint in i32. A vector of zero points belongs to the rows of the
/// left operand or the columns of the right one.
static Val centred(Operator &op, const Val &x, const Val &zeroPoint,
                   bool isLeft) {
  Emitter &emit = op.emit;
  Val wide = emit.cast(x, DType::I32);
  if (!wide || !zeroPoint)
    return wide;
  Val zero = emit.cast(zeroPoint, DType::I32);
  if (zero && zero.elements() == 1)
    zero = emit.reshape(zero, {});
  else if (zero && isLeft && zero.rank() == 1)
    zero = emit.reshape(zero, {zero.shape[0], 1});
  return emit.sub(wide, zero);
}

static void importMatMulInteger(Operator &op) {
  Val a = centred(op, op.in(0), op.hasInput(2) ? op.in(2) : Val(), true);
  Val b = centred(op, op.in(1), op.hasInput(3) ? op.in(3) : Val(), false);
  op.out(matmul(op, a, b));
}

/// Multiplies exactly in i32, then scales and quantises in the scale's type.
static void importQLinearMatMul(Operator &op) {
  Val aScale = op.in(1), bScale = op.in(4), yScale = op.in(6), yZero = op.in(7);
  Val a = centred(op, op.in(0), op.in(2), true);
  Val b = centred(op, op.in(3), op.in(5), false);
  Val y = matmul(op, a, b);
  if (!y || !aScale || !bScale || !yScale || !yZero ||
      !op.require(yScale.elements() == 1 && yZero.elements() == 1,
                  "expected one scale and zero point of the result"))
    return;
  Emitter &emit = op.emit;
  if (aScale.elements() == 1)
    aScale = emit.reshape(aScale, {});
  else if (aScale.rank() == 1)
    aScale = emit.reshape(aScale, {aScale.shape[0], 1});
  if (bScale.elements() == 1)
    bScale = emit.reshape(bScale, {});
  Val scale = emit.cast(emit.mul(aScale, bScale), DType::F32);
  Val real = emit.mul(emit.cast(y, DType::F32), scale);
  if (!real)
    return;
  Val divisor =
      emit.splat(emit.reshape(emit.cast(yScale, DType::F32), {}), real.shape);
  Val zero = emit.splat(emit.reshape(yZero, {}), real.shape);
  op.out(emit.make(yZero.dtype, real.shape, [&](mlir::RankedTensorType type) {
    return graph::QuantizeOp::create(emit.builder, emit.location(), type,
                                     emit.use(real), emit.use(divisor),
                                     emit.use(zero))
        .getResult();
  }));
}

void importer::addMatMul(Registry &registry) {
  registry.add("MatMul", importMatMul);
  registry.add("Gemm", importGemm);
  registry.add("MatMulInteger", importMatMulInteger);
  registry.add("QLinearMatMul", importQLinearMatMul);
}
