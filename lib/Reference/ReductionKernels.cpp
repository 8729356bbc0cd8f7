//===- ReductionKernels.cpp - reductions, prefix sums, windows ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements are combined in row-major order, floats in f64.
//===----------------------------------------------------------------------===//
#include "Combine.h"
#include "Kernel.h"
#include "Windows.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// Sums in f64 with what each addition loses (Neumaier), so that long sums of
/// f64 are no worse than those that they judge.
static void addUp(const Tensor &x, Tensor &result, ArrayRef<int64_t> strides) {
  std::vector<double> lost(result.real.size(), 0);
  walkStrided(x.shape, strides, 0, [&](int64_t i, int64_t p) {
    double term = x.real[i], before = result.real[p], sum = before + term;
    lost[p] += std::fabs(before) >= std::fabs(term) ? (before - sum) + term
                                                    : (term - sum) + before;
    result.real[p] = sum;
  });
  for (auto [sum, rest] : llvm::zip(result.real, lost))
    if (std::isfinite(rest) && rest != 0)
      sum += rest;
}

static Results reduceKernel(Operation *op, Operands operands,
                            Context &context) {
  auto reduce = cast<graph::ReduceOp>(op);
  const Tensor &x = *operands[0];
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(x.shape))
    if (!llvm::is_contained(reduce.getDimensions(), static_cast<int64_t>(dim)))
      shape.push_back(size);
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  Combine combine(reduce.getKind(), x.dtype);
  combine.fill(*result);
  auto strides = keptStrides(x.shape, reduce.getDimensions());
  if (reduce.getKind() == graph::ReduceKind::sum && x.isReal()) {
    addUp(x, *result, strides);
    return single(std::move(*result));
  }
  onPayload(x, *result, [&](const auto &source, auto &target) {
    walkStrided(x.shape, strides, 0, [&](int64_t i, int64_t p) {
      target[p] = combine(target[p], source[i]);
    });
  });
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// arg_reduce, cumulative: one axis
//===----------------------------------------------------------------------===//

namespace {
/// A shape seen from one axis: element (o, j, i) is at (o * size + j) * inner +
/// i.
struct AxisView {
  int64_t outer, size, inner;
  AxisView(ArrayRef<int64_t> shape, int64_t axis)
      : outer(Context::steps(shape.take_front(axis))), size(shape[axis]),
        inner(Context::steps(shape.drop_front(axis + 1))) {}
};
} // namespace

static bool beats(bool isMax, DType, double candidate, double best) {
  if (std::isnan(best))
    return false;
  return std::isnan(candidate) || (isMax ? candidate > best : candidate < best);
}

static bool beats(bool isMax, DType dtype, int64_t candidate, int64_t best) {
  return isMax ? isLess(dtype, best, candidate)
               : isLess(dtype, candidate, best);
}

static Results argReduceKernel(Operation *op, Operands operands,
                               Context &context) {
  auto reduce = cast<graph::ArgReduceOp>(op);
  const Tensor &x = *operands[0];
  int64_t axis = reduce.getDimension();
  SmallVector<int64_t> shape(x.shape);
  shape.erase(shape.begin() + axis);
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  AxisView view(x.shape, axis);
  if (view.size == 0 && result->elements() > 0)
    return llvm::createStringError("the reduced dimension has no elements");
  bool isMax = reduce.getKind() == graph::ReduceKind::max;
  bool last = reduce.getSelectLast();
  onPayload(x, *result, [&](const auto &source, auto &) {
    for (int64_t k = 0; k < result->elements(); ++k) {
      int64_t start = k / view.inner * view.size * view.inner + k % view.inner;
      auto at = [&](int64_t j) { return source[start + j * view.inner]; };
      int64_t best = 0;
      for (int64_t j = 1; j < view.size; ++j)
        if (last ? !beats(isMax, x.dtype, at(best), at(j))
                 : beats(isMax, x.dtype, at(j), at(best)))
          best = j;
      result->whole[k] = best;
    }
  });
  return single(std::move(*result));
}

