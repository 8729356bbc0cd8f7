//===- ContractionKernels.cpp - sums of products --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats are summed in f64 (products of narrower floats are exact there),
// integers modulo 2^64.
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "Windows.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

static double multiplyAdd(double sum, double lhs, double rhs) {
  return sum + lhs * rhs;
}

static int64_t multiplyAdd(int64_t sum, int64_t lhs, int64_t rhs) {
  return static_cast<int64_t>(static_cast<uint64_t>(sum) +
                              static_cast<uint64_t>(lhs) *
                                  static_cast<uint64_t>(rhs));
}

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

/// The sizes of `dims`, appended.
static void appendSizes(SmallVectorImpl<int64_t> &sizes, const Tensor &tensor,
                        ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    sizes.push_back(tensor.shape[dim]);
}

/// `values` of a tensor with its dimensions in the order `dims`.
template <typename T>
static std::vector<T> packed(const Tensor &tensor, const std::vector<T> &values,
                             ArrayRef<int64_t> dims) {
  auto strides = stridesOf(tensor.shape);
  SmallVector<int64_t> shape, order;
  for (int64_t dim : dims) {
    shape.push_back(tensor.shape[dim]);
    order.push_back(strides[dim]);
  }
  std::vector<T> result(values.size());
  walkStrided(shape, order, 0,
              [&](int64_t i, int64_t p) { result[i] = values[p]; });
  return result;
}

static SmallVector<int64_t> joined(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                   ArrayRef<int64_t> c) {
  SmallVector<int64_t> all(a);
  llvm::append_range(all, b);
  llvm::append_range(all, c);
  return all;
}

/// C[b, m, n] += A[b, m, k] * B[b, k, n], k in order.
template <typename T>
static void multiplyMatrices(const std::vector<T> &lhs,
                             const std::vector<T> &rhs, std::vector<T> &sum,
                             int64_t batches, int64_t rows, int64_t depth,
                             int64_t columns) {
  for (int64_t row = 0; row < batches * rows; ++row)
    for (int64_t k = 0; k < depth; ++k) {
      T factor = lhs[row * depth + k];
      const T *from = rhs.data() + (row / rows * depth + k) * columns;
      T *to = sum.data() + row * columns;
      for (int64_t column = 0; column < columns; ++column)
        to[column] = multiplyAdd(to[column], factor, from[column]);
    }
}

