//===- ImportShape.cpp - shapes, constants, whole-tensor movement ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

#include <cmath>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

static void importShape(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  // Out-of-range bounds are clamped, not refused.
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + x.rank() : at, 0, x.rank());
  };
  int64_t start = clamp(op.intAttr("start", 0));
  int64_t end = clamp(op.intAttr("end", x.rank()));
  op.out(op.emit.vector(
      DimsRef(x.shape).slice(start, std::max<int64_t>(end - start, 0))));
}

static void importSize(Operator &op) {
  Val x = op.in(0);
  if (x)
    op.out(op.emit.scalarInt(DType::I64, x.elements()));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Val floats(Operator &op, llvm::ArrayRef<float> values, DimsRef shape) {
  auto tensor = HostTensor::create(DType::F32, shape);
  if (!tensor)
    return op.fail(llvm::toString(tensor.takeError()));
  for (size_t i = 0; i < values.size(); ++i)
    tensor->setF64(static_cast<int64_t>(i), values[i]);
  return op.emit.fromConstant(std::move(*tensor));
}

static void importConstant(Operator &op) {
  int64_t given = 0;
  Val result;
  if (const Attribute *a = op.attribute("value")) {
    ++given;
    if (op.require(a->t != nullptr, "attribute 'value' holds no tensor"))
      result = op.tensor(*a->t);
  }
  if (op.attribute("value_float")) {
    ++given;
    result = floats(op, {float(op.floatAttr("value_float", 0))}, {});
  }
  if (auto values = op.floatsAttr("value_floats")) {
    ++given;
    result = floats(op, *values, {static_cast<int64_t>(values->size())});
  }
  if (op.attribute("value_int")) {
    ++given;
    result = op.emit.scalarInt(DType::I64, op.intAttr("value_int", 0));
  }
  if (auto values = op.intsAttr("value_ints")) {
    ++given;
    result = op.emit.vector(*values);
  }
  if (op.require(given == 1, "expected one numeric value attribute, found " +
                                 llvm::Twine(given)))
    op.out(result);
}

static void importConstantOfShape(Operator &op) {
  std::optional<Dims> shape = op.constInts(0);
  Val value;
  if (const Attribute *a = op.attribute("value")) {
    if (op.require(a->t != nullptr, "attribute 'value' holds no tensor"))
      value = op.tensor(*a->t);
  } else {
    value = op.emit.scalar(DType::F32, 0);
  }
  if (shape && value &&
      op.require(value.elements() == 1, "expected one element as value"))
    op.out(op.emit.splat(op.emit.reshape(value, {}), *shape));
}

/// The number of elements of start, start + delta, ... before limit.
static std::optional<int64_t> rangeSize(const HostTensor &start,
                                        const HostTensor &limit,
                                        const HostTensor &delta) {
  if (isFloat(start.dtype)) {
    double size =
        std::ceil((limit.getF64(0) - start.getF64(0)) / delta.getF64(0));
    if (std::isnan(size) || size > 0x1p52)
      return std::nullopt;
    return std::max<int64_t>(static_cast<int64_t>(std::max(size, 0.0)), 0);
  }
  int64_t step = delta.getI64(0);
  auto distance = checkedSub(limit.getI64(0), start.getI64(0));
  if (step == 0 || !distance || step == INT64_MIN)
    return std::nullopt;
  if (*distance == 0 || (*distance < 0) != (step < 0))
    return 0;
  int64_t whole = *distance / step;
  return whole + (whole * step != *distance);
}

static void importRange(Operator &op) {
  op.ignore({"stash_type"});
  Emitter &emit = op.emit;
  Val v[3];
  for (size_t i = 0; i < 3; ++i) {
    v[i] = op.in(i);
    if (!v[i] || !op.requireSupport(v[i].constant && v[i].elements() == 1 &&
                                        v[i].dtype == v[0].dtype,
                                    "expected three known scalars of one type"))
      return;
    v[i] = emit.reshape(v[i], {});
  }
  auto size = rangeSize(*v[0].constant, *v[1].constant, *v[2].constant);
  if (!op.require(size.has_value(), "the range is not finite"))
    return;
  // Computed in f64 or i64 so that floats round once.
  DType wide = isFloat(v[0].dtype) ? DType::F64 : DType::I64;
  Val steps = emit.mul(emit.iota(wide, {*size}, 0), emit.cast(v[2], wide));
  op.out(emit.cast(emit.add(steps, emit.cast(v[0], wide)), v[0].dtype));
}

/// Ones on a diagonal.
static void importEyeLike(Operator &op) {
  int64_t k = op.intAttr("k", 0);
  Val x = op.in(0);
  if (!x || !op.require(x.rank() == 2, "expected rank 2"))
    return;
  DType dtype = op.dtypeAttr("dtype", x.dtype);
  Emitter &emit = op.emit;
  Val row = emit.iota(DType::I64, x.shape, 0);
  Val column = emit.iota(DType::I64, x.shape, 1);
  Val on = emit.compare(graph::ComparePredicate::eq,
                        emit.add(row, emit.scalarInt(DType::I64, k)), column);
  op.out(emit.cast(on, dtype));
}

//===----------------------------------------------------------------------===//
// The same elements under another shape
//===----------------------------------------------------------------------===//

static void importIdentity(Operator &op) { op.out(op.in(0)); }

static void importReshape(Operator &op) {
  bool allowZero = op.intAttr("allowzero", 0) != 0;
  Val x = op.in(0);
  std::optional<Dims> shape = op.constInts(1);
  if (!x || !shape)
    return;
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (size_t d = 0; d < shape->size(); ++d) {
    int64_t &dim = (*shape)[d];
    if (dim == 0 && !allowZero) {
      if (!op.require(d < x.shape.size(), "shape " + describe(*shape) +
                                              " copies a dimension that "
                                              "the input lacks"))
        return;
      dim = x.shape[d];
    }
    if (dim == -1) {
      if (!op.require(!inferred, "expected at most one -1 in the shape"))
        return;
      inferred = d;
      continue;
    }
    auto product = checkedMul(known, dim);
    if (!op.require(dim >= 0 && product,
                    "shape " + describe(*shape) + " is not valid"))
      return;
    known = *product;
  }
  if (inferred) {
    if (!op.require(known != 0 && x.elements() % known == 0,
                    "cannot reshape " + describe(x.shape) + " to " +
                        describe(*shape)))
      return;
    (*shape)[*inferred] = x.elements() / known;
  }
  op.out(op.emit.reshape(x, *shape));
}

static void importFlatten(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  auto axis = op.axis(op.intAttr("axis", 1), x.rank(), /*inclusive=*/true);
  if (!axis)
    return;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < *axis ? outer : inner) *= x.shape[d];
  op.out(op.emit.reshape(x, {outer, inner}));
}

