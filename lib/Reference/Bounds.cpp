//===- Bounds.cpp - what right results of a graph may be ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op's rule (Box.h) gives intervals for what arithmetic in f32 or f64 may
// give. Then `settleResult` adds what happens to a value on its way to its
// readers:
//  * f32, f64: it is rounded to its type, always. Rounding is monotone, so
//    both ends are rounded, and a value that all ways round alike is exact.
//  * narrower floats: computed in f32; a reader in the same kernel may see that
//    or the rounded value. So the interval spans both.
//  * inside a composite op: the reference evaluator computes it in f64 and
//    rounds once, with constants as exact; other ways round after each op of
//    its decomposition, constants too. The interval spans both as well.
// An op that reads rounded operands gets them rounded, and so do outputs.
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Bounds.h"
#include "Box.h"
#include "LastUses.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void Box::spread() {
  if (hasEnds)
    return;
  low = high = middle;
  hasEnds = true;
}

void Box::settle() {
  if (!hasEnds || low.whole != high.whole)
    return;
  for (size_t i = 0; i < low.real.size(); ++i)
    if (low.real[i] < high.real[i] || at(i).isZeroOfEitherSign())
      return;
  for (size_t i = 0; i < low.real.size(); ++i)
    if (middle.real[i] != low.real[i]) // The sign of a zero is the middle's.
      middle.real[i] = low.real[i];
  low = high = Tensor();
  hasEnds = false;
}

void Box::setUnknown(int64_t i) {
  if (middle.isReal())
    return set(i, Interval::unknown());
  low.whole[i] = std::numeric_limits<int64_t>::min();
  high.whole[i] = std::numeric_limits<int64_t>::max();
}

void Box::setAllUnknown() {
  spread();
  for (int64_t i = 0, e = middle.elements(); i < e; ++i)
    setUnknown(i);
}

Interval reference::widened(Interval value, double error) {
  if (value.isNan() || value.isUnknown() || error == 0)
    return value;
  if (std::isnan(error) || std::isinf(error))
    return Interval::unknown();
  Interval wide = {value.low - error, value.high + error};
  if (value.low > 0)
    wide.low = std::max(wide.low, 0.0);
  if (value.high < 0)
    wide.high = lesser(wide.high, -0.0);
  return wide;
}

/// `box` as an op sees it that reads rounded operands, or as it is stored.
static Box roundedBox(Box box) {
  DType dtype = box.middle.dtype;
  if (!box.middle.isReal() || computeType(dtype) == dtype)
    return box;
  for (double &x : box.middle.real)
    x = roundResult(dtype, x);
  if (!box.hasEnds)
    return box;
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i)
    // The ends of what may be anything stay: those of float8 are finite.
    if (Interval x = box.at(i); !x.isUnknown())
      box.set(i, {roundResult(dtype, x.low), roundResult(dtype, x.high)});
  box.settle();
  return box;
}

/// Rounds what an op's rule gives, see above; `inner`: inside a composite.
static void settleResult(Box &box, bool inner, bool isConstant) {
  if (!box.middle.isReal())
    return box.settle();
  DType dtype = box.middle.dtype;
  DType compute = box.fromDouble ? DType::F64 : computeType(dtype);
  box.fromDouble = false;
  /// Makes each interval span its rounding to `to`.
  auto span = [&](DType to) {
    box.spread();
    for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
      Interval x = box.at(i);
      if (x.isNan() || x.isUnknown())
        continue;
      box.set(i, {std::min(x.low, roundResult(to, x.low)),
                  std::max(x.high, roundResult(to, x.high))});
    }
  };
  if (inner) {
    double unit = isConstant ? std::ldexp(1.0, -int(precisionBits(dtype)))
                             : 2 * roundoff(DType::F64);
    box.spread();
    for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
      double size = magnitude(box.at(i));
      double error = unit * size;
      if (size > 0 && size < 2 * leastNormal(DType::F64))
        error = 2 * leastDenormal(DType::F64);
      box.set(i, widened(box.at(i), error));
    }
    span(compute);
    if (dtype != compute)
      span(dtype);
    return box.settle();
  }
  auto each = [&](auto round) {
    for (Tensor *tensor : {&box.middle, &box.low, &box.high})
      for (double &x : tensor->real)
        x = round(x);
  };
  if (compute == DType::F32)
    each([](double x) { return double(float(x)); });
  if (dtype != compute)
    span(dtype);
  box.settle();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Expected<std::vector<Tensor>>
BoxContext::runKernel(Operation *op, ArrayRef<const Tensor *> operands) {
  Kernel kernel = Registry::get().lookup(op);
  if (!kernel)
    return llvm::createStringError("the evaluator has no such op");
  Expected<std::vector<Tensor>> results = kernel(op, operands, *this);
  if (results)
    for (Tensor &result : *results)
      result.normalize(/*wide=*/true);
  return results;
}

