//===- ImportConvolution.cpp - convolutions -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transposed convolution is a convolution of the input with zeros put
// between its elements, with the kernel turned around.
//===----------------------------------------------------------------------===//
#include "Window.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

/// Adds a bias per channel (dimension 1).
static Val addBias(Operator &op, const Val &x, const Val &bias) {
  if (!x || !bias ||
      !op.require(bias.rank() == 1 && bias.shape[0] == x.shape[1] &&
                      bias.dtype == x.dtype,
                  "expected a bias of " + llvm::Twine(x.shape[1]) +
                      " elements of type " + name(x.dtype) + ", found " +
                      name(bias.dtype) + describe(bias.shape)))
    return {};
  return op.emit.add(x, op.emit.broadcast(bias, x.shape, {1}));
}

/// Input and kernel of one type, NC.. and OI...
static Val convolve(Operator &op, const Val &x, const Val &kernel,
                    const Window &w, int64_t groups) {
  if (!x || !kernel)
    return {};
  Emitter &emit = op.emit;
  Dims shape = {x.shape[0], kernel.shape[0]};
  shape.append(w.out.begin(), w.out.end());
  Dims dims = countUp(x.rank());
  return emit.make(x.dtype, shape, [&](mlir::RankedTensorType type) {
    return graph::ConvolutionOp::create(emit.builder, emit.location(), type,
                                        emit.use(x), emit.use(kernel),
                                        w.strides, w.dilations, w.low, w.high,
                                        dims, dims, dims, groups)
        .getResult();
  });
}

/// Checks ranks, groups and channels of a convolution.
static std::optional<int64_t> checkConv(Operator &op, const Val &x,
                                        const Val &kernel) {
  int64_t groups = op.intAttr("group", 1);
  if (!x || !kernel ||
      !op.require(x.rank() >= 3 && kernel.rank() == x.rank(),
                  "expected input and kernel of one rank of at least 3, "
                  "found " +
                      describe(x.shape) + " and " + describe(kernel.shape)) ||
      !op.require(groups > 0 && groups <= (1 << 24),
                  "expected a positive group") ||
      !op.require(kernel.shape[1] * groups == x.shape[1] &&
                      kernel.shape[0] % groups == 0,
                  "kernel " + describe(kernel.shape) + " and group " +
                      llvm::Twine(groups) + " do not fit the input " +
                      describe(x.shape)))
    return std::nullopt;
  return groups;
}

/// The window of a convolution.
static std::optional<Window> convWindow(Operator &op, const Val &x,
                                        const Val &kernel) {
  return readWindow(op, DimsRef(x.shape).drop_front(2),
                    Dims(DimsRef(kernel.shape).drop_front(2)),
                    /*hasCeilMode=*/false);
}

static void importConv(Operator &op) {
  Val x = op.in(0), kernel = op.in(1);
  auto groups = checkConv(op, x, kernel);
  if (!groups || !op.require(x.dtype == kernel.dtype && isFloat(x.dtype),
                             "expected float operands of one type"))
    return;
  auto w = convWindow(op, x, kernel);
  if (!w)
    return;
  Val y = convolve(op, x, kernel, *w, *groups);
  op.out(op.hasInput(2) ? addBias(op, y, op.in(2)) : y);
}

//===----------------------------------------------------------------------===//
// Integer convolutions
//===----------------------------------------------------------------------===//

/// x - zeroPoint in i32; a vector of zero points goes along `axis`.
static Val centred(Operator &op, const Val &x, const Val &zeroPoint,
                   int64_t axis) {
  Emitter &emit = op.emit;
  Val wide = emit.cast(x, DType::I32);
  if (!wide || !zeroPoint)
    return wide;
  Val zero = emit.cast(zeroPoint, DType::I32);
  if (zero && zero.elements() == 1)
    zero = emit.reshape(zero, {});
  else if (zero &&
           op.requireSupport(zero.rank() == 1 && zero.shape[0] == x.shape[axis],
                             "unsupported shape of zero points " +
                                 describe(zero.shape)))
    zero = emit.broadcast(zero, x.shape, {axis});
  return emit.sub(wide, zero);
}

static void importConvInteger(Operator &op) {
  Val x = op.in(0), kernel = op.in(1);
  auto groups = checkConv(op, x, kernel);
  if (!groups)
    return;
  auto w = convWindow(op, x, kernel);
  if (!w)
    return;
  x = centred(op, x, op.hasInput(2) ? op.in(2) : Val(), 1);
  kernel = centred(op, kernel, op.hasInput(3) ? op.in(3) : Val(), 0);
  op.out(convolve(op, x, kernel, *w, *groups));
}

