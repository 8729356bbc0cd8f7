//===- ImportControl.cpp - control flow -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow is resolved where the import knows enough; loops of a known
// length are unrolled. Where a condition is known only when the graph runs,
// both ways are computed (no op has an effect or traps) and one is selected.
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

/// Iterations that are unrolled at most.
static constexpr int64_t kMaxTrips = 1024;

/// A condition as bool of rank 0.
static Val readCondition(Operator &op, const Val &condition) {
  if (!condition ||
      !op.require(condition.dtype == DType::Bool && condition.elements() == 1,
                  "expected one bool as condition"))
    return {};
  return op.emit.reshape(condition, {});
}

static bool isTrue(const Val &known) { return known.constant->getI64(0) != 0; }

/// `a` where the condition holds, else `b`, of one type.
static Val choose(Operator &op, const Val &condition, const Val &a,
                  const Val &b) {
  if (!a || !b ||
      !op.requireSupport(
          a.dtype == b.dtype && a.shape == b.shape,
          "the condition must be known at import, as it decides a "
          "type: " +
              name(a.dtype) + describe(a.shape) + " or " + name(b.dtype) +
              describe(b.shape)))
    return {};
  return op.emit.select(condition, a, b);
}

/// Outputs of a branch; all `count` of them, or none after a failure.
static llvm::SmallVector<Val> runBody(Operator &op, const Attribute *body,
                                      llvm::ArrayRef<Val> inputs,
                                      size_t count) {
  if (!op.require(body && body->g, "the body is missing"))
    return {};
  llvm::SmallVector<Val> outputs = op.importBranch(*body->g, inputs);
  if (op.failed() ||
      !op.require(outputs.size() == count,
                  "the body has " + llvm::Twine(outputs.size()) +
                      " outputs, expected " + llvm::Twine(count)))
    return {};
  return outputs;
}

static void importIf(Operator &op) {
  const Attribute *no = op.attribute("else_branch"),
                  *yes = op.attribute("then_branch");
  Val condition = readCondition(op, op.in(0));
  if (!condition)
    return;
  size_t count = op.outputCount();
  if (condition.constant) {
    llvm::SmallVector<Val> taken =
        runBody(op, isTrue(condition) ? yes : no, {}, count);
    for (size_t i = 0; i < taken.size(); ++i)
      op.out(i, taken[i]);
    return;
  }
  llvm::SmallVector<Val> a = runBody(op, yes, {}, count),
                         b = runBody(op, no, {}, count);
  for (size_t i = 0; i < count && !op.failed(); ++i)
    op.out(i, choose(op, condition, a[i], b[i]));
}

/// [a...] as [1, a...] at `axis`, joined.
static Val stackAt(Operator &op, llvm::ArrayRef<Val> parts, int64_t axis) {
  llvm::SmallVector<Val> rows;
  for (const Val &part : parts) {
    if (!part)
      return {};
    Dims shape = part.shape;
    shape.insert(shape.begin() + axis, 1);
    rows.push_back(op.emit.reshape(part, shape));
  }
  return op.emit.concat(rows, axis);
}