const BoundRegistry &BoundRegistry::get() {
  static const BoundRegistry registry = [] {
    BoundRegistry all;
    registerElementwiseBounds(all);
    registerMovementBounds(all);
    registerReductionBounds(all);
    registerControlBounds(all);
    return all;
  }();
  return registry;
}

bool reference::hasBoundRule(OperationName name) {
  return BoundRegistry::get().lookup(name.getTypeID());
}

namespace {
/// Ops that stand for a composite.
using InnerOps = llvm::DenseSet<Operation *>;

using BoxRef = std::shared_ptr<const Box>;

struct Scope {
  explicit Scope(const Scope *parent) : parent(parent) {}
  const Scope *parent;
  llvm::DenseMap<Value, BoxRef> boxes;
  BoxRef find(Value value) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (BoxRef box = scope->boxes.lookup(value))
        return box;
    return nullptr;
  }
};

class BoundEvaluator : public BoxContext {
public:
  BoundEvaluator(const EvaluateOptions &options, const InnerOps &inner)
      : BoxContext(options), innerOps(inner) {}
  Expected<std::vector<Box>> runBoxes(Region &region,
                                      std::vector<Box> arguments) override;

private:
  Expected<std::vector<Box>> runOp(Operation *op, const Scope &scope);

  const InnerOps &innerOps;
  const Scope *innermost = nullptr;
};
} // namespace

static Error locate(Operation *op, Error error) {
  std::string text;
  llvm::raw_string_ostream(text) << op->getName() << " at " << op->getLoc()
                                 << ": " << llvm::toString(std::move(error));
  return llvm::createStringError(text);
}

Expected<std::vector<Box>> BoundEvaluator::runOp(Operation *op,
                                                 const Scope &scope) {
  BoundRule rule = BoundRegistry::get().lookup(op->getName().getTypeID());
  if (!rule)
    return locate(op, llvm::createStringError("there is no bound for this op"));
  auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
  bool rounded = fusible && fusible.readsRounded();
  SmallVector<BoxRef> held;
  SmallVector<const Box *> operands;
  int64_t steps = 3;
  for (Value operand : op->getOperands()) {
    BoxRef box = scope.find(operand);
    if (!box)
      return locate(op, llvm::createStringError("an operand has no value"));
    if (rounded)
      box = std::make_shared<const Box>(roundedBox(*box));
    steps += 3 * box->middle.elements();
    operands.push_back(box.get());
    held.push_back(std::move(box));
  }
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      steps += 3 * tensor.getNumElements();
  if (Error error = charge(steps))
    return locate(op, std::move(error));
  inner = innerOps.contains(op);
  Expected<std::vector<Box>> results = rule(op, operands, *this);
  if (!results)
    return locate(op, results.takeError());
  std::vector<Box> boxes = std::move(*results);
  for (Box &box : boxes)
    settleResult(box, innerOps.contains(op), isa<graph::ConstantOp>(op));
  return boxes;
}

Expected<std::vector<Box>>
BoundEvaluator::runBoxes(Region &region, std::vector<Box> arguments) {
  Block &block = region.front();
  Scope scope(innermost);
  for (auto [value, box] : llvm::zip(block.getArguments(), arguments))
    scope.boxes[value] = std::make_shared<const Box>(std::move(box));
  auto dying = lastUses(block);
  llvm::SaveAndRestore<const Scope *> enter(innermost, &scope);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      std::vector<Box> results;
      for (Value operand : op.getOperands()) {
        BoxRef box = scope.find(operand);
        if (!box)
          return locate(&op,
                        llvm::createStringError("an operand has no value"));
        results.push_back(*box);
      }
      return results;
    }
    Expected<std::vector<Box>> results = runOp(&op, scope);
    if (!results)
      return results;
    for (auto [value, box] : llvm::zip_equal(op.getResults(), *results))
      scope.boxes[value] = std::make_shared<const Box>(std::move(box));
    if (auto found = dying.find(&op); found != dying.end())
      for (Value value : found->second)
        scope.boxes.erase(value);
  }
  return llvm::createStringError("a block has no terminator");
}

/// Replaces composite ops by what they are made of, over and over, and returns
/// those ops.
static InnerOps decomposeAll(func::FuncOp function) {
  struct Listener : OpBuilder::Listener {
    InnerOps ops;
    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint) override {
      ops.insert(op);
    }
  } listener;
  for (bool changed = true; changed;) {
    SmallVector<graph::CompositeOpInterface> composites;
    function.walk(
        [&](graph::CompositeOpInterface op) { composites.push_back(op); });
    changed = !composites.empty();
    for (graph::CompositeOpInterface op : composites) {
      OpBuilder builder(op->getContext(), &listener);
      builder.setInsertionPoint(op);
      op->replaceAllUsesWith(ValueRange(op.decompose(builder)));
      listener.ops.erase(op);
      op->erase();
    }
  }
  return std::move(listener.ops);
}