/// A scale as a scalar, or along the channels of a result of `rank`.
static Val channelScale(Operator &op, const Val &scale, int64_t rank) {
  if (!scale)
    return {};
  if (scale.elements() == 1)
    return op.emit.reshape(scale, {});
  if (!op.require(scale.rank() == 1, "expected scales of rank 0 or 1"))
    return {};
  Dims shape(rank - 1, 1);
  shape[0] = scale.shape[0];
  return op.emit.reshape(scale, shape);
}

/// Convolves exactly in i32, then scales and quantises in f32.
static void importQLinearConv(Operator &op) {
  Val x = op.in(0), kernel = op.in(3);
  Val xScale = op.in(1), kernelScale = op.in(4), yScale = op.in(6),
      yZero = op.in(7);
  auto groups = checkConv(op, x, kernel);
  if (!groups || !xScale || !kernelScale || !yScale || !yZero)
    return;
  auto w = convWindow(op, x, kernel);
  if (!w)
    return;
  Emitter &emit = op.emit;
  Val y = convolve(op, centred(op, x, op.in(2), 1),
                   centred(op, kernel, op.in(5), 0), *w, *groups);
  if (op.hasInput(8))
    y = addBias(op, y, op.in(8));
  if (!y || !op.require(yScale.elements() == 1 && yZero.elements() == 1,
                        "expected one scale and zero point of the result"))
    return;
  Val scale = emit.mul(emit.reshape(xScale, {}),
                       channelScale(op, kernelScale, y.rank()));
  Val real = emit.mul(emit.cast(y, DType::F32), emit.cast(scale, DType::F32));
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

//===----------------------------------------------------------------------===//
// Transposed convolution
//===----------------------------------------------------------------------===//

/// Puts stride - 1 zeros between neighbours of each spatial dimension.
static Val spread(Operator &op, const Val &x, DimsRef strides) {
  Emitter &emit = op.emit;
  Dims split(DimsRef(x.shape).take_front(2)), wide = split, flat = split,
                                              sizes = split;
  Dims low(2, 0), high(2, 0);
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t n = x.shape[i + 2];
    split.append({n, 1});
    low.append({0, 0});
    high.append({0, strides[i] - 1});
    auto size = checkedMul(n, strides[i]);
    if (!op.requireSupport(size.has_value(), "a stride is too large"))
      return {};
    flat.push_back(*size);
    sizes.push_back(n == 0 ? 0 : (n - 1) * strides[i] + 1);
  }
  Val padded =
      emit.pad(emit.reshape(x, split), emit.scalar(x.dtype, 0), low, high);
  Dims zero(flat.size(), 0), one(flat.size(), 1);
  return emit.slice(emit.reshape(padded, flat), zero, sizes, one);
}

/// [C, M/g, k..] as the kernel [M, C/g, k..] of the convolution, turned around
/// in space.
static Val turnKernel(Operator &op, const Val &kernel, int64_t groups) {
  Emitter &emit = op.emit;
  int64_t rank = kernel.rank();
  Dims offsets(rank, 0), strides(rank, 1);
  for (int64_t d = 2; d < rank; ++d) {
    offsets[d] = kernel.shape[d] - 1;
    strides[d] = -1;
  }
  Val turned = emit.slice(kernel, offsets, kernel.shape, strides);
  int64_t in = kernel.shape[0] / groups, out = kernel.shape[1];
  Dims split = {groups, in, out}, swap = {0, 2, 1}, joined = {groups * out, in};
  for (int64_t d = 2; d < rank; ++d) {
    split.push_back(kernel.shape[d]);
    swap.push_back(d + 1);
    joined.push_back(kernel.shape[d]);
  }
  return emit.reshape(emit.transpose(emit.reshape(turned, split), swap),
                      joined);
}

