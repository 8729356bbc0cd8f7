//===- ImportSlicing.cpp - slices, pads, joins ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

//===----------------------------------------------------------------------===//
// Slice, Split, Concat
//===----------------------------------------------------------------------===//

/// One axis of a slice by NumPy's rules: any bounds, clamped.
static void clampSlice(int64_t dim, int64_t &start, int64_t end, int64_t &step,
                       int64_t &size) {
  // Larger steps read the same single element.
  step = std::clamp(step, -(int64_t(1) << 60), int64_t(1) << 60);
  auto clamp = [&](int64_t at) {
    if (at < 0)
      at += dim; // cannot overflow: dim >= 0
    return step > 0 ? std::clamp<int64_t>(at, 0, dim)
                    : std::clamp<int64_t>(at, -1, dim - 1);
  };
  start = clamp(start);
  end = clamp(end);
  int64_t distance = step > 0 ? end - start : start - end;
  int64_t stride = step > 0 ? step : -step;
  size = distance <= 0 ? 0 : (distance - 1) / stride + 1;
}

static void importSlice(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> starts, ends, axes, steps;
  if (op.opset < 10) {
    starts = op.intsAttr("starts");
    ends = op.intsAttr("ends");
    axes = op.intsAttr("axes");
  } else {
    starts = op.constInts(1);
    ends = op.constInts(2);
    if (op.hasInput(3))
      axes = op.constInts(3);
    if (op.hasInput(4))
      steps = op.constInts(4);
  }
  if (!x || !op.require(starts && ends, "starts or ends are missing"))
    return;
  size_t count = starts->size();
  if (!axes)
    axes = countUp(static_cast<int64_t>(count));
  if (!steps)
    steps = Dims(count, 1);
  if (!op.require(ends->size() == count && axes->size() == count &&
                      steps->size() == count,
                  "starts, ends, axes and steps differ in length") ||
      !(axes = op.axes(*axes, x.rank())))
    return;
  Dims offsets(x.rank(), 0), sizes = x.shape, strides(x.rank(), 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t d = (*axes)[i];
    offsets[d] = (*starts)[i];
    strides[d] = (*steps)[i];
    if (!op.require(strides[d] != 0, "a step is 0"))
      return;
    clampSlice(x.shape[d], offsets[d], (*ends)[i], strides[d], sizes[d]);
  }
  op.out(op.emit.slice(x, offsets, sizes, strides));
}

/// The sizes of the parts of a split.
static std::optional<Dims> splitSizes(Operator &op, int64_t dim) {
  std::optional<Dims> sizes;
  if (op.opset < 13)
    sizes = op.intsAttr("split");
  else if (op.hasInput(1))
    sizes = op.constInts(1);
  if (op.failed() || sizes)
    return sizes;
  int64_t count = static_cast<int64_t>(op.outputCount());
  if (op.opset >= 18)
    count = op.intAttr("num_outputs", count);
  if (!op.require(count == static_cast<int64_t>(op.outputCount()) && count > 0,
                  "num_outputs does not match the outputs"))
    return std::nullopt;
  if (!op.require(op.opset >= 18 || dim % count == 0,
                  "cannot split " + llvm::Twine(dim) + " evenly into " +
                      llvm::Twine(count) + " parts"))
    return std::nullopt;
  int64_t part = (dim + count - 1) / count;
  Dims even;
  for (int64_t left = dim; count > 0; --count, left -= even.back())
    even.push_back(std::min(part, left));
  return even;
}

static void importSplit(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  auto axis = op.axis(op.intAttr("axis", 0), x.rank());
  if (!axis)
    return;
  auto sizes = splitSizes(op, x.shape[*axis]);
  if (!sizes || !op.require(sizes->size() == op.outputCount(),
                            "expected one size per output"))
    return;
  int64_t start = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    int64_t size = (*sizes)[i];
    if (!op.require(size >= 0 && size <= x.shape[*axis] - start,
                    "the sizes do not sum to " + llvm::Twine(x.shape[*axis])))
      return;
    op.out(i, op.emit.sliceAxis(x, *axis, start, size));
    start += size;
  }
  op.require(start == x.shape[*axis],
             "the sizes do not sum to " + llvm::Twine(x.shape[*axis]));
}

