//===- GraphControlOps.cpp - fusion, while, scan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Region ops: text form and clean-up of graph.fusion, and the agreement of
// block arguments and yielded values with operands and results.
//===----------------------------------------------------------------------===//
#include "GraphCombine.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

//===----------------------------------------------------------------------===//
// Agreement of regions with their op
//===----------------------------------------------------------------------===//

/// The graph.yield that ends the only block of `region`, or null. Runs before
/// the region itself is verified.
static YieldOp findYield(Region &region) {
  if (!region.hasOneBlock() || region.front().empty())
    return {};
  return dyn_cast<YieldOp>(region.front().back());
}

/// Checks one list of types against the wanted one; `what` names an entry.
static LogicalResult verifyTypes(Operation *op, StringRef what, TypeRange found,
                                 TypeRange wanted) {
  if (found.size() != wanted.size())
    return op->emitOpError() << "expected " << wanted.size() << " " << what
                             << "s, found " << found.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(found, wanted)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError()
             << "expected " << what << " " << i << " of type "
             << std::get<1>(pair) << ", found " << std::get<0>(pair);
  return success();
}

static LogicalResult verifyRegion(Operation *op, StringRef name, Region &region,
                                  TypeRange arguments, TypeRange yielded) {
  YieldOp yield = findYield(region);
  if (!yield)
    return op->emitOpError()
           << "expected a " << name << " of one block that ends in graph.yield";
  if (failed(verifyTypes(op, (name + " argument").str(),
                         region.getArgumentTypes(), arguments)))
    return failure();
  return verifyTypes(op, (name + " value").str(), yield.getOperandTypes(),
                     yielded);
}

//===----------------------------------------------------------------------===//
// FusionOp
//===----------------------------------------------------------------------===//

YieldOp FusionOp::getYield() { return cast<YieldOp>(getBody().front().back()); }

SmallVector<FusionOp, 0> FusionOp::getParts() {
  return SmallVector<FusionOp, 0>(getBody().front().getOps<FusionOp>());
}

SmallVector<FusionOp, 0> FusionOp::unpack() {
  SmallVector<FusionOp, 0> parts = getParts();
  for (auto [argument, input] :
       llvm::zip(getBody().getArguments(), getInputs()))
    argument.replaceAllUsesWith(input);
  for (FusionOp part : parts)
    part->moveBefore(*this);
  for (auto [result, value] : llvm::zip(getResults(), getYield().getValues()))
    result.replaceAllUsesWith(value);
  erase();
  return parts;
}

bool FusionOp::isChain() {
  return llvm::any_of(getParts(), [](FusionOp part) {
    return llvm::any_of(part.getInputs(), [](Value input) {
      return input.getDefiningOp<FusionOp>();
    });
  });
}

static LogicalResult verifyParts(FusionOp fusion) {
  SmallVector<FusionOp, 0> parts = fusion.getParts();
  if (parts.empty())
    return success();
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (!isa<FusionOp>(op))
      return op.emitOpError("is beside parts of a launch: expected fusions "
                            "only");
  return success();
}

LogicalResult FusionOp::verify() {
  if (failed(verifyRegion(*this, "body", getBody(), getInputs().getTypes(),
                          getResultTypes())))
    return failure();
  return verifyParts(*this);
}

/// `(%arg = %input, ...) attributes {...} : (types) -> types { ... }`
ParseResult FusionOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  auto parseInput = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inputs.emplace_back()));
  };
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(inputs, type.getInputs(), loc, result.operands))
    return failure();
  for (auto [argument, argumentType] : llvm::zip(arguments, type.getInputs()))
    argument.type = argumentType;
  result.addTypes(type.getResults());
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void FusionOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " : ";
  printer.printFunctionalType(getInputs().getTypes(), getResultTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/getNumResults() > 0);
}