static void importSqueeze(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> given = op.axesArgument(1, 13);
  if (!x)
    return;
  std::optional<Dims> axes;
  if (given && !(axes = op.axes(*given, x.rank())))
    return;
  Dims shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool drop = axes ? llvm::is_contained(*axes, d) : x.shape[d] == 1;
    if (!drop)
      shape.push_back(x.shape[d]);
    else if (!op.require(x.shape[d] == 1, "cannot squeeze axis " +
                                              llvm::Twine(d) + " of " +
                                              describe(x.shape)))
      return;
  }
  op.out(op.emit.reshape(x, shape));
}

static void importUnsqueeze(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> given = op.axesArgument(1, 13);
  if (!x || !op.require(given.has_value(), "the axes are missing") ||
      !op.requireSupport(given->size() <= kMaxRank, "too many axes"))
    return;
  int64_t rank = x.rank() + static_cast<int64_t>(given->size());
  std::optional<Dims> axes = op.axes(*given, rank);
  if (!axes)
    return;
  Dims shape;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d)
    shape.push_back(llvm::is_contained(*axes, d) ? 1 : x.shape[next++]);
  op.out(op.emit.reshape(x, shape));
}

//===----------------------------------------------------------------------===//
// Transposition, repetition, blocks
//===----------------------------------------------------------------------===//

static void importTranspose(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  Dims permutation = countUp(x.rank());
  std::reverse(permutation.begin(), permutation.end());
  if (auto given = op.intsAttr("perm")) {
    auto axes = op.axes(*given, x.rank());
    if (!axes ||
        !op.require(axes->size() == x.shape.size(),
                    "expected a permutation of rank " + llvm::Twine(x.rank())))
      return;
    permutation = *axes;
  }
  op.out(op.emit.transpose(x, permutation));
}

static void importExpand(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> shape = op.constInts(1);
  if (!x || !shape)
    return;
  // The two shapes broadcast against each other.
  while (shape->size() < x.shape.size())
    shape->insert(shape->begin(), 1);
  size_t shift = shape->size() - x.shape.size();
  for (size_t d = 0; d < x.shape.size(); ++d)
    if ((*shape)[shift + d] == 1)
      (*shape)[shift + d] = x.shape[d];
  op.out(op.emit.broadcastTo(x, *shape));
}