/// The places of one row after another, sorted, and the first of each stored.
static Results topKKernel(Operation *op, Operands operands, Context &context) {
  auto top = cast<graph::TopKOp>(op);
  const Tensor &x = *operands[0];
  int64_t axis = top.getDimension(), count = op->getNumResults();
  SmallVector<int64_t> shape(x.shape);
  shape.erase(shape.begin() + axis);
  std::vector<Tensor> results;
  for (OpResult value : op->getResults()) {
    Expected<Tensor> result = context.create(value, shape);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  AxisView view(x.shape, axis);
  int64_t rows = results.front().elements();
  if (rows && view.size < count)
    return llvm::createStringError("the dimension has " + Twine(view.size) +
                                   " elements, expected at least " +
                                   Twine(count));
  bool isMax = top.getKind() == graph::ReduceKind::max;
  std::vector<int64_t> order(view.size);
  auto sortRows = [&](const auto &source) {
    for (int64_t k = 0; k < rows; ++k) {
      int64_t start = k / view.inner * view.size * view.inner + k % view.inner;
      auto at = [&](int64_t j) { return source[start + j * view.inner]; };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + count, order.end(),
                        [&](int64_t a, int64_t b) {
                          if (beats(isMax, x.dtype, at(a), at(b)))
                            return true;
                          return !beats(isMax, x.dtype, at(b), at(a)) && a < b;
                        });
      for (int64_t j = 0; j < count; ++j)
        results[j].whole[k] = order[j];
    }
  };
  if (x.isReal())
    sortRows(x.real);
  else
    sortRows(x.whole);
  return results;
}

/// A running value of a narrower type than f64, or infinity where f32 has no
/// such number: sums that overflow do not come back.
static double keepOverflow(double value, DType dtype) {
  double narrow = roundToFloat(DType::F32, value);
  return dtype != DType::F64 && std::isinf(narrow) ? narrow : value;
}
static int64_t keepOverflow(int64_t value, DType) { return value; }

static Results cumulativeKernel(Operation *op, Operands operands,
                                Context &context) {
  auto cumulative = cast<graph::CumulativeOp>(op);
  const Tensor &x = *operands[0];
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  Combine combine(cumulative.getKind(), x.dtype);
  combine.fill(*result);
  AxisView view(x.shape, cumulative.getDimension());
  if (result->elements() == 0)
    return single(std::move(*result));
  bool exclusive = cumulative.getExclusive(), reverse = cumulative.getReverse();
  onPayload(x, *result, [&](const auto &source, auto &target) {
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 0; i < view.inner; ++i) {
        auto state = target[o * view.size * view.inner + i]; // the identity
        for (int64_t step = 0; step < view.size; ++step) {
          int64_t j = reverse ? view.size - 1 - step : step;
          int64_t p = (o * view.size + j) * view.inner + i;
          auto next = keepOverflow(combine(state, source[p]), x.dtype);
          target[p] = exclusive ? state : next;
          state = next;
        }
      }
  });
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// window_reduce
//===----------------------------------------------------------------------===//

static Results windowReduceKernel(Operation *op, Operands operands,
                                  Context &context) {
  auto reduce = cast<graph::WindowReduceOp>(op);
  const Tensor &x = *operands[0];
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    shape.push_back(countWindows(
        x.shape[d], reduce.getWindow()[d], reduce.getStrides()[d],
        reduce.getDilations()[d], reduce.getLow()[d], reduce.getHigh()[d]));
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  Combine combine(reduce.getKind(), x.dtype);
  combine.fill(*result);
  int64_t windowSize = Context::steps(reduce.getWindow());
  if (llvm::Error error =
          context.charge(Context::steps({result->elements(), windowSize})))
    return std::move(error);
  auto strides = stridesOf(x.shape);
  SmallVector<int64_t> index(x.rank());
  // The place of window element `w` of result element `index` in x, or -1.
  auto place = [&](int64_t w) {
    int64_t position = 0;
    for (int64_t d = x.rank(); d-- > 0;) {
      int64_t at = index[d] * reduce.getStrides()[d] +
                   w % reduce.getWindow()[d] * reduce.getDilations()[d] -
                   reduce.getLow()[d];
      w /= reduce.getWindow()[d];
      if (at < 0 || at >= x.shape[d])
        return int64_t(-1);
      position += at * strides[d];
    }
    return position;
  };
  onPayload(x, *result, [&](const auto &source, auto &target) {
    for (int64_t k = 0; k < result->elements(); ++k) {
      int64_t rest = k;
      for (int64_t d = x.rank(); d-- > 0; rest /= shape[d])
        index[d] = rest % shape[d];
      for (int64_t w = 0; w < windowSize; ++w)
        if (int64_t p = place(w); p >= 0)
          target[k] = combine(target[k], source[p]);
    }
  });
  return single(std::move(*result));
}

void reference::registerReductionKernels(Registry &registry) {
  registry.add<graph::ReduceOp>(reduceKernel);
  registry.add<graph::ArgReduceOp>(argReduceKernel);
  registry.add<graph::TopKOp>(topKKernel);
  registry.add<graph::CumulativeOp>(cumulativeKernel);
  registry.add<graph::WindowReduceOp>(windowReduceKernel);
}
