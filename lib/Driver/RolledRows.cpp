//===- RolledRows.cpp - rows whose columns may come in any order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decided on the graph, so that it holds for every schedule. Each value is
// demanded with permuted columns (within pieces of so many elements of its last
// dimension) or as it is. From the outputs backwards:
//
//   elementwise and movement   an operand that is read at the result's own
//                              column, or whole pieces before or behind it, has
//                              its columns permuted, too; one that is read at
//                              the same place for all columns is as it is
//   reduce                     likewise, and one that reduces whole rows may
//                              see them permuted and gives results as they are
//   any op                     of operands as they are gives results as they
//   are
//===----------------------------------------------------------------------===//
#include "RolledRows.h"
#include "LinearAccess.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using analysis::RegionForm;

static constexpr int64_t kVectorBytes = 16;
// Each row has one vector of two pieces.
static constexpr int64_t kLeastVectors = 8;
// Columns of the text are 32 bits wide.
static constexpr int64_t kMostColumns = int64_t(1) << 30;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
static int64_t lastSize(Value value) {
  RankedTensorType type = typeOf(value);
  return type.getRank() ? type.getShape().back() : 1;
}
static int64_t bytesOf(Value value) {
  return llvm::divideCeil(typeOf(value).getElementTypeBitWidth(), 8u);
}

namespace {
/// What is demanded of the values of a region if columns are permuted within
/// pieces of `columns`.
class Demands {
public:
  Demands(analysis::FactTable &facts, int64_t columns)
      : facts(facts), columns(columns) {}

  /// False if a value would be demanded in both ways, or in one that it has
  /// not.
  bool demand(Value value, bool isPermuted);
  bool propagate(Operation *op);
  bool isPermuted(Value value) const { return demands.lookup(value); }

private:
  bool hasPieces(Value value) const {
    int64_t size = lastSize(value);
    return !ShapedType::isDynamic(size) && size % columns == 0;
  }
  bool demandAll(Operation *op);
  /// Whether the last of `map` is `dim` up to whole pieces, and no other result
  /// depends on it.
  bool isColumn(AffineMap map, unsigned dim) const;
  /// Demands what `op` reads for columns `dim` of its loops.
  bool demandOperands(Operation *op, const analysis::OpFacts &fact,
                      unsigned dim);

  analysis::FactTable &facts;
  int64_t columns;
  llvm::DenseMap<Value, bool> demands;
};
} // namespace

bool Demands::demand(Value value, bool isPermuted) {
  if (isPermuted && matchPattern(value, m_Constant())) {
    DenseElementsAttr constant;
    return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
  }
  if (value.getDefiningOp<graph::ConstantOp>() ||
      (isPermuted && !hasPieces(value)))
    return !isPermuted;
  return demands.try_emplace(value, isPermuted).first->second == isPermuted;
}

bool Demands::demandAll(Operation *op) {
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return demand(operand, false); });
}

bool Demands::isColumn(AffineMap map, unsigned dim) const {
  unsigned last = map.getNumResults() - 1;
  for (unsigned i = 0; i < last; ++i)
    if (analysis::usesDimIn(map.getResult(i), dim, dim + 1))
      return false;
  AffineExpr column = getAffineDimExpr(dim, map.getContext());
  return simplifyAffineExpr(map.getResult(last) - column, map.getNumDims(), 0)
      .isMultipleOf(columns);
}

bool Demands::demandOperands(Operation *op, const analysis::OpFacts &fact,
                             unsigned dim) {
  for (auto [operand, access] :
       llvm::zip_equal(op->getOperands(), fact.space.operands)) {
    if (!access.map || access.isIndirect)
      return false;
    bool isRead = analysis::usesDimIn(access.map, dim, dim + 1);
    if ((isRead && !isColumn(access.map, dim)) || !demand(operand, isRead))
      return false;
  }
  return true;
}