/// [a, b] becomes [1, a, 1, b], is broadcast to [r, a, s, b] and flattened.
static void importTile(Operator &op) {
  Val x = op.in(0);
  std::optional<Dims> repeats = op.constInts(1);
  if (!x || !repeats ||
      !op.require(repeats->size() == x.shape.size(),
                  "expected " + llvm::Twine(x.rank()) + " repeats, found " +
                      llvm::Twine(repeats->size())))
    return;
  Dims split, wide, flat;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    int64_t times = (*repeats)[d];
    auto size = checkedMul(x.shape[d], times);
    if (!op.require(times >= 0 && size,
                    "repeats " + describe(*repeats) + " are not valid"))
      return;
    if (times != 1) {
      split.push_back(1);
      wide.push_back(times);
    }
    split.push_back(x.shape[d]);
    wide.push_back(x.shape[d]);
    flat.push_back(*size);
  }
  if (!op.requireSupport(wide.size() <= kMaxRank, "the rank is too large"))
    return;
  op.out(op.emit.reshape(op.emit.broadcastTo(op.emit.reshape(x, split), wide),
                         flat));
}

/// Checks a block op's input and gives its block size.
static std::optional<int64_t> blockSize(Operator &op, const Val &x) {
  int64_t block = op.intAttr("blocksize", 0);
  if (!x || !op.require(x.rank() == 4, "expected rank 4") ||
      !op.require(block > 0 && block < (1 << 20),
                  "expected a positive blocksize, found " + llvm::Twine(block)))
    return std::nullopt;
  return block;
}

static void importDepthToSpace(Operator &op) {
  Val x = op.in(0);
  std::string mode = op.stringAttr("mode", "DCR");
  auto block = blockSize(op, x);
  if (!block ||
      !op.require(x.shape[1] % (*block * *block) == 0,
                  "the channels are not a multiple of the block") ||
      !op.require(mode == "DCR" || mode == "CRD",
                  "expected mode DCR or CRD, found " + quoted(mode)))
    return;
  int64_t b = *block, n = x.shape[0], c = x.shape[1] / (b * b), h = x.shape[2],
          w = x.shape[3];
  Emitter &emit = op.emit;
  Val moved = mode == "DCR"
                  ? emit.transpose(emit.reshape(x, {n, b, b, c, h, w}),
                                   {0, 3, 4, 1, 5, 2})
                  : emit.transpose(emit.reshape(x, {n, c, b, b, h, w}),
                                   {0, 1, 4, 2, 5, 3});
  op.out(emit.reshape(moved, {n, c, h * b, w * b}));
}

static void importSpaceToDepth(Operator &op) {
  Val x = op.in(0);
  auto block = blockSize(op, x);
  if (!block ||
      !op.require(x.shape[2] % *block == 0 && x.shape[3] % *block == 0,
                  "height and width are not multiples of the block"))
    return;
  int64_t b = *block, n = x.shape[0], c = x.shape[1], h = x.shape[2] / b,
          w = x.shape[3] / b;
  Emitter &emit = op.emit;
  Val moved =
      emit.transpose(emit.reshape(x, {n, c, h, b, w, b}), {0, 3, 5, 1, 2, 4});
  op.out(emit.reshape(moved, {n, c * b * b, h, w}));
}

/// Inference: the input; nothing is masked.
static void importDropout(Operator &op) {
  op.ignore({"seed", "ratio"});
  Val x = op.in(0);
  if (op.opset >= 12 && op.hasInput(2)) {
    auto training = op.in(2);
    if (!training ||
        !op.requireSupport(training.constant && training.elements() == 1 &&
                               training.constant->getI64(0) == 0,
                           "training mode is not supported"))
      return;
  }
  if (op.hasOutput(1) && x)
    op.out(1,
           op.emit.splat(op.opset >= 10 ? DType::Bool : x.dtype, 1, x.shape));
  op.out(x);
}

void importer::addShape(Registry &registry) {
  registry.add("Shape", importShape);
  registry.add("Size", importSize);
  registry.add("Constant", importConstant);
  registry.add("ConstantOfShape", importConstantOfShape);
  registry.add("Range", importRange);
  registry.add("EyeLike", importEyeLike);
  registry.add("Identity", importIdentity);
  registry.add("Dropout", importDropout);
  registry.add("Reshape", importReshape);
  registry.add("Flatten", importFlatten);
  registry.add("Squeeze", importSqueeze);
  registry.add("Unsqueeze", importUnsqueeze);
  registry.add("Transpose", importTranspose);
  registry.add("Expand", importExpand);
  registry.add("Tile", importTile);
  registry.add("DepthToSpace", importDepthToSpace);
  registry.add("SpaceToDepth", importSpaceToDepth);
}