static Results contractKernel(Operation *op, Operands operands,
                              Context &context) {
  auto contract = cast<graph::ContractOp>(op);
  const Tensor &lhs = *operands[0], &rhs = *operands[1];
  ArrayRef<int64_t> lhsBatch = contract.getLhsBatch(),
                    rhsBatch = contract.getRhsBatch(),
                    lhsDepth = contract.getLhsContract(),
                    rhsDepth = contract.getRhsContract();
  auto lhsFree = contract.getLhsFree(), rhsFree = contract.getRhsFree();
  SmallVector<int64_t> batches, depths, others, rows, columns;
  appendSizes(batches, lhs, lhsBatch);
  appendSizes(depths, lhs, lhsDepth);
  appendSizes(others, rhs, rhsBatch);
  appendSizes(others, rhs, rhsDepth);
  if (joined(batches, depths, {}) != others)
    return llvm::createStringError("paired dimensions differ in size");
  appendSizes(rows, lhs, lhsFree);
  appendSizes(columns, rhs, rhsFree);
  Expected<Tensor> result =
      context.create(op->getResult(0), joined(batches, rows, columns));
  if (!result)
    return result.takeError();
  int64_t b = Context::steps(batches), m = Context::steps(rows),
          k = Context::steps(depths), n = Context::steps(columns);
  if (llvm::Error error = context.charge(Context::steps({b, m, k, n})))
    return std::move(error);
  if (result->elements() == 0 || k == 0)
    return single(std::move(*result));
  auto lhsOrder = joined(lhsBatch, lhsFree, lhsDepth),
       rhsOrder = joined(rhsBatch, rhsDepth, rhsFree);
  if (lhs.isReal())
    multiplyMatrices(packed(lhs, lhs.real, lhsOrder),
                     packed(rhs, rhs.real, rhsOrder), result->real, b, m, k, n);
  else
    multiplyMatrices(packed(lhs, lhs.whole, lhsOrder),
                     packed(rhs, rhs.whole, rhsOrder), result->whole, b, m, k,
                     n);
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

namespace {
/// Sizes and strides of one convolution; spatial arrays are in the op's order.
struct Convolution {
  graph::ConvolutionOp op;
  const Tensor &input, &kernel;
  SmallVector<int64_t, 6> inputStrides, kernelStrides, resultStrides;
  SmallVector<int64_t, 6> inputSizes, kernelSizes, resultSizes;
  int64_t batch, groups, outputs, perGroup;

  Convolution(graph::ConvolutionOp op, const Tensor &input,
              const Tensor &kernel)
      : op(op), input(input), kernel(kernel),
        inputStrides(stridesOf(input.shape)),
        kernelStrides(stridesOf(kernel.shape)) {
    batch = input.shape[op.getInputDims()[0]];
    groups = op.getGroups();
    outputs = kernel.shape[op.getKernelDims()[0]];
    perGroup = kernel.shape[op.getKernelDims()[1]];
    for (int64_t i = 0, e = op.getStrides().size(); i < e; ++i) {
      inputSizes.push_back(input.shape[op.getInputDims()[2 + i]]);
      kernelSizes.push_back(kernel.shape[op.getKernelDims()[2 + i]]);
      resultSizes.push_back(
          countWindows(inputSizes[i], kernelSizes[i], op.getStrides()[i],
                       op.getDilations()[i], op.getLow()[i], op.getHigh()[i]));
    }
  }

  SmallVector<int64_t> resultShape() {
    SmallVector<int64_t> shape(input.rank());
    shape[op.getResultDims()[0]] = batch;
    shape[op.getResultDims()[1]] = outputs;
    for (auto [i, size] : llvm::enumerate(resultSizes))
      shape[op.getResultDims()[2 + i]] = size;
    return shape;
  }

  /// Offsets of a kernel element and of the input element below it, -1 in
  /// padding.
  struct Tap {
    int64_t input, kernel;
  };
  /// The taps of the result at `position` among the spatial positions, and the
  /// offset of that position in the result.
  int64_t findTaps(int64_t position, std::vector<Tap> &taps);
};
} // namespace

int64_t Convolution::findTaps(int64_t position, std::vector<Tap> &taps) {
  int64_t spatial = inputSizes.size(), offset = 0;
  SmallVector<int64_t> at(spatial);
  for (int64_t i = spatial; i-- > 0; position /= resultSizes[i]) {
    at[i] = position % resultSizes[i];
    offset += at[i] * resultStrides[op.getResultDims()[2 + i]];
  }
  for (auto [number, tap] : llvm::enumerate(taps)) {
    tap = {0, 0};
    int64_t rest = number;
    bool inside = true;
    for (int64_t i = spatial; i-- > 0; rest /= kernelSizes[i]) {
      int64_t step = rest % kernelSizes[i];
      int64_t from = at[i] * op.getStrides()[i] + step * op.getDilations()[i] -
                     op.getLow()[i];
      inside &= from >= 0 && from < inputSizes[i];
      tap.kernel += step * kernelStrides[op.getKernelDims()[2 + i]];
      tap.input += from * inputStrides[op.getInputDims()[2 + i]];
    }
    if (!inside)
      tap.input = -1;
  }
  return offset;
}

/// One result element from the taps: `input` and `kernel` start at its first
/// input channel.
template <typename T>
static T sumTaps(Convolution &conv, ArrayRef<Convolution::Tap> taps,
                 const T *input, const T *kernel) {
  int64_t inputStep = conv.inputStrides[conv.op.getInputDims()[1]];
  int64_t kernelStep = conv.kernelStrides[conv.op.getKernelDims()[1]];
  T sum = 0;
  for (int64_t channel = 0; channel < conv.perGroup; ++channel)
    for (const Convolution::Tap &tap : taps) {
      T value = tap.input < 0 ? T(0) : input[channel * inputStep + tap.input];
      sum = multiplyAdd(sum, value, kernel[channel * kernelStep + tap.kernel]);
    }
  return sum;
}

template <typename T>
static void convolve(Convolution &conv, const std::vector<T> &input,
                     const std::vector<T> &kernel, std::vector<T> &result) {
  ArrayRef<int64_t> in = conv.op.getInputDims(), out = conv.op.getResultDims();
  std::vector<Convolution::Tap> taps(Context::steps(conv.kernelSizes));
  for (int64_t s = 0, e = Context::steps(conv.resultSizes); s < e; ++s) {
    int64_t offset = conv.findTaps(s, taps);
    for (int64_t n = 0; n < conv.batch; ++n)
      for (int64_t o = 0; o < conv.outputs; ++o) {
        int64_t group = o / (conv.outputs / conv.groups);
        const T *x = input.data() + n * conv.inputStrides[in[0]] +
                     group * conv.perGroup * conv.inputStrides[in[1]];
        const T *w =
            kernel.data() + o * conv.kernelStrides[conv.op.getKernelDims()[0]];
        result[offset + n * conv.resultStrides[out[0]] +
               o * conv.resultStrides[out[1]]] = sumTaps(conv, taps, x, w);
      }
  }
}

static Results convolutionKernel(Operation *op, Operands operands,
                                 Context &context) {
  Convolution conv(cast<graph::ConvolutionOp>(op), *operands[0], *operands[1]);
  SmallVector<int64_t> shape = conv.resultShape();
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  conv.resultStrides = stridesOf(shape);
  int64_t taps = Context::steps(conv.kernelSizes);
  if (llvm::Error error = context.charge(
          Context::steps({result->elements(), conv.perGroup, taps})))
    return std::move(error);
  if (result->elements() == 0)
    return single(std::move(*result));
  onPayload(*operands[0], *result, [&](const auto &input, auto &target) {
    if constexpr (std::is_same_v<std::decay_t<decltype(input)>,
                                 std::vector<double>>)
      convolve(conv, input, operands[1]->real, target);
    else
      convolve(conv, input, operands[1]->whole, target);
  });
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// TF32
//===----------------------------------------------------------------------===//

/// The nearest number of 11 digits, ties away from zero.
static double roundToTf32(double value) {
  if (!std::isfinite(value))
    return value;
  int exponent;
  double digits = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(digits, 11)), exponent - 11);
}

static Tensor inTf32(Tensor tensor) {
  for (double &value : tensor.real)
    value = roundToTf32(value);
  return tensor;
}

/// `kernel` on operands in TF32 where options and op say so.
template <typename OpT, Results (*kernel)(Operation *, Operands, Context &)>
static Results perhapsInTf32(Operation *op, Operands operands,
                             Context &context) {
  const Tensor &lhs = *operands[0], &rhs = *operands[1];
  if (!context.options().tf32 || !cast<OpT>(op).getAllowTf32() ||
      lhs.dtype != DType::F32 || rhs.dtype != DType::F32)
    return kernel(op, operands, context);
  Tensor roundedLhs = inTf32(lhs), roundedRhs = inTf32(rhs);
  return kernel(op, {&roundedLhs, &roundedRhs}, context);
}

void reference::registerContractionKernels(Registry &registry) {
  registry.add<graph::ContractOp>(
      perhapsInTf32<graph::ContractOp, contractKernel>);
  registry.add<graph::ConvolutionOp>(
      perhapsInTf32<graph::ConvolutionOp, convolutionKernel>);
}