bool Demands::propagate(Operation *op) {
  if (isa<graph::ConstantOp>(op))
    return true;
  bool isPermuted = demands.lookup(op->getResult(0));
  for (Value result : op->getResults())
    if (demands.lookup(result) != isPermuted)
      return false;
  const analysis::OpFacts *fact = facts.get(op);
  if (!fact || fact->space.operands.size() != op->getNumOperands())
    return !isPermuted && demandAll(op);
  bool isReduce = isa<graph::ReduceOp>(op);
  if (!isPermuted) {
    // Whole rows that are reduced may have their columns in any order.
    if (isReduce && typeOf(op->getOperand(0)).getRank() &&
        hasPieces(op->getOperand(0)))
      for (unsigned dim = fact->numParallel(); dim < fact->loops.size(); ++dim)
        if (isColumn(fact->space.operands.front().map, dim))
          return demand(op->getOperand(0), true);
    return demandAll(op);
  }
  bool isKnown = fact->role == graph::FusionRole::elementwise || isReduce ||
                 isa<graph::ConcatOp>(op) || movementOf(facts, op);
  return isKnown && fact->numParallel() > 0 &&
         demandOperands(op, *fact, fact->numParallel() - 1);
}

bool driver::canRoll(int64_t columns, int64_t unit) {
  return unit && columns % unit == 0 && columns <= kMostColumns &&
         columns >= kLeastVectors * unit;
}

/// Rows of `columns` elements in the buffers of `fusion` that `isRow` names.
static cuda::RowBuffers makeRows(graph::FusionOp fusion, int64_t columns,
                                 llvm::function_ref<bool(Value)> isRow) {
  cuda::RowBuffers result;
  SmallVector<Value> buffers(fusion.getBody().getArguments());
  llvm::append_range(buffers,
                     fusion.getBody().front().getTerminator()->getOperands());
  for (Value buffer : buffers) {
    result.isRow.push_back(isRow(buffer));
    if (result.isRow.back())
      result.unit = std::max(result.unit, kVectorBytes / bytesOf(buffer));
  }
  if (canRoll(columns, result.unit))
    result.columns = columns;
  return result;
}

/// The rows of `fusion` in pieces of `columns`, if there are any.
static cuda::RowBuffers rowsOf(analysis::FactTable &facts,
                               graph::FusionOp fusion, const RegionForm &form,
                               int64_t columns) {
  Demands demands(facts, columns);
  for (const analysis::RegionOutput &output : form.outputs)
    if (!demands.demand(output.value,
                        !output.isUniform || form.reduced.empty()))
      return {};
  for (Operation *op : llvm::reverse(form.ops))
    if (!demands.propagate(op))
      return {};
  return makeRows(fusion, columns,
                  [&](Value buffer) { return demands.isPermuted(buffer); });
}

/// Whether every element is made of those at its own place and of what is one
/// for all: then the whole is one row.
static bool isStream(analysis::FactTable &facts, const RegionForm &form) {
  auto isFull = [&](Value value) {
    return typeOf(value).getShape() == ArrayRef<int64_t>(form.parallel);
  };
  return form.reduced.empty() && llvm::all_of(form.ops, [&](Operation *op) {
           if (isa<graph::ConstantOp>(op))
             return cast<graph::ConstantOp>(op).getValue().isSplat();
           const analysis::OpFacts *fact = facts.get(op);
           if (!fact || !op->getNumOperands() || !isFull(op->getResult(0)))
             return false;
           return fact->role == graph::FusionRole::elementwise
                      ? llvm::all_of(op->getOperands(), isFull)
                      : movementOf(facts, op) &&
                            typeOf(op->getOperand(0)).getNumElements() == 1;
         });
}

cuda::RowBuffers driver::findRolledRows(analysis::FactTable &facts,
                                        graph::FusionOp fusion,
                                        const RegionForm &form) {
  using analysis::KernelKind;
  SmallVector<int64_t> spine = form.spine();
  if ((form.kind != KernelKind::Pointwise && form.kind != KernelKind::Row) ||
      spine.empty() || llvm::any_of(spine, ShapedType::isDynamic))
    return {};
  // The text of a stream does not depend on its size, and says so whatever it
  // is.
  if (isStream(facts, form))
    return makeRows(
        fusion, ShapedType::getNumElements(spine), [&](Value buffer) {
          return typeOf(buffer).getShape() == ArrayRef<int64_t>(spine);
        });
  // The longest first: where they end is a vector of two pieces.
  std::set<int64_t, std::greater<>> sizes;
  for (Operation *op : form.ops)
    for (Value value : op->getOperands())
      if (int64_t size = lastSize(value); size > 0 && spine.back() % size == 0)
        sizes.insert(size);
  for (int64_t columns : sizes)
    if (cuda::RowBuffers rows = rowsOf(facts, fusion, form, columns);
        rows.columns)
      return rows;
  return {};
}