/// The padding of a transposed convolution: what is cut from the full result,
/// negative where zeros are added.
static bool transposedPads(Operator &op, DimsRef input, DimsRef extra,
                           const Window &w, Dims &low, Dims &high) {
  size_t rank = input.size();
  std::string mode = op.stringAttr("auto_pad", "NOTSET");
  std::optional<Dims> pads = op.intsAttr("pads");
  std::optional<Dims> shape = op.intsAttr("output_shape");
  if (!op.require(!pads || pads->size() == 2 * rank,
                  "expected " + llvm::Twine(2 * rank) + " pads") ||
      !op.require(!shape || shape->size() == rank,
                  "expected " + llvm::Twine(rank) + " output sizes"))
    return false;
  bool sane = true;
  for (int64_t p : pads.value_or(Dims()))
    sane &= p > -(int64_t(1) << 30) && p < (int64_t(1) << 30);
  if (!op.requireSupport(sane, "unsupported pads"))
    return false;
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!op.require(same || mode == "NOTSET" || mode == "VALID",
                  "unknown auto_pad " + quoted(mode)))
    return false;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = w.dilations[i] * (w.kernel[i] - 1) + 1;
    if (!shape && !same) {
      low.push_back(pads ? (*pads)[i] : 0);
      high.push_back(pads ? (*pads)[i + rank] : 0);
      continue;
    }
    int64_t size = shape ? (*shape)[i] : input[i] * w.strides[i];
    int64_t full = w.strides[i] * (input[i] - 1) + extra[i] + extent;
    if (!op.requireSupport(size >= 0 && size <= full + (int64_t(1) << 30),
                           "unsupported output size " + llvm::Twine(size)))
      return false;
    int64_t total = std::max<int64_t>(full - size, 0);
    low.push_back(mode == "SAME_UPPER" ? total / 2 : total - total / 2);
    high.push_back(full - size - low.back());
  }
  return true;
}

static void importConvTranspose(Operator &op) {
  Val x = op.in(0), kernel = op.in(1);
  int64_t groups = op.intAttr("group", 1);
  if (!x || !kernel ||
      !op.require(x.rank() >= 3 && kernel.rank() == x.rank() &&
                      x.dtype == kernel.dtype && isFloat(x.dtype),
                  "expected float input and kernel of one type and rank") ||
      !op.require(groups > 0 && kernel.shape[0] == x.shape[1] &&
                      x.shape[1] % groups == 0,
                  "kernel " + describe(kernel.shape) +
                      " does not fit the input " + describe(x.shape)))
    return;
  DimsRef input = DimsRef(x.shape).drop_front(2);
  size_t rank = input.size();
  Window w;
  w.kernel = Dims(DimsRef(kernel.shape).drop_front(2));
  auto given = op.intsAttr("kernel_shape");
  auto strides = spatialAttr(op, "strides", rank);
  auto dilations = spatialAttr(op, "dilations", rank);
  Dims extra(rank, 0);
  if (auto padding = op.intsAttr("output_padding"))
    extra = *padding;
  // Bounds that keep every sum and product below inside 63 bits.
  auto isSize = [](int64_t n) { return n > 0 && n < (int64_t(1) << 30); };
  bool positive =
      llvm::all_of(w.kernel, isSize) && llvm::all_of(input, isSize) &&
      llvm::all_of(extra, [&](int64_t n) { return n == 0 || isSize(n); });
  if (!strides || !dilations ||
      !op.require(!given || *given == w.kernel,
                  "kernel_shape disagrees with the weights") ||
      !op.requireSupport(extra.size() == rank && positive,
                         "unsupported output_padding or empty dimension"))
    return;
  w.strides = *strides;
  w.dilations = *dilations;
  Dims low, high;
  if (!transposedPads(op, input, extra, w, low, high))
    return;
  Window inner = w;
  inner.strides.assign(rank, 1);
  Dims offsets(2, 0), sizes = {x.shape[0], kernel.shape[1] * groups};
  // The full convolution, then cut (or padded with zeros, which is what the
  // kernel sees there anyway).
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = w.dilations[i] * (w.kernel[i] - 1);
    int64_t before = extent - low[i], behind = extent + extra[i] - high[i];
    inner.low.push_back(std::max<int64_t>(before, 0));
    inner.high.push_back(std::max<int64_t>(behind, 0));
    int64_t spreadSize = (input[i] - 1) * w.strides[i] + 1;
    int64_t full = spreadSize + inner.low[i] + inner.high[i] - extent;
    int64_t cutFront = std::max<int64_t>(-before, 0);
    int64_t cutBack = std::max<int64_t>(-behind, 0);
    if (!op.require(full > 0 && cutFront + cutBack <= full,
                    "the pads remove the whole result"))
      return;
    inner.out.push_back(full);
    offsets.push_back(cutFront);
    sizes.push_back(full - cutFront - cutBack);
  }
  Val y = convolve(op, spread(op, x, w.strides), turnKernel(op, kernel, groups),
                   inner, groups);
  y = op.emit.slice(y, offsets, sizes, Dims(sizes.size(), 1));
  op.out(op.hasInput(2) ? addBias(op, y, op.in(2)) : y);
}

void importer::addConvolution(Registry &registry) {
  registry.add("Conv", importConv);
  registry.add("ConvInteger", importConvInteger);
  registry.add("ConvTranspose", importConvTranspose);
  registry.add("QLinearConv", importQLinearConv);
}
