//===- FoldConstants.cpp - compute ops on constants -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In program order: an op is a candidate if all operands come from
// graph.constant. Elementwise ops on splats run on one element; others run as
// they are, if size, growth, work and total bytes stay within the limits.
// Large results become resources, which, unlike dense attributes, do not live
// as long as the context's uniquer.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Reference/Passes.h"

#define DEBUG_TYPE "fusec-graph-fold-constants"

namespace fusec::reference {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "fusec/Reference/Passes.h.inc"
} // namespace fusec::reference

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

/// Constants up to this size are folded though they grow; larger ones are
/// stored as resources. One page.
constexpr int64_t kSmallBytes = 4096;

namespace {
class Folder {
public:
  explicit Folder(const FoldConstantsPassOptions &options)
      : options(options), bytesLeft(options.maxBytes),
        stepsLeft(options.maxSteps) {}

  void fold(Operation *op);
  FoldReport report;

private:
  /// The constants behind the operands; nothing if one is no constant.
  static std::optional<SmallVector<ElementsAttr>> constants(Operation *op);
  /// True if computing `op` on `inputs` stays within the limits.
  bool affords(graph::FusibleOpInterface op, ArrayRef<ElementsAttr> inputs);
  /// The attributes of the results, or nothing.
  std::optional<SmallVector<ElementsAttr>>
  compute(Operation *op, ArrayRef<ElementsAttr> inputs);
  std::optional<SmallVector<ElementsAttr>>
  computeSplat(Operation *op, ArrayRef<ElementsAttr> inputs);

