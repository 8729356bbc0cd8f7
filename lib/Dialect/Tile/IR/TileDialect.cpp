//===- TileDialect.cpp - the tile dialect ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Common/KernelAssembly.h"
#include "fusec/Dialect/Common/StatisticHoles.h"
#include "fusec/Dialect/Tile/IR/Shift.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile;

#include "fusec/Dialect/Tile/IR/TileDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fusec/Dialect/Tile/IR/TileAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "fusec/Dialect/Tile/IR/TileOps.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fusec/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fusec/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

LayoutAttr fusec::tile::getLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

bool fusec::tile::isReadOnly(Value buffer) {
  auto arg = dyn_cast<BlockArgument>(buffer);
  auto kernel =
      arg ? dyn_cast<KernelOp>(arg.getOwner()->getParentOp()) : KernelOp();
  return kernel && arg.getArgNumber() < kernel.getReadOnly();
}

bool fusec::tile::isShared(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getMemorySpaceAsInt() ==
         kSharedSpace;
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<Digit> reg, ArrayRef<Digit> lane,
                                 ArrayRef<Digit> warp,
                                 ArrayRef<Digit> cluster) {
  for (ArrayRef<Digit> digits : {reg, lane, warp, cluster})
    for (const Digit &digit : digits)
      if (digit.size < 1 || digit.stride < 0 || digit.axis < 0)
        return emitError() << "digit must have size >= 1, stride >= 0 and axis "
                              ">= 0, found "
                           << digit.size << ":" << digit.stride << ":"
                           << digit.axis;
  for (const Digit &digit : lane)
    if (!llvm::isPowerOf2_64(digit.size))
      return emitError() << "lane digits must be powers of two, found "
                         << digit.size;
  if (placeCount(lane) > 32)
    return emitError() << "expected at most 32 lanes, found "
                       << placeCount(lane);
  return success();
}

LayoutAttr LayoutAttr::reduced(ArrayRef<int64_t> axes) const {
  return LayoutAttr::get(
      getContext(), dropAxes(getReg(), axes), replicateAxes(getLane(), axes),
      replicateAxes(getWarp(), axes), replicateAxes(getCluster(), axes));
}

LayoutAttr LayoutAttr::perWarp(int64_t axis) const {
  int64_t stride = 1;
  auto numbered = [&](ArrayRef<Digit> digits) {
    SmallVector<Digit> result(digits);
    for (Digit &digit : result)
      if (digit.axis == axis && digit.stride) {
        digit.stride = stride;
        stride *= digit.size;
      }
    return result;
  };
  SmallVector<Digit> warps = numbered(getWarp()),
                     blocks = numbered(getCluster());
  return LayoutAttr::get(getContext(), dropAxes(getReg(), axis),
                         replicateAxes(getLane(), axis), warps, blocks);
}

int64_t LayoutAttr::countWarps(int64_t axis) const {
  int64_t count = 1;
  for (ArrayRef<Digit> digits : {getWarp(), getCluster()})
    for (const Digit &digit : digits)
      if (digit.axis == axis && digit.stride)
        count *= digit.size;
  return count;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return fusec::parseKernel(parser, result);
}
void KernelOp::print(OpAsmPrinter &printer) {
  fusec::printKernel(printer, *this);
}

LogicalResult KernelOp::verify() {
  if (getThreads() < 32 || getThreads() > 1024 || getThreads() % 32)
    return emitOpError() << "expected 32 to 1024 threads in whole warps, found "
                         << getThreads();
  int64_t indices = llvm::count_if(getBody().getArgumentTypes(),
                                   [](Type type) { return type.isIndex(); });
  if (indices != static_cast<int64_t>(getExtents().size()))
    return emitOpError() << "expected one extent per index argument, found "
                         << getExtents().size() << " for " << indices;
  int64_t scratch = getScratch() ? getScratch()->size() : 0;
  int64_t buffers = getBody().getNumArguments() - indices;
  if (scratch > buffers - int64_t(getReadOnly()) ||
      int64_t(getKept().value_or(0)) > scratch)
    return emitOpError() << "expected scratch among " << buffers
                         << " buffers, found " << scratch;
  if (getCluster() && (*getCluster() < 1 || *getCluster() > 16))
    return emitOpError() << "expected a cluster of 1 to 16 blocks, found "
                         << *getCluster();
  if (getGrid().size() != 3)
    return emitOpError() << "expected three grid dimensions, found "
                         << getGrid().size();
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = cast<RankedTensorType>(getOperand().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getRank() != to.getRank() ||
      from.getElementType() != to.getElementType())
    return emitOpError("expected operand and result of one rank and type");
  SmallVector<int64_t> axes;
  for (auto [axis, sizes] :
       llvm::enumerate(llvm::zip(from.getShape(), to.getShape()))) {
    auto [small, large] = sizes;
    if (getLayout(from) == getLayout(to).perWarp(axis) &&
        small == getLayout(to).countWarps(axis))
      return success();
    if (small == large)
      continue;
    if (small != 1)
      return emitOpError() << "axis " << axis << " has size " << small
                           << ", expected 1 or " << large;
    axes.push_back(axis);
  }
  if (getLayout(from) != getLayout(to).reduced(axes))
    return emitOpError("expected the operand's layout to be the result's "
                       "reduced along the repeated axes");
  return success();
}