static void importConcat(Operator &op) {
  llvm::SmallVector<Val> vals = op.allInputs();
  if (!vals.front() ||
      !op.require(op.attribute("axis"), "attribute 'axis' is missing"))
    return;
  if (auto axis = op.axis(op.intAttr("axis", 0), vals.front().rank()))
    op.out(op.emit.concat(vals, *axis));
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// The source position of padded position `at` (may be negative) on an axis of
/// `size` > 0.
static int64_t mirror(int64_t at, int64_t size) {
  if (size == 1)
    return 0;
  int64_t period = 2 * (size - 1);
  at = ((at % period) + period) % period;
  return at < size ? at : period - at;
}

/// Pads one axis by gathering: `reflect`, `edge` or `wrap`.
static Val padByGather(Operator &op, const Val &x, int64_t axis, int64_t low,
                       int64_t high, llvm::StringRef mode) {
  int64_t size = x.shape[axis];
  if (low == 0 && high == 0)
    return x;
  auto total = checkedAdd(low, high);
  total = total ? checkedAdd(*total, size) : total;
  if (!op.require(size > 0, "cannot pad an axis of size 0") ||
      !op.requireSupport(total && *total <= (int64_t(1) << 24),
                         "the padding is too large") ||
      !op.emit.charge(*total))
    return {};
  Dims source;
  for (int64_t i = -low; i < size + high; ++i) {
    if (mode == "reflect")
      source.push_back(mirror(i, size));
    else if (mode == "edge")
      source.push_back(std::clamp<int64_t>(i, 0, size - 1));
    else
      source.push_back(((i % size) + size) % size);
  }
  return op.emit.gather(x, op.emit.vector(source), axis);
}

/// The pads of the axes that the node names, as low and high of every axis.
static bool padAmounts(Operator &op, const Val &x, Dims &low, Dims &high) {
  std::optional<Dims> pads =
      op.opset < 11 ? op.intsAttr("pads") : op.constInts(1);
  std::optional<Dims> axes = countUp(x.rank());
  if (op.opset >= 18 && op.hasInput(3)) {
    axes = op.constInts(3);
    if (axes)
      axes = op.axes(*axes, x.rank());
  }
  if (!op.require(pads && axes, "the pads are missing") ||
      !op.require(pads->size() == 2 * axes->size(),
                  "expected " + llvm::Twine(2 * axes->size()) +
                      " pads, found " + llvm::Twine(pads->size())))
    return false;
  low.assign(x.rank(), 0);
  high.assign(x.rank(), 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    low[(*axes)[i]] = (*pads)[i];
    high[(*axes)[i]] = (*pads)[i + axes->size()];
  }
  return true;
}

/// Negative amounts remove elements; done first, then they count as 0.
static Val crop(Operator &op, const Val &x, Dims &low, Dims &high) {
  Dims offsets(x.rank(), 0), sizes = x.shape, strides(x.rank(), 1);
  for (int64_t d = 0; d < x.rank(); ++d) {
    int64_t front = std::min<int64_t>(low[d], 0);
    int64_t back = std::min<int64_t>(high[d], 0);
    bool fits = front >= -x.shape[d] && back >= -x.shape[d] - front;
    if (!op.require(fits, "negative pads remove more than there is"))
      return {};
    offsets[d] = -front;
    sizes[d] += front + back;
    low[d] = std::max<int64_t>(low[d], 0);
    high[d] = std::max<int64_t>(high[d], 0);
  }
  return op.emit.slice(x, offsets, sizes, strides);
}

static void importPad(Operator &op) {
  std::string mode = op.stringAttr("mode", "constant");
  Val x = op.in(0);
  Dims low, high;
  if (!x || !padAmounts(op, x, low, high))
    return;
  Val value;
  if (op.opset < 11)
    value = op.emit.scalar(x.dtype, op.floatAttr("value", 0));
  else if (op.hasInput(2))
    value = op.in(2);
  else
    value = op.emit.scalar(x.dtype, 0);
  x = crop(op, x, low, high);
  if (!x || !value)
    return;
  if (mode == "constant") {
    if (op.require(value.elements() == 1 && value.dtype == x.dtype,
                   "expected one padding value of type " + name(x.dtype)))
      op.out(op.emit.pad(x, op.emit.reshape(value, {}), low, high));
    return;
  }
  if (!op.require(mode == "reflect" || mode == "edge" || mode == "wrap",
                  "unknown mode " + quoted(mode)))
    return;
  for (int64_t d = 0, e = x.rank(); d < e && x; ++d)
    x = padByGather(op, x, d, low[d], high[d], mode);
  op.out(x);
}

/// Crops or pads with zeros around the centre.
static void importCenterCropPad(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> target = op.constInts(1);
  if (!x || !target)
    return;
  std::optional<Dims> axes = op.intsAttr("axes");
  axes = op.axes(axes ? *axes : countUp(x.rank()), x.rank());
  if (!axes ||
      !op.require(axes->size() == target->size(), "expected one size per axis"))
    return;
  Dims low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    int64_t d = (*axes)[i], want = (*target)[i];
    if (!op.require(want >= 0, "a size is negative"))
      return;
    // Cropping and padding both put the odd element at the end.
    int64_t more = want - x.shape[d];
    low[d] = more / 2;
    high[d] = more - low[d];
  }
  x = crop(op, x, low, high);
  if (x)
    op.out(op.emit.pad(x, op.emit.scalar(x.dtype, 0), low, high));
}

/// Keeps one triangle of the last two dimensions.
static void importTrilu(Operator &op) {
  bool upper = op.intAttr("upper", 1) != 0;
  Val x = op.in(0);
  std::optional<int64_t> k = 0;
  if (op.hasInput(1))
    k = op.constInt(1);
  if (!x || !k || !op.require(x.rank() >= 2, "expected rank 2 or more"))
    return;
  int64_t limit = int64_t(1) << 40; // beyond any dimension
  Emitter &emit = op.emit;
  Dims plane(DimsRef(x.shape).take_back(2));
  Val row = emit.iota(DType::I64, plane, 0);
  Val column = emit.iota(DType::I64, plane, 1);
  Val diagonal =
      emit.add(row, emit.scalarInt(DType::I64, std::clamp(*k, -limit, limit)));
  Val keep = emit.compare(upper ? graph::ComparePredicate::ge
                                : graph::ComparePredicate::le,
                          column, diagonal);
  op.out(emit.select(keep, x, emit.scalar(x.dtype, 0)));
}

void importer::addSlicing(Registry &registry) {
  registry.add("Slice", importSlice);
  registry.add("Split", importSplit);
  registry.add("Concat", importConcat);
  registry.add("Pad", importPad);
  registry.add("CenterCropPad", importCenterCropPad);
  registry.add("Trilu", importTrilu);
}
