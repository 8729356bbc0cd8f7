//===- Fold.cpp - small computations at import ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats are computed in f64 and rounded once: for + - * / and sqrt that gives
// the bits of the narrow type's own operation.
//===----------------------------------------------------------------------===//
#include "Fold.h"

#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
static uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

static double maxReal(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static double minReal(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
static int64_t divInteger(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? wrap(0 - bits(a)) : a / b;
}
static int64_t remInteger(int64_t a, int64_t b) {
  if (b == 0)
    return a;
  return b == -1 ? 0 : a % b;
}
static int64_t modInteger(int64_t a, int64_t b) {
  int64_t rem = remInteger(a, b);
  return b != 0 && rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
}

namespace fusec::onnx::importer {
template <>
UnaryFold unaryFold<graph::NegOp>() {
  return {[](double x) { return -x; },
          [](int64_t x) { return wrap(0 - bits(x)); }};
}
template <>
UnaryFold unaryFold<graph::AbsOp>() {
  return {[](double x) { return std::fabs(x); },
          [](int64_t x) { return x < 0 ? wrap(0 - bits(x)) : x; }};
}
template <>
UnaryFold unaryFold<graph::FloorOp>() {
  return {[](double x) { return std::floor(x); }, nullptr};
}
template <>
UnaryFold unaryFold<graph::CeilOp>() {
  return {[](double x) { return std::ceil(x); }, nullptr};
}
template <>
UnaryFold unaryFold<graph::RoundOp>() {
  return {[](double x) { return std::nearbyint(x); }, nullptr};
}
template <>
UnaryFold unaryFold<graph::SqrtOp>() {
  return {[](double x) { return std::sqrt(x); }, nullptr};
}
template <>
UnaryFold unaryFold<graph::NotOp>() {
  return {nullptr, [](int64_t x) { return ~x; }};
}
template <>
BinaryFold binaryFold<graph::AddOp>() {
  return {[](double a, double b) { return a + b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) + bits(b)); }};
}
template <>
BinaryFold binaryFold<graph::SubOp>() {
  return {[](double a, double b) { return a - b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) - bits(b)); }};
}
template <>
BinaryFold binaryFold<graph::MulOp>() {
  return {[](double a, double b) { return a * b; },
          [](int64_t a, int64_t b) { return wrap(bits(a) * bits(b)); }};
}
template <>
BinaryFold binaryFold<graph::DivOp>() {
  return {[](double a, double b) { return a / b; }, divInteger};
}
template <>
BinaryFold binaryFold<graph::RemOp>() {
  return {[](double a, double b) { return std::fmod(a, b); }, remInteger};
}
template <>
BinaryFold binaryFold<graph::ModOp>() {
  return {nullptr, modInteger};
}
template <>
BinaryFold binaryFold<graph::MaxOp>() {
  return {maxReal, [](int64_t a, int64_t b) { return std::max(a, b); }};
}
template <>
BinaryFold binaryFold<graph::MinOp>() {
  return {minReal, [](int64_t a, int64_t b) { return std::min(a, b); }};
}
template <>
BinaryFold binaryFold<graph::AndOp>() {
  return {nullptr, [](int64_t a, int64_t b) { return a & b; }};
}
template <>
BinaryFold binaryFold<graph::OrOp>() {
  return {nullptr, [](int64_t a, int64_t b) { return a | b; }};
}
template <>
BinaryFold binaryFold<graph::XorOp>() {
  return {nullptr, [](int64_t a, int64_t b) { return a ^ b; }};
}

bool fitsSigned64(DType type) { return type != DType::U64; }
} // namespace fusec::onnx::importer

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Stores the result of integer code, where ~ on bool means not.
static void store(HostTensor &out, int64_t i, int64_t value) {
  out.setI64(i, out.dtype == DType::Bool ? value & 1 : value);
}

void importer::foldUnary(const UnaryFold &fold, const HostTensor &from,
                         HostTensor &out) {
  for (int64_t i = 0, e = out.elements(); i < e; ++i)
    if (isFloat(from.dtype))
      out.setF64(i, fold.real(from.getF64(i)));
    else
      store(out, i, fold.integer(from.getI64(i)));
}

void importer::foldBinary(const BinaryFold &fold, const HostTensor &lhs,
                          const HostTensor &rhs, HostTensor &out) {
  for (int64_t i = 0, e = out.elements(); i < e; ++i)
    if (isFloat(lhs.dtype))
      out.setF64(i, fold.real(lhs.getF64(i), rhs.getF64(i)));
    else
      store(out, i, fold.integer(lhs.getI64(i), rhs.getI64(i)));
}

template <typename T>
static bool compare(ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == b;
  case ComparePredicate::ne:
    return a != b;
  case ComparePredicate::lt:
    return a < b;
  case ComparePredicate::le:
    return a <= b;
  case ComparePredicate::gt:
    return a > b;
  case ComparePredicate::ge:
    return a >= b;
  }
  return false;
}

void importer::foldCompare(ComparePredicate predicate, const HostTensor &lhs,
                           const HostTensor &rhs, HostTensor &out) {
  for (int64_t i = 0, e = out.elements(); i < e; ++i) {
    bool result;
    if (isFloat(lhs.dtype))
      result = compare(predicate, lhs.getF64(i), rhs.getF64(i));
    else if (lhs.dtype == DType::U64)
      result = compare(predicate, lhs.getBits(i), rhs.getBits(i));
    else
      result = compare(predicate, lhs.getI64(i), rhs.getI64(i));
    out.setI64(i, result);
  }
}

void importer::foldSelect(const HostTensor &pred, const HostTensor &onTrue,
                          const HostTensor &onFalse, HostTensor &out) {
  for (int64_t i = 0, e = out.elements(); i < e; ++i)
    out.setBits(i, (pred.getBits(i) ? onTrue : onFalse).getBits(i));
}

