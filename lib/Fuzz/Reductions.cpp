//===- Reductions.cpp - reductions, windows, contractions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;
using graph::ReduceKind;

static constexpr ReduceKind kNumberKinds[] = {ReduceKind::sum, ReduceKind::sum,
                                              ReduceKind::max, ReduceKind::min,
                                              ReduceKind::prod};
static constexpr ReduceKind kBoolKinds[] = {ReduceKind::all, ReduceKind::any};

static ReduceKind kindFor(Writer &w, Value value) {
  return w.dtypeOf(value) == DType::Bool ? w.rng.pick(kBoolKinds)
                                         : w.rng.pick(kNumberKinds);
}

static Value anyRanked(Writer &w) {
  return w.anyOf([](Value v) { return Writer::typeOf(v).getRank() > 0; },
                 [&] {
                   Shape shape = w.shape(1, 5);
                   DType dtype = w.dtype();
                   return w.fresh(shape, dtype);
                 });
}

static Value reduce(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape kept, dims;
  for (auto [d, size] : llvm::enumerate(w.shapeOf(value))) {
    if (w.rng.chance(1, 2))
      dims.push_back(d);
    else
      kept.push_back(size);
  }
  ReduceKind kind = kindFor(w, value);
  Value result = w.op<graph::ReduceOp>(w.tensor(kept, w.dtypeOf(value)), kind,
                                       value, ArrayRef<int64_t>(dims));
  if (!result || w.rng.chance(1, 2))
    return result;
  // Back to where it came from, as norms do.
  SmallVector<int64_t> keptDims;
  for (int64_t d = 0; d < w.typeOf(value).getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      keptDims.push_back(d);
  Value wide = w.broadcast(result, w.shapeOf(value), keptDims);
  if (!wide || w.dtypeOf(value) == DType::Bool)
    return wide;
  return w.rng.chance(1, 2) ? w.op<graph::SubOp>(value, wide)
                            : w.op<graph::MulOp>(value, wide);
}

static Value argReduce(Writer &w) {
  Value value = w.anyOf(
      [](Value v) {
        return Writer::typeOf(v).getRank() > 0 &&
               Writer::typeOf(v).getNumElements() > 0 &&
               Writer::dtypeOf(v) != DType::Bool;
      },
      [&] {
        int64_t size = w.rng.between(1, 70);
        DType dtype = w.floatType();
        return w.fresh({size, 3}, dtype);
      });
  if (!value)
    return {};
  static constexpr DType kIndices[] = {DType::I64, DType::I64, DType::I32};
  Shape kept = w.shapeOf(value);
  int64_t dim = w.rng.below(kept.size());
  kept.erase(kept.begin() + dim);
  auto kind = w.rng.chance(1, 2) ? ReduceKind::max : ReduceKind::min;
  DType index = w.rng.pick(kIndices);
  bool last = w.rng.chance(1, 3);
  // The first few in their order.
  if (w.rng.chance(1, 4)) {
    int64_t most = std::min<int64_t>(4, w.shapeOf(value)[dim]);
    SmallVector<Type> types(w.rng.between(1, most), w.tensor(kept, index));
    return w.op<graph::TopKOp>(TypeRange(types), kind, value, dim);
  }
  return w.op<graph::ArgReduceOp>(w.tensor(kept, index), kind, value, dim,
                                  last);
}

static Value cumulative(Writer &w) {
  Value value = anyRanked(w);
  if (!value || w.dtypeOf(value) == DType::Bool)
    return {};
  int64_t dim = w.rng.below(w.typeOf(value).getRank());
  if (w.shapeOf(value)[dim] > 300)
    return {};
  auto kind = w.rng.pick(kNumberKinds);
  bool exclusive = w.rng.chance(1, 3), reverse = w.rng.chance(1, 3);
  return w.op<graph::CumulativeOp>(value.getType(), kind, value, dim, exclusive,
                                   reverse);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Windows along one dimension, and how many there are.
namespace {
struct WindowSizes {
  int64_t window = 1, stride = 1, dilation = 1, low = 0, high = 0;
  static WindowSizes choose(Writer &w, int64_t size) {
    WindowSizes s;
    s.window = w.rng.between(1, 5);
    s.stride = w.rng.chance(1, 3) ? w.rng.between(1, 3) : 1;
    s.dilation = w.rng.chance(1, 4) ? w.rng.between(1, 3) : 1;
    if (w.rng.chance(2, 3)) {
      s.low = w.rng.below(s.window * s.dilation + 1);
      s.high = w.rng.below(s.window * s.dilation + 1);
    }
    while (s.window > 1 && s.count(size) == 0)
      --s.window;
    return s;
  }
  int64_t count(int64_t size) const {
    int64_t room = size + low + high - dilation * (window - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
  }
};
} // namespace

static Value windowReduce(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape window, strides, dilations, low, high, to;
  int64_t points = 1;
  for (int64_t size : w.shapeOf(value)) {
    WindowSizes s;
    if (w.rng.chance(1, 2) && points < 60)
      s = WindowSizes::choose(w, size);
    points *= s.window;
    window.push_back(s.window);
    strides.push_back(s.stride);
    dilations.push_back(s.dilation);
    low.push_back(s.low);
    high.push_back(s.high);
    to.push_back(s.count(size));
  }
  ReduceKind kind = kindFor(w, value);
  using Array = ArrayRef<int64_t>;
  return w.op<graph::WindowReduceOp>(w.tensor(to, w.dtypeOf(value)), kind,
                                     value, Array(window), Array(strides),
                                     Array(dilations), Array(low), Array(high));
}

static Value windowChain(Writer &w) {
  Value value = windowReduce(w);
  for (int64_t i = 0, n = w.rng.between(1, 2); value && i < n; ++i) {
    if (Value next = sameTypeOp(w, value))
      value = next;
    Shape ones(w.typeOf(value).getRank(), 1), zeros(ones.size(), 0);
    Shape window = ones, to = w.shapeOf(value);
    if (to.empty())
      return value;
    int64_t dim = w.rng.below(to.size());
    window[dim] = std::min<int64_t>(3, std::max<int64_t>(to[dim], 1));
    to[dim] = std::max<int64_t>(to[dim] - window[dim] + 1, 0);
    ReduceKind kind = kindFor(w, value);
    using Array = ArrayRef<int64_t>;
    Value next = w.op<graph::WindowReduceOp>(
        w.tensor(to, w.dtypeOf(value)), kind, value, Array(window), Array(ones),
        Array(ones), Array(zeros), Array(zeros));
    if (!next)
      return value;
    value = next;
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// An element type for the result of products of `dtype`.
static DType productType(Writer &w, DType dtype) {
  if (w.rng.chance(3, 4))
    return dtype;
  return isFloat(dtype) ? w.floatType() : w.intType();
}

static Value contract(Writer &w) {
  Value lhs = w.anyOf(
      [](Value v) {
        return Writer::typeOf(v).getRank() > 0 &&
               Writer::dtypeOf(v) != DType::Bool;
      },
      [&] {
        Shape shape = w.shape(1, 3);
        DType dtype = w.rng.chance(5, 6) ? w.floatType() : w.intType();
        return w.fresh(shape, dtype);
      });
  if (!lhs)
    return {};
  Shape from = w.shapeOf(lhs);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, from.size()));
  w.rng.shuffle(order);
  int64_t reduced = w.rng.chance(5, 6) ? 1 : w.rng.between(0, from.size());
  int64_t batches = w.rng.between(
      0, std::min<int64_t>(from.size() - reduced, w.rng.chance(1, 2) ? 0 : 2));
  SmallVector<int64_t> lhsContract(ArrayRef(order).take_front(reduced)),
      lhsBatch(ArrayRef(order).slice(reduced, batches));
  // The other operand: the shared dims and its own, in any order.
  struct Dim {
    int64_t size, role, number;
  };
  SmallVector<Dim> dims;
  for (auto [i, d] : llvm::enumerate(lhsContract))
    dims.push_back({from[d], 0, int64_t(i)});
  for (auto [i, d] : llvm::enumerate(lhsBatch))
    dims.push_back({from[d], 1, int64_t(i)});
  for (int64_t i = 0, n = w.rng.below(3); i < n; ++i)
    dims.push_back({w.size(), 2, i});
  w.rng.shuffle(dims);
  Shape other;
  SmallVector<int64_t> rhsContract(reduced), rhsBatch(batches), rhsFree;
  int64_t product = 1;
  for (Dim &dim : dims) {
    product *= dim.size;
    if (dim.role == 2 && product > kMaxElements) {
      product /= dim.size;
      dim.size = 2;
      product *= 2;
    }
    other.push_back(dim.size);
  }
  Shape to;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (dim.role == 0)
      rhsContract[dim.number] = d;
    else if (dim.role == 1)
      rhsBatch[dim.number] = d;
    else
      rhsFree.push_back(dim.size);
  }
  for (int64_t d : lhsBatch)
    to.push_back(from[d]);
  for (auto [d, size] : llvm::enumerate(from))
    if (!llvm::is_contained(lhsBatch, int64_t(d)) &&
        !llvm::is_contained(lhsContract, int64_t(d)))
      to.push_back(size);
  llvm::append_range(to, rhsFree);
  int64_t work = 1;
  for (int64_t size : to)
    work *= size;
  for (int64_t d : lhsContract)
    work *= from[d];
  if (work > 2'000'000)
    return {};
  DType dtype =
      w.rng.chance(7, 8) ? w.dtypeOf(lhs) : productType(w, w.dtypeOf(lhs));
  Value rhs = w.fitting(other, dtype);
  DType result = productType(w, dtype);
  bool tf32 = w.rng.chance(1, 8);
  using Array = ArrayRef<int64_t>;
  return w.op<graph::ContractOp>(w.tensor(to, result), lhs, rhs,
                                 Array(lhsBatch), Array(rhsBatch),
                                 Array(lhsContract), Array(rhsContract), tf32);
}

/// Sizes in the order of a layout: `dims` names the place of each.
static Shape laidOut(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dims) {
  Shape result(sizes.size());
  for (auto [size, dim] : llvm::zip(sizes, dims))
    result[dim] = size;
  return result;
}

static SmallVector<int64_t> layout(Writer &w, int64_t rank) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (w.rng.chance(1, 3))
    w.rng.shuffle(dims);
  return dims;
}

static Value convolution(Writer &w) {
  int64_t spatial = w.rng.pick<int64_t>({0, 1, 1, 2, 2, 2, 2, 3});
  int64_t rank = spatial + 2;
  int64_t groups = w.rng.chance(1, 3) ? w.rng.between(2, 4) : 1;
  int64_t perGroup = w.rng.between(1, 5),
          outputs = groups * w.rng.between(1, 5);
  Shape input = {w.rng.between(1, 3), groups * perGroup},
        kernel = {outputs, perGroup}, to = {input[0], outputs};
  Shape strides, dilations, low, high;
  int64_t work = input[0] * outputs * perGroup;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = w.rng.between(1, spatial > 2 ? 6 : 19);
    WindowSizes s = WindowSizes::choose(w, size);
    input.push_back(size);
    kernel.push_back(s.window);
    strides.push_back(s.stride);
    dilations.push_back(s.dilation);
    low.push_back(s.low);
    high.push_back(s.high);
    to.push_back(s.count(size));
    work *= to.back() * s.window;
  }
  if (work > 1'000'000)
    return {};
  DType dtype = w.rng.chance(7, 8) ? w.floatType() : w.intType();
  DType result = productType(w, dtype);
  auto inputDims = layout(w, rank), kernelDims = layout(w, rank);
  auto resultDims = layout(w, rank);
  Value x = w.fitting(laidOut(input, inputDims), dtype);
  Value k = w.fitting(laidOut(kernel, kernelDims), dtype);
  using Array = ArrayRef<int64_t>;
  return w.op<graph::ConvolutionOp>(
      w.tensor(laidOut(to, resultDims), result), x, k, Array(strides),
      Array(dilations), Array(low), Array(high), Array(inputDims),
      Array(kernelDims), Array(resultDims), groups, w.rng.chance(1, 8));
}

void fuzz::appendReductionRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{reduce, 12},
                  {argReduce, 3},
                  {cumulative, 2},
                  {windowReduce, 4},
                  {windowChain, 2},
                  {contract, 8},
                  {convolution, 4}});
}