namespace {
/// Drops inputs that the body ignores and repeats, and results nobody uses or
/// that repeat another or only pass an input through.
struct SimplifyFusion : OpRewritePattern<FusionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(FusionOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

/// Redirects repeated inputs to their first occurrence and results that are
/// known values to these.
static bool redirect(FusionOp op, PatternRewriter &rewriter) {
  bool changed = false;
  llvm::SmallDenseMap<Value, BlockArgument> firstOf;
  for (auto [input, argument] :
       llvm::zip(op.getInputs(), op.getBody().getArguments())) {
    auto [entry, isNew] = firstOf.try_emplace(input, argument);
    if (!isNew && !argument.use_empty()) {
      rewriter.replaceAllUsesWith(argument, entry->second);
      changed = true;
    }
  }
  llvm::SmallDenseMap<Value, Value> resultOf;
  for (auto [value, result] :
       llvm::zip(op.getYield().getValues(), op.getResults())) {
    auto argument = dyn_cast<BlockArgument>(value);
    Value known = argument ? op.getInputs()[argument.getArgNumber()]
                           : resultOf.try_emplace(value, result).first->second;
    if (known != result && !result.use_empty()) {
      rewriter.replaceAllUsesWith(result, known);
      changed = true;
    }
  }
  return changed;
}

LogicalResult SimplifyFusion::matchAndRewrite(FusionOp op,
                                              PatternRewriter &rewriter) const {
  bool changed = redirect(op, rewriter);
  SmallVector<Value> inputs, yields;
  SmallVector<Type> types;
  SmallVector<OpResult> results;
  YieldOp yield = op.getYield();
  for (auto [value, result] : llvm::zip(yield.getValues(), op.getResults())) {
    if (result.use_empty())
      continue;
    yields.push_back(value);
    types.push_back(result.getType());
    results.push_back(result);
  }
  // A body argument that only a dropped result yields is unused, too.
  llvm::BitVector dead(op.getInputs().size());
  for (BlockArgument argument : op.getBody().getArguments())
    if (llvm::all_of(argument.getUsers(),
                     [&](Operation *user) { return user == yield; }) &&
        !llvm::is_contained(yields, argument))
      dead.set(argument.getArgNumber());
  if (results.size() == op.getNumResults() && dead.none())
    return success(changed);

  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (!dead.test(i))
      inputs.push_back(input);
  auto slim = FusionOp::create(rewriter, op.getLoc(), types, inputs);
  slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(yields); });
  rewriter.inlineRegionBefore(op.getBody(), slim.getBody(),
                              slim.getBody().end());
  rewriter.modifyOpInPlace(
      slim, [&] { slim.getBody().front().eraseArguments(dead); });
  for (auto [old, fresh] : llvm::zip(results, slim.getResults()))
    rewriter.replaceAllUsesWith(old, fresh);
  rewriter.eraseOp(op);
  return success();
}

void FusionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyFusion>(context);
}

//===----------------------------------------------------------------------===//
// WhileOp
//===----------------------------------------------------------------------===//

LogicalResult WhileOp::verify() {
  int64_t maxTrips = getMaxTrips();
  if (maxTrips < 0)
    return emitOpError() << "expected max_trips >= 0, found " << maxTrips;
  if (failed(verifyTypes(*this, "result", getResultTypes(),
                         getInits().getTypes())))
    return failure();
  Type flag = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyRegion(*this, "condition", getCondition(),
                          getInits().getTypes(), flag)))
    return failure();
  return verifyRegion(*this, "body", getBody(), getInits().getTypes(),
                      getInits().getTypes());
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

/// Checks the leading size of a scanned input or stacked result and gives the
/// type of one slice.
static FailureOr<Type> sliceType(ScanOp op, StringRef what, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t trips = op.getTrips();
  if (tensor.getRank() == 0 || !shapes::sizesAgree(tensor.getDimSize(0), trips))
    return op.emitOpError() << "expected " << what << " with leading size "
                            << trips << ", found " << type;
  auto kept = llvm::to_vector(llvm::seq<int64_t>(1, tensor.getRank()));
  return Type(RankedTensorType::get(tensor.getShape().drop_front(),
                                    tensor.getElementType(),
                                    projectDims(tensor, kept)));
}

LogicalResult ScanOp::verify() {
  int64_t trips = getTrips();
  if (trips < 0)
    return emitOpError() << "expected trips >= 0, found " << trips;
  size_t carried = getInits().size();
  if (getNumResults() < carried)
    return emitOpError() << "expected at least " << carried
                         << " results, found " << getNumResults();
  SmallVector<Type> arguments(getInits().getTypes()), yielded(arguments);
  if (failed(verifyTypes(*this, "carried result",
                         TypeRange(getResultTypes()).take_front(carried),
                         arguments)))
    return failure();
  for (Type input : getInputs().getTypes()) {
    auto slice = sliceType(*this, "an input", input);
    if (failed(slice))
      return failure();
    arguments.push_back(*slice);
  }
  for (Type result : TypeRange(getResultTypes()).drop_front(carried)) {
    auto slice = sliceType(*this, "a stacked result", result);
    if (failed(slice))
      return failure();
    yielded.push_back(*slice);
  }
  return verifyRegion(*this, "body", getBody(), arguments, yielded);
}