int64_t ShiftOp::getRun() {
  ArrayRef<Digit> digits = getLayout(getType()).getReg();
  bool isRun = !digits.empty() && digits.front().axis == int64_t(getAxis()) &&
               digits.front().stride == 1;
  return isRun ? digits.front().size : 1;
}

bool fusec::tile::crossesLanes(ShiftOp shift) {
  ArrayRef<Digit> lanes = getLayout(shift.getType()).getLane();
  return llvm::any_of(lanes, [&](const Digit &digit) {
    return digit.axis == int64_t(shift.getAxis()) && digit.stride;
  });
}

LogicalResult ShiftOp::verify() {
  LayoutAttr layout = getLayout(getType());
  int64_t run = getRun(), axis = getAxis(), by = getBy();
  auto movesAlong = [&](const Digit &digit) {
    return digit.axis == axis && digit.stride && digit.size > 1;
  };
  if (llvm::any_of(layout.getReg().drop_front(run > 1 ? 1 : 0), movesAlong))
    return emitOpError("expected one register digit along the axis");
  ArrayRef<Digit> lanes = layout.getLane();
  if (!crossesLanes(*this)) {
    if (llvm::any_of(layout.getWarp(), movesAlong) || std::abs(by) >= run)
      return emitOpError() << "expected a distance below " << run
                           << " along an axis of registers, found " << by;
    return success();
  }
  if (lanes.size() != 1 || lanes.front() != Digit{32, run, axis})
    return emitOpError() << "expected the lane digit 32:" << run << ":" << axis;
  if (std::abs(by) >= 32 * run)
    return emitOpError() << "expected a distance below " << 32 * run
                         << ", found " << by;
  return success();
}

bool ReduceOp::endsInWarps() {
  auto from = cast<RankedTensorType>(getOperand(0).getType());
  auto to = cast<RankedTensorType>(getResult(0).getType());
  return getLayout(to) != getLayout(from).reduced(getAxes());
}

LogicalResult ReduceOp::verify() {
  for (auto [operand, result] : llvm::zip(getOperands(), getResults())) {
    auto from = cast<RankedTensorType>(operand.getType());
    auto to = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(from.getShape());
    for (int64_t axis : getAxes()) {
      if (axis < 0 || axis >= from.getRank())
        return emitOpError()
               << "axis " << axis << " is outside rank " << from.getRank();
      shape[axis] = 1;
    }
    LayoutAttr layout = getLayout(from).reduced(getAxes());
    if (endsInWarps() && getAxes().size() == 1) {
      int64_t axis = getAxes().front();
      layout = getLayout(from).perWarp(axis);
      shape[axis] = getLayout(from).countWarps(axis);
    }
    if (to.getShape() != ArrayRef(shape) || getLayout(to) != layout)
      return emitOpError("expected results of size 1 and reduced layout along "
                         "the axes, or of one element a warp");
  }
  if (getCombine().getNumArguments() != 2 * getNumOperands())
    return emitOpError() << "expected a region of " << 2 * getNumOperands()
                         << " arguments, found "
                         << getCombine().getNumArguments();
  return success();
}

LogicalResult SelectOp::verify() {
  auto from = cast<RankedTensorType>(getOperand().getType());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= from.getRank())
    return emitOpError() << "axis " << axis << " is outside rank "
                         << from.getRank();
  if (!from.getElementType().isInteger(32) &&
      !from.getElementType().isInteger(64))
    return emitOpError() << "expected integers of 32 or 64 bits, found "
                         << from.getElementType();
  if (getList().empty() || getList().getTypes() != getResults().getTypes())
    return emitOpError("expected results of the types of a list");
  for (Type type : getList().getTypes()) {
    auto to = cast<RankedTensorType>(type);
    if (to.getElementType() != from.getElementType() ||
        getLayout(to) != getLayout(from).perWarp(axis))
      return emitOpError()
             << "expected a list of one element a warp along axis " << axis;
  }
  auto coarse = cast<RankedTensorType>(getCoarse().getType());
  if (coarse.getShape() != from.getShape() ||
      getLayout(coarse) != getLayout(from))
    return emitOpError("expected coarse numbers in the operand's layout");
  TypeRange args = getMayEnter().getArgumentTypes();
  TypeRange found = getMayEnter().front().getTerminator()->getOperandTypes();
  if (args.size() != 2 || args[0] != coarse.getElementType() ||
      args[1] != from.getElementType() || found.size() != 1 ||
      !found[0].isInteger(1))
    return emitOpError("expected a region from a coarse number and an element "
                       "to i1");
  return success();
}

