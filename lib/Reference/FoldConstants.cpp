//===- FoldConstants.cpp - compute ops on constants -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In program order: an op is a candidate if all operands come from
// graph.constant. Elementwise ops on splats run on one element; others run as
// they are, if size, growth, work and total bytes stay within the limits.
// What repeats itself afterwards is taken apart into a repetition.
// Large results become resources, which, unlike dense attributes, do not live
// as long as the context's uniquer.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Reference/Passes.h"

#include <cstring>

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

/// The constant without the dimensions along which it repeats, which are the
/// ones that `kept` does not get; null if it repeats along none.
static ElementsAttr withoutRepeats(ElementsAttr value,
                                   SmallVectorImpl<int64_t> &kept) {
  auto type = cast<RankedTensorType>(value.getType());
  bool isFolded = isa<DenseElementsAttr>(value) && value.isSplat();
  if (isFolded || type.getNumElements() == 0 || type.getRank() == 0)
    return {};
  auto bytes = toBytes(value);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return {};
  }
  const std::byte *data = (*bytes)->data();
  int64_t inner = (*bytes)->size(), outer = 1;
  // Elements of the constant that are read: all indices along kept dimensions.
  SmallVector<int64_t> offsets = {0}, sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    inner /= size;
    bool repeats = size > 1 || type.getNumElements() == 1;
    for (int64_t o = 0; o < outer && repeats; ++o)
      for (int64_t i = 1; i < size && repeats; ++i)
        repeats = std::memcmp(data + o * size * inner,
                              data + (o * size + i) * inner, inner) == 0;
    outer *= size;
    if (repeats)
      continue;
    kept.push_back(dim);
    sizes.push_back(size);
  }
  if (kept.size() == size_t(type.getRank()))
    return {};
  // Offsets of the elements that stay, row-major.
  int64_t stride = 1;
  SmallVector<int64_t> strides(type.getRank());
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= type.getDimSize(dim);
  }
  for (auto [dim, size] : llvm::zip(kept, sizes)) {
    SmallVector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(offset + i * strides[dim]);
    offsets = std::move(next);
  }
  DType dtype = *graph::toDType(type.getElementType());
  auto elements = std::make_shared<Bytes>(offsets.size() * inner);
  for (auto [i, offset] : llvm::enumerate(offsets))
    std::memcpy(elements->mutableData() + i * inner, data + offset * inner,
                inner);
  return toConstant(
      {dtype, std::vector<int64_t>(sizes.begin(), sizes.end()), elements},
      RankedTensorType::get(sizes, type.getElementType()));
}

/// A constant that repeats itself along a dimension (a bias for each item of a
/// batch) becomes a repetition of what it repeats: fewer bytes to keep and to
/// read, and the size of the dimension is not that of a constant.
static bool repeat(graph::ConstantOp op) {
  // A product copies its operand as it is, or not at all cheaply.
  for (Operation *user : op->getUsers()) {
    auto fusible = dyn_cast<graph::FusibleOpInterface>(user);
    if (!fusible || fusible.getFusionRole() == graph::FusionRole::contraction ||
        fusible.getFusionRole() == graph::FusionRole::window)
      return false;
  }
  SmallVector<int64_t> kept;
  ElementsAttr small = withoutRepeats(op.getValue(), kept);
  if (!small)
    return false;
  if (kept.empty()) {
    op.setValueAttr(DenseElementsAttr::get(cast<ShapedType>(op.getType()),
                                           small.getSplatValue<Attribute>()));
    return true;
  }
  OpBuilder builder(op);
  auto constant = graph::ConstantOp::create(builder, op.getLoc(), small);
  Value whole = graph::BroadcastOp::create(builder, op.getLoc(), op.getType(),
                                           constant, kept);
  op.replaceAllUsesWith(whole);
  op.erase();
  return true;
}

/// A constant that is repeated has no dimensions of one element: a batch of one
/// and what has no batch are the same.
static void dropUnits(graph::BroadcastOp op) {
  auto constant = op.getOperand().getDefiningOp<graph::ConstantOp>();
  if (!constant || constant.getValue().isSplat())
    return;
  RankedTensorType type = constant.getType();
  SmallVector<int64_t> sizes, dimensions;
  for (auto [size, dim] : llvm::zip(type.getShape(), op.getDimensions()))
    if (size != 1) {
      sizes.push_back(size);
      dimensions.push_back(dim);
    }
  if (sizes.size() == size_t(type.getRank()))
    return;
  auto small = RankedTensorType::get(sizes, type.getElementType());
  ElementsAttr value;
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    value = dense.reshape(small);
  } else if (auto bytes = graph::sharedBytes(constant.getValue())) {
    value = graph::makeResource(small, "folded", std::move(bytes));
  } else {
    return;
  }
  OpBuilder builder(op);
  auto flat = graph::ConstantOp::create(builder, constant.getLoc(), value);
  op.getOperandMutable().assign(flat);
  op.setDimensions(dimensions);
  if (constant->use_empty())
    constant.erase();
}

/// gather(table, repeated indices) is a repetition of gather(table, indices),
/// which the next round can compute (positions, the same for each item).
static bool gatherOnce(graph::GatherOp op) {
  auto repeated = op.getIndices().getDefiningOp<graph::BroadcastOp>();
  if (!repeated || !repeated.getOperand().getDefiningOp<graph::ConstantOp>() ||
      !op.getOperand().getDefiningOp<graph::ConstantOp>())
    return false;
  OpBuilder builder(op);
  Value once = graph::GatherOp::create(builder, op.getLoc(), op.getOperand(),
                                       repeated.getOperand(), op.getAxis());
  int64_t axis = op.getAxis(), rank = typeOf(op.getOperand()).getRank();
  int64_t indices = typeOf(op.getIndices()).getRank();
  SmallVector<int64_t> dimensions;
  for (int64_t i = 0; i < axis; ++i)
    dimensions.push_back(i);
  for (int64_t dim : repeated.getDimensions())
    dimensions.push_back(axis + dim);
  for (int64_t i = axis + 1; i < rank; ++i)
    dimensions.push_back(i - 1 + indices);
  op.replaceAllUsesWith(graph::BroadcastOp::create(builder, op.getLoc(),
                                                   op.getType(), once,
                                                   dimensions)
                            .getResult());
  op.erase();
  return true;
}

template <typename Op>
static SmallVector<Op> opsIn(Operation *root) {
  SmallVector<Op> ops;
  root->walk<WalkOrder::PreOrder>([&](Op op) {
    if (op.getOperation() != root)
      ops.push_back(op);
  });
  return ops;
}

/// Takes constants apart into what repeats and what is repeated; whether there
/// is something new to fold.
static bool takeApart(Operation *root) {
  bool changed = false;
  for (auto op : opsIn<graph::ConstantOp>(root)) {
    if (op->use_empty())
      op.erase();
    else
      changed |= repeat(op);
  }
  for (auto op : opsIn<graph::BroadcastOp>(root))
    dropUnits(op);
  for (auto op : opsIn<graph::GatherOp>(root))
    changed |= gatherOnce(op);
  return changed;
}

FoldReport reference::foldConstants(Operation *root,
                                    const FoldConstantsPassOptions &options) {
  // A round folds all that it can; later ones what was taken apart.
  constexpr unsigned kMaxRounds = 3;
  Folder folder(options);
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    folder.report.overBudget = 0;
    for (auto op : opsIn<graph::FusibleOpInterface>(root))
      folder.fold(op);
    if (!takeApart(root))
      break;
  }
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