/// What stacking nothing like `part` gives.
static Val stackNone(Operator &op, const Val &part, int64_t axis) {
  if (!part)
    return {};
  Dims shape = part.shape;
  shape.insert(shape.begin() + axis, 0);
  return op.emit.splat(part.dtype, 0, shape);
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

static void importLoop(Operator &op) {
  const Attribute *body = op.attribute("body");
  size_t carried = op.inputCount() < 2 ? 0 : op.inputCount() - 2;
  if (!op.require(op.outputCount() >= carried,
                  "expected an output for every carried value"))
    return;
  Emitter &emit = op.emit;
  std::optional<int64_t> limit;
  if (op.hasInput(0) && !(limit = op.constInt(0)))
    return;
  Val active = op.hasInput(1) ? readCondition(op, op.in(1))
                              : emit.scalarInt(DType::Bool, 1);
  llvm::SmallVector<Val> values;
  for (size_t i = 0; i < carried; ++i)
    values.push_back(op.in(i + 2));
  size_t stacks = op.outputCount() - carried;
  llvm::SmallVector<llvm::SmallVector<Val>> rows(stacks);
  for (int64_t trip = 0; !op.failed() && (!limit || trip < *limit); ++trip) {
    if (active.constant && !isTrue(active))
      break;
    if (!op.requireSupport(trip < kMaxTrips, "more than " +
                                                 llvm::Twine(kMaxTrips) +
                                                 " iterations") ||
        !op.requireSupport(active.constant || (limit && stacks == 0),
                           "the condition must be known at import"))
      return;
    llvm::SmallVector<Val> inputs = {emit.scalarInt(DType::I64, trip), active};
    inputs.append(values);
    llvm::SmallVector<Val> outputs =
        runBody(op, body, inputs, 1 + carried + stacks);
    if (outputs.empty())
      return;
    Val next = readCondition(op, outputs[0]);
    for (size_t i = 0; i < carried; ++i)
      values[i] = active.constant
                      ? outputs[i + 1]
                      : choose(op, active, outputs[i + 1], values[i]);
    for (size_t i = 0; i < stacks; ++i)
      rows[i].push_back(outputs[1 + carried + i]);
    if (!next)
      return;
    active = active.constant ? next : emit.binary<graph::AndOp>(active, next);
  }
  for (size_t i = 0; i < carried; ++i)
    op.out(i, values[i]);
  if (stacks == 0 || op.failed())
    return;
  if (!rows[0].empty()) {
    for (size_t i = 0; i < stacks; ++i)
      op.out(carried + i, stackAt(op, rows[i], 0));
    return;
  }
  // No iteration: the body says of what type its rows would be.
  llvm::SmallVector<Val> inputs = {emit.scalarInt(DType::I64, 0), active};
  inputs.append(values);
  llvm::SmallVector<Val> outputs =
      runBody(op, body, inputs, 1 + carried + stacks);
  for (size_t i = 0; i < stacks && !outputs.empty(); ++i)
    op.out(carried + i, stackNone(op, outputs[1 + carried + i], 0));
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {
/// One value per scanned input or output; `otherwise` where the node has none.
struct PerValue {
  Dims values;
  bool read(Operator &op, llvm::StringRef name, size_t count) {
    auto given = op.intsAttr(name);
    values = given ? *given : Dims(count, 0);
    return op.require(values.size() == count, "expected " + llvm::Twine(count) +
                                                  " entries in " +
                                                  quoted(name));
  }
};
} // namespace

/// Scan since opset 9: body over slices of the scanned inputs.
static void importScan(Operator &op) {
  const Attribute *body = op.attribute("body");
  int64_t asked = op.intAttr("num_scan_inputs", 0);
  // Opset 8 has a batch dimension and lengths; only whole batches of one.
  bool hasBatch = op.opset < 9;
  size_t first = hasBatch ? 1 : 0;
  if (!op.require(asked >= 1 && asked <= static_cast<int64_t>(op.inputCount()) -
                                             static_cast<int64_t>(first),
                  "unexpected num_scan_inputs") ||
      !op.requireSupport(!hasBatch || !op.hasInput(0),
                         "sequence lengths are not supported"))
    return;
  Emitter &emit = op.emit;
  size_t scanned = static_cast<size_t>(asked);
  size_t carried = op.inputCount() - scanned - first;
  if (!op.require(op.outputCount() >= carried,
                  "expected an output for every carried value"))
    return;
  size_t stacks = op.outputCount() - carried;
  PerValue axes, backwards, outAxes, outBackwards;
  if (!axes.read(op, "scan_input_axes", scanned) ||
      !backwards.read(op, hasBatch ? "directions" : "scan_input_directions",
                      scanned) ||
      !outAxes.read(op, "scan_output_axes", stacks) ||
      !outBackwards.read(op, "scan_output_directions", stacks))
    return;
  llvm::SmallVector<Val> values, inputs;
  auto read = [&](size_t i) {
    Val val = op.in(first + i);
    if (val && hasBatch &&
        op.requireSupport(val.rank() >= 1 && val.shape[0] == 1,
                          "expected batches of one"))
      val = emit.reshape(val, DimsRef(val.shape).drop_front());
    return val;
  };
  for (size_t i = 0; i < carried; ++i)
    values.push_back(read(i));
  int64_t trips = -1;
  for (size_t i = 0; i < scanned; ++i) {
    Val val = read(carried + i);
    if (!val)
      return;
    auto axis = op.axis(axes.values[i], val.rank());
    if (!axis || !op.require(trips < 0 || trips == val.shape[*axis],
                             "the scanned inputs have different lengths"))
      return;
    axes.values[i] = *axis;
    trips = val.shape[*axis];
    inputs.push_back(val);
  }
  if (!op.requireSupport(trips <= kMaxTrips,
                         "expected at most " + llvm::Twine(kMaxTrips) +
                             " iterations, found " + llvm::Twine(trips)))
    return;
  llvm::SmallVector<llvm::SmallVector<Val>> rows(stacks,
                                                 llvm::SmallVector<Val>(trips));
  // Without an iteration the body is read once for the types of its rows.
  llvm::SmallVector<Val> none;
  if (trips == 0) {
    llvm::SmallVector<Val> arguments = values;
    for (size_t i = 0; i < scanned; ++i) {
      Dims shape = inputs[i].shape;
      shape.erase(shape.begin() + axes.values[i]);
      arguments.push_back(emit.splat(inputs[i].dtype, 0, shape));
    }
    none = runBody(op, body, arguments, carried + stacks);
    if (none.empty())
      return;
  }
  for (int64_t trip = 0; trip < trips; ++trip) {
    llvm::SmallVector<Val> arguments = values;
    for (size_t i = 0; i < scanned; ++i) {
      int64_t at = backwards.values[i] ? trips - 1 - trip : trip;
      Dims shape = inputs[i].shape;
      shape.erase(shape.begin() + axes.values[i]);
      arguments.push_back(emit.reshape(
          emit.sliceAxis(inputs[i], axes.values[i], at, 1), shape));
    }
    llvm::SmallVector<Val> outputs =
        runBody(op, body, arguments, carried + stacks);
    if (outputs.empty())
      return;
    for (size_t i = 0; i < carried; ++i)
      values[i] = outputs[i];
    for (size_t i = 0; i < stacks; ++i)
      rows[i][outBackwards.values[i] ? trips - 1 - trip : trip] =
          outputs[carried + i];
  }
  auto withBatch = [&](const Val &val) {
    return hasBatch ? stackAt(op, {val}, 0) : val;
  };
  for (size_t i = 0; i < carried; ++i)
    op.out(i, withBatch(values[i]));
  for (size_t i = 0; i < stacks; ++i) {
    const Val &row = trips ? rows[i][0] : none[carried + i];
    auto axis = op.axis(outAxes.values[i], row.rank() + 1);
    if (!axis)
      return;
    op.out(carried + i, withBatch(trips ? stackAt(op, rows[i], *axis)
                                        : stackNone(op, row, *axis)));
  }
}

void importer::addControl(Registry &registry) {
  registry.add("If", importIf);
  registry.add("Loop", importLoop);
  registry.add("Scan", importScan);
}