/// Checks the index arguments of a hole and their number.
static LogicalResult verifyHole(ContractOp op, Region &hole, unsigned arguments,
                                StringRef name) {
  if (hole.empty() || hole.getNumArguments() != arguments ||
      llvm::any_of(hole.getArguments().take_front(3),
                   [](BlockArgument arg) { return !arg.getType().isIndex(); }))
    return op.emitOpError()
           << "expected hole '" << name << "' to take three indices"
           << (arguments > 3 ? " and a tile" : "");
  return success();
}

/// Checks that every hole that deals with states has all of them.
static LogicalResult verifyStates(ContractOp op) {
  size_t count = op.getStates().size();
  if (op.getEpilogue().front().getTerminator()->getNumOperands() != count)
    return op.emitOpError()
           << "expected an epilogue that yields " << count << " states";
  int64_t rows = op.getRowStates();
  if (rows < 0 || size_t(rows) > count)
    return op.emitOpError()
           << "has " << count << " states, " << rows << " of them of rows";
  size_t axes = (rows > 0) + (size_t(rows) < count);
  if (op.getCounters().size() != axes ||
      op.getStatistics().size() != axes * kStatisticRegions)
    return op.emitOpError() << "expected counters and " << kStatisticRegions
                            << " holes for each of " << axes << " axes";
  struct Hole {
    Region &region;
    size_t arguments, results;
  };
  for (const StatisticHoles &axis : statisticHolesOf(op)) {
    size_t own = axis.states.size();
    for (Hole hole : {Hole{*axis.none, 0, own},
                      {*axis.join, 2 * own, own},
                      {*axis.finish, 2 + own, 0}})
      if (hole.region.getNumArguments() != hole.arguments ||
          hole.region.front().getTerminator()->getNumOperands() != hole.results)
        return op.emitOpError()
               << "expected a hole of " << hole.arguments << " arguments and "
               << hole.results << " results for " << own << " states of "
               << (axis.areColumns ? "columns" : "rows");
  }
  return success();
}

LogicalResult ContractOp::verify() {
  if (failed(verifyHole(*this, getLhs(), 3, "lhs")) ||
      failed(verifyHole(*this, getRhs(), 3, "rhs")) ||
      failed(
          verifyHole(*this, getEpilogue(), getPairBase() ? 5 : 4, "epilogue")))
    return failure();
  if (getPairBase() && (!getLhsMatrix() || !getRhsMatrix()))
    return emitOpError("expected matrices as the operands of two products");
  for (auto [hole, base] : {std::pair<Region *, Value>(&getLhs(), getLhsBase()),
                            {&getRhs(), getRhsBase()}})
    if (hole->front().getTerminator()->getNumOperands() != (base ? 2u : 1u))
      return emitOpError() << "expected an operand hole to yield "
                           << (base ? "offset and validity" : "elements");
  return verifyStates(*this);
}

int64_t ContractOp::getDivisor(BlockArgument argument) {
  unsigned position = argument.getArgNumber();
  Region *hole = argument.getOwner()->getParent();
  // Groups of as many columns as the hole takes.
  if (hole == &getEpilogue())
    return position == 2
               ? getLayout(cast<RankedTensorType>(
                               getEpilogue().getArgument(3).getType()))
                     .getRegisterCount()
               : 1;
  if (hole != &getLhs() && hole != &getRhs())
    return 1;
  bool isLhs = hole == &getLhs();
  bool isOuter = isLhs ? getLhsOuter() : getRhsOuter();
  if (position != (isOuter ? 1u : 2u))
    return 1;
  return isLhs ? getLhsVector() : getRhsVector();
}

LogicalResult CopyOp::verify() {
  if (getTarget().getType().getElementType() != getElementType())
    return emitOpError("copies ") << getElementType() << " to an array of "
                                  << getTarget().getType().getElementType();
  if (isShared(getSource()) || !isShared(getTarget()))
    return emitOpError("expects a global source and a shared target");
  return success();
}

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getType());
  if (!type.hasStaticShape() || type.getMemorySpaceAsInt() != kSharedSpace)
    return emitOpError("expected a static memref in memory space 3");
  return success();
}
