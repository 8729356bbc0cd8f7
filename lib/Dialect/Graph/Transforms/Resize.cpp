//===- Resize.cpp - the same graph for other sizes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. Dimensions of values that are one loop of an op are put in one class.
//  2. The classes of the arguments' dimensions get their new sizes.
//  3. Reshapes hand changes on, in both directions, until nothing changes. A
//     class knows the ordered factors of its size, so that a batch which was
//     folded into rows comes out of them again.
//  4. Types are set, and the function is verified.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/Transforms/Resize.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Support/Numeric.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/IntEqClasses.h"

#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

namespace {

/// A factor of a size, before and after.
struct Factor {
  int64_t from, to;
  bool isChanged() const { return from != to; }
  bool operator==(const Factor &) const = default;
};
/// The factors of a size, outermost first.
using Factors = SmallVector<Factor, 2>;

class Resizer {
public:
  explicit Resizer(func::FuncOp function) : function(function) {}
  llvm::Error run(ArrayRef<SmallVector<int64_t>> shapes);
  llvm::Error runOutermost(int64_t size);

private:
  llvm::Error classify();
  /// Hands sizes on until nothing changes.
  llvm::Error spread();
  llvm::Error retypeAll();
  void number(Value value);
  llvm::Error join(Operation *op);
  void joinLoops(FusibleOpInterface op);
  void joinGather(GatherOp op);
  void joinValues(ValueRange lhs, ValueRange rhs);
  void joinDims(Value a, unsigned i, Value b, unsigned j);
  llvm::Error setClass(unsigned id, const Factors &factors);
  llvm::Error passReshape(ReshapeOp op);
  llvm::Error hand(Value from, Value to);
  llvm::Error retype(Value value);
  llvm::Error retypeConstant(ConstantOp op);

  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  unsigned classOf(Value value, unsigned dim) const {
    return classes[firstDim.lookup(value) + dim];
  }
  Factors factorsOf(Value value, unsigned dim) const {
    const Factors &known = factors[classOf(value, dim)];
    int64_t size = shapeOf(value)[dim];
    return known.empty() ? Factors{{size, size}} : known;
  }

  func::FuncOp function;
  SmallVector<Value> values;
  /// The number of a value's first dimension; the others follow.
  llvm::DenseMap<Value, unsigned> firstDim;
  SmallVector<Operation *> ops;
  unsigned numDims = 0;
  llvm::IntEqClasses classes;
  /// By class; empty: not changed.
  std::vector<Factors> factors;
  bool isStable = false;
};

} // namespace

static llvm::Error makeError(Location loc, const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream(text) << message << " at " << loc;
  return llvm::createStringError(text);
}

static int64_t sizeAfter(const Factors &factors) {
  int64_t size = 1;
  for (const Factor &factor : factors)
    size *= factor.to; // types of more elements than 2^63 are refused later
  return size;
}