  FoldConstantsPassOptions options;
  int64_t bytesLeft, stepsLeft;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t bytesOf(RankedTensorType type) {
  std::optional<DType> dtype = graph::toDType(type.getElementType());
  std::optional<int64_t> elements = 1;
  for (int64_t size : type.getShape())
    elements = elements ? checkedMul(*elements, size) : elements;
  if (elements)
    elements = checkedMul(*elements, byteSize(*dtype));
  return elements.value_or(std::numeric_limits<int64_t>::max());
}

std::optional<SmallVector<ElementsAttr>> Folder::constants(Operation *op) {
  SmallVector<ElementsAttr> inputs;
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<graph::ConstantOp>();
    if (!constant)
      return std::nullopt;
    inputs.push_back(constant.getValue());
  }
  return inputs;
}

/// Points of an iteration space; the largest integer if unknown.
static int64_t pointsOf(graph::FusibleOpInterface op) {
  graph::IterationSpace space = op.getIterationSpace();
  std::optional<int64_t> points = 1;
  for (ArrayRef<int64_t> sizes :
       {ArrayRef<int64_t>(space.parallel), ArrayRef<int64_t>(space.reduced)})
    for (int64_t size : sizes) {
      if (ShapedType::isDynamic(size))
        return std::numeric_limits<int64_t>::max();
      points =
          points ? checkedMul(*points, std::max<int64_t>(size, 1)) : points;
    }
  return points.value_or(std::numeric_limits<int64_t>::max());
}

bool Folder::affords(graph::FusibleOpInterface op,
                     ArrayRef<ElementsAttr> inputs) {
  int64_t held = 0, made = 0;
  for (ElementsAttr input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    if (bytesOf(type) / byteSize(*graph::toDType(type.getElementType())) >
        options.maxElements)
      return false;
    held += input.isSplat() ? 0 : bytesOf(type);
  }
  for (Value result : op->getResults()) {
    auto type = typeOf(result);
    int64_t bytes = bytesOf(type);
    if (bytes / byteSize(*graph::toDType(type.getElementType())) >
        options.maxElements)
      return false;
    made += bytes;
  }
  return made <= std::max(held, kSmallBytes) && made <= bytesLeft &&
         pointsOf(op) <= stepsLeft;
}

/// The tensor as an attribute of `type`: a splat if it is one, dense if small,
/// else a resource.
static ElementsAttr toConstant(const HostTensor &tensor,
                               RankedTensorType type) {
  int64_t count = tensor.elements();
  bool isSplat = count > 0;
  for (int64_t i = 1; i < count && isSplat; ++i)
    isSplat = tensor.getBits(i) == tensor.getBits(0);
  int64_t bytes = tensor.bytes->size();
  if (isSplat || bytes <= kSmallBytes)
    return toAttribute(tensor, type.getContext());
  return graph::makeResource(type, "folded", tensor.bytes);
}

std::optional<SmallVector<ElementsAttr>>
Folder::compute(Operation *op, ArrayRef<ElementsAttr> inputs) {
  EvaluateOptions limits;
  std::vector<HostTensor> operands;
  for (ElementsAttr input : inputs) {
    Expected<HostTensor> operand = toHostTensor(input, limits.maxTensorBytes);
    if (!operand) {
      llvm::consumeError(operand.takeError());
      return std::nullopt;
    }
    operands.push_back(std::move(*operand));
  }
  // What the evaluator refuses (an index into nothing) stays for the run.
  Expected<std::vector<HostTensor>> results = evaluateOp(op, operands, limits);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  SmallVector<ElementsAttr> attributes;
  for (auto [tensor, result] : llvm::zip_equal(*results, op->getResults()))
    attributes.push_back(toConstant(tensor, typeOf(result)));
  return attributes;
}

/// `type` without dimensions.
static RankedTensorType scalar(ShapedType type) {
  return RankedTensorType::get({}, type.getElementType());
}

std::optional<SmallVector<ElementsAttr>>
Folder::computeSplat(Operation *op, ArrayRef<ElementsAttr> inputs) {
  Block block;
  SmallVector<ElementsAttr> elements;
  for (ElementsAttr input : inputs) {
    RankedTensorType type = scalar(input.getShapedType());
    block.addArgument(type, op->getLoc());
    elements.push_back(
        DenseElementsAttr::get(type, input.getSplatValue<Attribute>()));
  }
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(scalar(typeOf(result)));
  Operation *single = Operation::create(
      op->getLoc(), op->getName(), types, block.getArguments(),
      NamedAttrList(op->getDiscardableAttrDictionary()),
      op->getPropertiesStorage(), BlockRange(), /*numRegions=*/0);
  auto results = compute(single, elements);
  single->destroy();
  if (!results)
    return results;
  for (auto [attribute, result] : llvm::zip_equal(*results, op->getResults()))
    attribute = DenseElementsAttr::get(typeOf(result),
                                       attribute.getSplatValue<Attribute>());
  return results;
}

/// Replaces the only result of `op` by a constant.
static void replace(Operation *op, ElementsAttr value) {
  OpBuilder builder(op);
  op->getResult(0).replaceAllUsesWith(
      graph::ConstantOp::create(builder, op->getLoc(), value));
  op->erase();
}

/// The result of an op that only moves elements of one splat about.
static ElementsAttr moveSplat(graph::FusibleOpInterface op,
                              ArrayRef<ElementsAttr> inputs) {
  if (op.getFusionRole() != graph::FusionRole::movement || inputs.size() != 1 ||
      !isa<DenseElementsAttr>(inputs[0]) || !inputs[0].isSplat())
    return {};
  graph::IterationSpace space = op.getIterationSpace();
  const graph::OperandAccess &access = space.operands[0];
  if (!access.map || access.isMasked || access.isIndirect ||
      !space.reduced.empty())
    return {};
  return DenseElementsAttr::get(typeOf(op->getResult(0)),
                                inputs[0].getSplatValue<Attribute>());
}

void Folder::fold(Operation *op) {
  auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
  bool isPlain = llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.hasStaticShape() && !tensor.getEncoding();
  });
  if (!fusible || !isPlain)
    return;
  auto inputs = constants(op);
  if (!inputs)
    return;
  if (ElementsAttr moved = moveSplat(fusible, *inputs)) {
    ++report.folded;
    return replace(op, moved);
  }
  bool isSplat = !inputs->empty() &&
                 fusible.getFusionRole() == graph::FusionRole::elementwise &&
                 llvm::all_of(*inputs, [](ElementsAttr input) {
                   return isa<DenseElementsAttr>(input) && input.isSplat();
                 });
  if (!isSplat && !affords(fusible, *inputs)) {
    ++report.overBudget;
    return;
  }
  auto results = isSplat ? computeSplat(op, *inputs) : compute(op, *inputs);
  if (!results)
    return;
  OpBuilder builder(op);
  for (auto [attribute, result] : llvm::zip_equal(*results, op->getResults())) {
    if (!attribute.isSplat())
      bytesLeft -= bytesOf(typeOf(result));
    result.replaceAllUsesWith(
        graph::ConstantOp::create(builder, op->getLoc(), attribute));
  }
  if (!isSplat)
    stepsLeft -= pointsOf(fusible);
  ++report.folded;
  op->erase();
}

FoldReport reference::foldConstants(Operation *root,
                                    const FoldConstantsPassOptions &options) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != root && isa<graph::FusibleOpInterface>(op))
      ops.push_back(op);
  });
  Folder folder(options);
  for (Operation *op : ops)
    folder.fold(op);
  SmallVector<graph::ConstantOp> unused;
  root->walk([&](graph::ConstantOp op) {
    if (op->use_empty() && op != root)
      unused.push_back(op);
  });
  for (graph::ConstantOp op : unused)
    op.erase();
  return folder.report;
}

namespace {
struct FoldConstantsPass
    : reference::impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;

  void runOnOperation() override {
    FoldReport report =
        foldConstants(getOperation(), {maxElements, maxBytes, maxSteps});
    numFolded += report.folded;
    numOverBudget += report.overBudget;
  }
};
} // namespace