void importer::foldCast(const HostTensor &from, bool saturate,
                        HostTensor &out) {
  bool narrow = out.dtype == DType::F8E4M3 || out.dtype == DType::F8E5M2;
  Overflow overflow =
      narrow && saturate ? Overflow::Saturate : Overflow::Infinity;
  for (int64_t i = 0, e = out.elements(); i < e; ++i) {
    if (isFloat(from.dtype))
      out.setF64(i, from.getF64(i), overflow);
    else if (narrow)
      out.setF64(i, from.getF64(i), overflow); // far below f64's precision
    else if (from.dtype == DType::U64)
      out.setU64(i, from.getBits(i));
    else
      out.setI64(i, from.getI64(i));
  }
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

llvm::SmallVector<int64_t>
importer::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

/// Calls `visit(linear, offset + sum index_d * stride_d)` for every index of
/// `shape` in row-major order.
template <typename Visit>
static void walk(llvm::ArrayRef<int64_t> shape, int64_t offset,
                 llvm::ArrayRef<int64_t> strides, int64_t elements,
                 Visit visit) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  int64_t at = offset;
  for (int64_t i = 0; i < elements; ++i) {
    visit(i, at);
    for (size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d])
        break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

void importer::foldStrided(const HostTensor &from, int64_t offset,
                           llvm::ArrayRef<int64_t> strides, HostTensor &out) {
  walk(out.shape, offset, strides, out.elements(),
       [&](int64_t i, int64_t at) { out.setBits(i, from.getBits(at)); });
}

void importer::foldInsert(const HostTensor &from, llvm::ArrayRef<int64_t> start,
                          HostTensor &out) {
  llvm::SmallVector<int64_t> strides = rowMajorStrides(out.shape);
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d)
    offset += start[d] * strides[d];
  walk(from.shape, offset, strides, from.elements(),
       [&](int64_t i, int64_t at) { out.setBits(at, from.getBits(i)); });
}

void importer::foldGather(const HostTensor &from, const HostTensor &indices,
                          int64_t axis, HostTensor &out) {
  int64_t size = from.shape[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < from.shape.size(); ++d)
    inner *= from.shape[d];
  int64_t count = indices.elements();
  for (int64_t i = 0, e = out.elements(); i < e; ++i) {
    int64_t column = i % inner;
    int64_t which = (i / inner) % count;
    int64_t outer = i / inner / count;
    int64_t at = indices.getI64(which);
    at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1);
    out.setBits(i, from.getBits((outer * size + at) * inner + column));
  }
}

void importer::foldIota(int64_t dimension, HostTensor &out) {
  llvm::SmallVector<int64_t> strides(out.shape.size(), 0);
  strides[dimension] = 1;
  walk(out.shape, 0, strides, out.elements(),
       [&](int64_t i, int64_t at) { out.setI64(i, at); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static bool isFolded(ReduceKind kind, DType type) {
  switch (kind) {
  case ReduceKind::max:
  case ReduceKind::min:
    return type != DType::Bool && fitsSigned64(type);
  case ReduceKind::sum:
  case ReduceKind::prod:
    return !isFloat(type) && type != DType::Bool;
  case ReduceKind::all:
  case ReduceKind::any:
    return type == DType::Bool;
  }
  return false;
}

static void setIdentity(ReduceKind kind, HostTensor &out, int64_t i) {
  double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ReduceKind::max:
    return out.setF64(i, -infinity);
  case ReduceKind::min:
    return out.setF64(i, infinity);
  case ReduceKind::sum:
  case ReduceKind::any:
    return out.setI64(i, 0);
  case ReduceKind::prod:
  case ReduceKind::all:
    return out.setI64(i, 1);
  }
}

static void accumulate(ReduceKind kind, HostTensor &out, int64_t at,
                       const HostTensor &from, int64_t i) {
  bool real = isFloat(out.dtype);
  switch (kind) {
  case ReduceKind::max:
    return real ? out.setF64(at, maxReal(out.getF64(at), from.getF64(i)))
                : out.setI64(at, std::max(out.getI64(at), from.getI64(i)));
  case ReduceKind::min:
    return real ? out.setF64(at, minReal(out.getF64(at), from.getF64(i)))
                : out.setI64(at, std::min(out.getI64(at), from.getI64(i)));
  case ReduceKind::sum:
    return out.setI64(at, wrap(bits(out.getI64(at)) + bits(from.getI64(i))));
  case ReduceKind::prod:
    return out.setI64(at, wrap(bits(out.getI64(at)) * bits(from.getI64(i))));
  case ReduceKind::all:
    return out.setI64(at, out.getI64(at) & from.getI64(i));
  case ReduceKind::any:
    return out.setI64(at, out.getI64(at) | from.getI64(i));
  }
}

bool importer::foldReduce(ReduceKind kind, const HostTensor &from,
                          llvm::ArrayRef<int64_t> dimensions, HostTensor &out) {
  if (!isFolded(kind, from.dtype))
    return false;
  for (int64_t i = 0, e = out.elements(); i < e; ++i)
    setIdentity(kind, out, i);
  // Strides into `out` per dimension of `from`; 0 along reduced ones.
  llvm::SmallVector<int64_t> outStrides = rowMajorStrides(out.shape);
  llvm::SmallVector<int64_t> strides(from.shape.size(), 0);
  size_t next = 0;
  for (size_t d = 0; d < strides.size(); ++d)
    if (!llvm::is_contained(dimensions, static_cast<int64_t>(d)))
      strides[d] = outStrides[next++];
  walk(from.shape, 0, strides, from.elements(),
       [&](int64_t i, int64_t at) { accumulate(kind, out, at, from, i); });
  return true;
}