static bool isChanged(const Factors &factors) {
  return llvm::any_of(factors, [](const Factor &f) { return f.isChanged(); });
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

void Resizer::number(Value value) {
  values.push_back(value);
  firstDim[value] = numDims;
  numDims += shapeOf(value).size();
}

void Resizer::joinDims(Value a, unsigned i, Value b, unsigned j) {
  if (shapeOf(a)[i] == shapeOf(b)[j])
    classes.join(firstDim.lookup(a) + i, firstDim.lookup(b) + j);
}

void Resizer::joinValues(ValueRange lhs, ValueRange rhs) {
  for (auto [a, b] : llvm::zip(lhs, rhs))
    for (unsigned i = 0; i < shapeOf(a).size(); ++i)
      joinDims(a, i, b, i);
}

/// `expr` with the reduced loops of one point (windows along other axes) at
/// that point.
static AffineExpr withoutUnits(AffineExpr expr, const IterationSpace &space) {
  unsigned parallel = space.parallel.size();
  SmallVector<AffineExpr> loops;
  for (unsigned i = 0; i < parallel + space.reduced.size(); ++i)
    loops.push_back(i >= parallel && space.reduced[i - parallel] == 1
                        ? getAffineConstantExpr(0, expr.getContext())
                        : getAffineDimExpr(i, expr.getContext()));
  return simplifyAffineExpr(expr.replaceDims(loops), loops.size(), 0);
}

/// A result's dimension is a parallel loop; an operand's is a loop where its
/// map says so and nothing else.
void Resizer::joinLoops(FusibleOpInterface op) {
  IterationSpace space = op.getIterationSpace();
  SmallVector<std::pair<Value, unsigned>> loops(space.parallel.size() +
                                                space.reduced.size());
  for (Value result : op->getResults())
    for (unsigned i = 0; i < shapeOf(result).size(); ++i) {
      if (loops[i].first)
        joinDims(loops[i].first, loops[i].second, result, i);
      loops[i] = {result, i};
    }
  for (auto [operand, access] : llvm::zip(op->getOperands(), space.operands)) {
    if (!access.map)
      continue;
    for (auto [j, expr] : llvm::enumerate(access.map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(withoutUnits(expr, space));
      if (!loop)
        continue;
      auto &known = loops[loop.getPosition()];
      int64_t size =
          loop.getPosition() < space.parallel.size()
              ? space.parallel[loop.getPosition()]
              : space.reduced[loop.getPosition() - space.parallel.size()];
      if (shapeOf(operand)[j] != size)
        continue;
      if (known.first)
        joinDims(known.first, known.second, operand, j);
      else
        known = {operand, unsigned(j)};
    }
  }
}

/// Around the gathered axis a gather reads where it writes.
void Resizer::joinGather(GatherOp op) {
  unsigned axis = op.getAxis(), rank = shapeOf(op.getOperand()).size();
  unsigned indices = shapeOf(op.getIndices()).size();
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      joinDims(op.getOperand(), i, op.getResult(),
               i < axis ? i : i + indices - 1);
}

llvm::Error Resizer::join(Operation *op) {
  if (isa<ConstantOp, ReshapeOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return llvm::Error::success();
  if (auto fusion = dyn_cast<FusionOp>(op)) {
    joinValues(fusion.getInputs(), fusion.getBody().getArguments());
    joinValues(fusion.getYield().getValues(), fusion.getResults());
    return llvm::Error::success();
  }
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  if (!fusible || op->getNumRegions())
    return makeError(op->getLoc(), "sizes are not followed through " +
                                       op->getName().getStringRef());
  joinLoops(fusible);
  if (auto gather = dyn_cast<GatherOp>(op))
    joinGather(gather);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

llvm::Error Resizer::setClass(unsigned id, const Factors &next) {
  Factors &known = factors[id];
  if (!isChanged(next) || known == next)
    return llvm::Error::success();
  if (!known.empty() && sizeAfter(known) != sizeAfter(next))
    return llvm::createStringError("one dimension would have sizes " +
                                   llvm::Twine(sizeAfter(known)) + " and " +
                                   llvm::Twine(sizeAfter(next)));
  // The finer of two equal factorizations knows more.
  if (known.size() >= next.size())
    return llvm::Error::success();
  known = next;
  isStable = false;
  return llvm::Error::success();
}

/// Takes the factors of a dimension of size `size` from the front of `rest`;
/// nothing if a changed factor would have to be cut. The first dimension of a
/// shape (`isFirst`) gets what was 1 and stands first.
static std::optional<Factors> takeFactors(int64_t size, bool isFirst,
                                          Factors &rest) {
  Factors taken;
  while (isFirst && !rest.empty() && rest.front().from == 1) {
    taken.push_back(rest.front());
    rest.erase(rest.begin());
  }
  while (size != 1) {
    if (rest.empty())
      return std::nullopt;
    Factor &front = rest.front();
    if (front.isChanged()) {
      if (size % front.from)
        return std::nullopt;
      taken.push_back(front);
      size /= front.from;
      rest.erase(rest.begin());
      continue;
    }
    int64_t common = std::gcd(size, front.from);
    if (common == 1 && front.from != 1)
      return std::nullopt;
    taken.push_back({common, common});
    size /= common;
    front = {front.from / common, front.to / common};
    if (front.from == 1)
      rest.erase(rest.begin());
  }
  return taken;
}

/// Hands changes of the dimensions of `from` on to those of `to`, which has the
/// same elements in the same order.
llvm::Error Resizer::hand(Value from, Value to) {
  ArrayRef<int64_t> source = shapeOf(from), target = shapeOf(to);
  Factors rest;
  bool hasChange = false;
  for (unsigned i = 0; i < source.size(); ++i) {
    Factors next = factorsOf(from, i);
    hasChange |= isChanged(next);
    llvm::copy_if(next, std::back_inserter(rest),
                  [](const Factor &f) { return f.from != 1 || f.isChanged(); });
  }
  if (!hasChange)
    return llvm::Error::success();
  for (unsigned i = 0; i < target.size(); ++i) {
    std::optional<Factors> taken =
        target[i] == 0 ? std::nullopt : takeFactors(target[i], i == 0, rest);
    if (!taken)
      return llvm::createStringError(
          "a changed size is cut by a reshape to a dimension of " +
          llvm::Twine(target[i]));
    if (llvm::Error error = setClass(classOf(to, i), *taken))
      return error;
  }
  if (isChanged(rest))
    return llvm::createStringError("a reshape drops a dimension of 1 that "
                                   "changes");
  return llvm::Error::success();
}

llvm::Error Resizer::passReshape(ReshapeOp op) {
  llvm::Error error = hand(op.getOperand(), op.getResult());
  if (!error)
    error = hand(op.getResult(), op.getOperand());
  if (error)
    return makeError(op.getLoc(), llvm::toString(std::move(error)));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

llvm::Error Resizer::retypeConstant(ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  ElementsAttr value = op.getValue();
  if (cast<RankedTensorType>(value.getType()) == type)
    return llvm::Error::success();
  if (!isa<DenseElementsAttr>(value) || !value.isSplat())
    return makeError(op.getLoc(), "a constant of several values has a size "
                                  "that changes");
  op.setValueAttr(
      DenseElementsAttr::get(type, value.getSplatValue<Attribute>()));
  return llvm::Error::success();
}

llvm::Error Resizer::retype(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (unsigned i = 0; i < type.getRank(); ++i)
    shape.push_back(sizeAfter(factorsOf(value, i)));
  if (shape == type.getShape())
    return llvm::Error::success();
  llvm::Expected<int64_t> count = elementCount(shape);
  if (!count)
    return makeError(value.getLoc(), llvm::toString(count.takeError()));
  value.setType(type.clone(shape));
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return retypeConstant(constant);
  return llvm::Error::success();
}

llvm::Error Resizer::classify() {
  for (BlockArgument argument : function.getArguments())
    number(argument);
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        number(argument);
    for (Value result : op->getResults())
      number(result);
  });
  classes.grow(numDims);
  for (Operation *op : ops)
    if (llvm::Error error = join(op))
      return error;
  classes.compress();
  factors.resize(classes.getNumClasses());
  return llvm::Error::success();
}

llvm::Error Resizer::run(ArrayRef<SmallVector<int64_t>> shapes) {
  if (llvm::Error error = classify())
    return error;
  for (auto [argument, shape] : llvm::zip(function.getArguments(), shapes))
    for (auto [i, size] : llvm::enumerate(shapeOf(argument))) {
      if (size == shape[i])
        continue;
      if (size < 2)
        return llvm::createStringError(
            "argument " + llvm::Twine(argument.getArgNumber()) +
            ": expected a size above 1 to start from in dimension " +
            llvm::Twine(i) + ", found " + llvm::Twine(size));
      if (llvm::Error error =
              setClass(classOf(argument, i), {{size, shape[i]}}))
        return error;
    }
  if (llvm::Error error = spread())
    return error;
  return retypeAll();
}

llvm::Error Resizer::runOutermost(int64_t size) {
  if (llvm::Error error = classify())
    return error;
  ValueRange results =
      function.getBody().front().getTerminator()->getOperands();
  auto first = llvm::find_if(
      results, [](Value value) { return !shapeOf(value).empty(); });
  if (first == results.end())
    return llvm::Error::success();
  int64_t before = shapeOf(*first).front();
  if (llvm::Error error = setClass(classOf(*first, 0), {{before, size}}))
    return error;
  if (llvm::Error error = spread())
    return error;
  // Rows of one item, or one row that a frontend did not repeat.
  for (BlockArgument argument : function.getArguments())
    for (unsigned i = 0; i < shapeOf(argument).size(); ++i)
      for (const Factor &factor : factorsOf(argument, i))
        if (factor.from == 1 && factor.isChanged() && shapeOf(argument)[i] != 1)
          return llvm::createStringError(
              "argument " + llvm::Twine(argument.getArgNumber()) +
              ": whether dimension " + llvm::Twine(i) +
              " has a batch of 1 in it cannot be told");
  return retypeAll();
}

llvm::Error Resizer::spread() {
  while (!isStable) {
    isStable = true;
    for (Operation *op : ops)
      if (auto reshape = dyn_cast<ReshapeOp>(op))
        if (llvm::Error error = passReshape(reshape))
          return error;
  }
  return llvm::Error::success();
}

llvm::Error Resizer::retypeAll() {
  for (Value value : values)
    if (llvm::Error error = retype(value))
      return error;
  Block &body = function.getBody().front();
  function.setType(FunctionType::get(function.getContext(),
                                     body.getArgumentTypes(),
                                     body.getTerminator()->getOperandTypes()));
  std::optional<std::string> problem;
  Location place = function.getLoc();
  ScopedDiagnosticHandler handler(function.getContext(), [&](Diagnostic &d) {
    if (!problem) {
      problem = d.str();
      place = d.getLocation();
    }
    return success();
  });
  if (failed(verify(function)))
    return makeError(place, "the graph is not valid in other sizes: " +
                                problem.value_or("it does not verify"));
  return llvm::Error::success();
}

llvm::Error graph::resize(func::FuncOp function,
                          ArrayRef<SmallVector<int64_t>> shapes) {
  if (shapes.size() != function.getNumArguments())
    return llvm::createStringError(
        "expected " + llvm::Twine(function.getNumArguments()) +
        " shapes, found " + llvm::Twine(shapes.size()));
  for (auto [argument, shape] : llvm::zip(function.getArguments(), shapes)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() ||
        type.getRank() != int64_t(shape.size()))
      return llvm::createStringError("argument " +
                                     llvm::Twine(argument.getArgNumber()) +
                                     ": expected a shape of another rank");
  }
  return Resizer(function).run(shapes);
}

llvm::Error graph::resizeOutermost(func::FuncOp function, int64_t size) {
  return Resizer(function).runOutermost(size);
}