static Expected<Bounds> toBounds(Box box) {
  box = roundedBox(std::move(box));
  Expected<HostTensor> middle = box.middle.toHost(false);
  if (!middle)
    return middle.takeError();
  Bounds bounds{std::move(*middle), {}, {}};
  if (box.middle.isReal()) {
    bounds.low = box.lowest().real;
    bounds.high = box.highest().real;
    return bounds;
  }
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    bool known = !box.isUnknown(i);
    bounds.low.push_back(known ? 0 : -HUGE_VAL);
    bounds.high.push_back(known ? 0 : HUGE_VAL);
  }
  return bounds;
}

Expected<std::vector<Bounds>>
reference::evaluateBounds(func::FuncOp function, ArrayRef<HostTensor> arguments,
                          const EvaluateOptions &options, bool float8Sums) {
  if (function.isExternal())
    return llvm::createStringError("the function has no body");
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(function->clone()));
  InnerOps inner = decomposeAll(*copy);
  std::vector<Box> boxes;
  for (const HostTensor &argument : arguments) {
    Expected<Tensor> tensor =
        Tensor::fromHost(argument, options.maxTensorBytes);
    if (!tensor)
      return tensor.takeError();
    boxes.push_back({std::move(*tensor), {}, {}});
  }
  if (boxes.size() != copy->getNumArguments())
    return llvm::createStringError("expected %u arguments, found %zu",
                                   copy->getNumArguments(), boxes.size());
  BoundEvaluator evaluator(options, inner);
  evaluator.float8Sums = float8Sums;
  Expected<std::vector<Box>> results =
      evaluator.runBoxes(copy->getBody(), std::move(boxes));
  if (!results)
    return results.takeError();
  std::vector<Bounds> bounds;
  for (Box &box : *results) {
    Expected<Bounds> one = toBounds(std::move(box));
    if (!one)
      return one.takeError();
    bounds.push_back(std::move(*one));
  }
  return bounds;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

static std::string position(ArrayRef<int64_t> shape, int64_t index) {
  SmallVector<int64_t> digits(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    digits[d] = index % shape[d];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(digits, os);
  os << ']';
  return text;
}

static std::string describe(const HostTensor &tensor) {
  std::string text = name(tensor.dtype).str();
  for (int64_t size : tensor.shape)
    text += (text.back() == 'x' ? "" : " x") + std::to_string(size);
  return text;
}

static void noteWrong(Deviation &result, const Bounds &bounds,
                      const HostTensor &found, int64_t i) {
  if (result.wrong++)
    return;
  llvm::raw_string_ostream os(result.first);
  os << "element " << position(found.shape, i) << ": expected ";
  if (!isFloat(found.dtype)) {
    os << bounds.middle.getI64(i) << ", found " << found.getI64(i);
    return;
  }
  os << llvm::format("%.9g", bounds.middle.getF64(i));
  if (bounds.low[i] < bounds.high[i])
    os << llvm::format(" in [%.9g, %.9g]", bounds.low[i], bounds.high[i]);
  os << llvm::format(", found %.9g", found.getF64(i));
}

Deviation reference::deviationOf(const Bounds &bounds,
                                 const HostTensor &found) {
  Deviation result;
  const HostTensor &middle = bounds.middle;
  if (middle.dtype != found.dtype || middle.shape != found.shape) {
    result.first =
        "expected " + describe(middle) + ", found " + describe(found);
    return result;
  }
  bool isReal = isFloat(found.dtype);
  result.elements = found.elements();
  for (int64_t i = 0; i < result.elements; ++i) {
    if (bounds.isUnknown(i)) {
      ++result.unknown;
      continue;
    }
    if (!isReal) {
      ++result.exact;
      if (middle.getBits(i) != found.getBits(i))
        noteWrong(result, bounds, found, i);
      continue;
    }
    double low = bounds.low[i], high = bounds.high[i], x = found.getF64(i);
    if (std::isnan(low) || low == high) {
      ++result.exact;
      if (std::isnan(low) ? !std::isnan(x) : x != low)
        noteWrong(result, bounds, found, i);
      continue;
    }
    double m = middle.getF64(i);
    if (!(low <= x && x <= high))
      noteWrong(result, bounds, found, i);
    double room = x > m ? high - m : m - low, off = std::fabs(x - m);
    if (off > 0 && std::isfinite(off) && room > 0)
      result.worst =
          std::max(result.worst,
                   std::min(off / room, std::numeric_limits<double>::max()));
  }
  if (result.wrong)
    result.first += " (" + std::to_string(result.wrong) + " of " +
                    std::to_string(result.elements) + " elements are wrong)";
  return result;
}
