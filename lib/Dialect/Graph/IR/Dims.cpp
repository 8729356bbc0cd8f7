//===- Dims.cpp - facts about dynamic dimensions --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form and rules of the tensor encoding #graph.dims.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace fusec::graph;

bool DimFact::admits(int64_t size) const {
  return size >= min && (ShapedType::isDynamic(max) || size <= max) &&
         size % divisor == 0;
}

Attribute fusec::graph::projectDims(RankedTensorType type,
                                    ArrayRef<int64_t> kept) {
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  if (!dims)
    return {};
  SmallVector<DimFact> facts;
  for (int64_t dim : kept)
    facts.push_back(dims.getFacts()[dim]);
  if (llvm::none_of(facts, [](const DimFact &fact) { return fact.symbol; }))
    return {};
  return DimsAttr::get(type.getContext(), ArrayRef<DimFact>(facts));
}

/// `?` or `"name" (in [min, max])? (by divisor)?`.
static ParseResult parseFact(AsmParser &parser, DimFact &fact) {
  if (succeeded(parser.parseOptionalQuestion()))
    return success();
  if (parser.parseAttribute(fact.symbol, NoneType::get(parser.getContext())))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("in"))) {
    if (parser.parseLSquare() || parser.parseInteger(fact.min) ||
        parser.parseComma())
      return failure();
    if (failed(parser.parseOptionalQuestion()) && parser.parseInteger(fact.max))
      return failure();
    if (parser.parseRSquare())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("by")))
    return parser.parseInteger(fact.divisor);
  return success();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimFact> facts;
  auto parseOne = [&] { return parseFact(parser, facts.emplace_back()); };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<DimsAttr>(loc, parser.getContext(),
                                     ArrayRef<DimFact>(facts));
}

static void printFact(AsmPrinter &printer, const DimFact &fact) {
  if (!fact.symbol) {
    printer << '?';
    return;
  }
  printer.printString(fact.symbol.getValue());
  bool isBounded = !ShapedType::isDynamic(fact.max);
  if (fact.min != 0 || isBounded) {
    printer << " in [" << fact.min << ", ";
    isBounded ? printer << fact.max : printer << '?';
    printer << ']';
  }
  if (fact.divisor != 1)
    printer << " by " << fact.divisor;
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getFacts(), printer,
                        [&](const DimFact &fact) { printFact(printer, fact); });
  printer << '>';
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<DimFact> facts) {
  for (const DimFact &fact : facts) {
    if (!fact.symbol && !(fact == DimFact()))
      return emitError() << "expected facts only about named dimensions";
    if (fact.symbol && fact.symbol.getValue().empty())
      return emitError() << "expected a non-empty dimension name";
    if (fact.min < 0 ||
        (!ShapedType::isDynamic(fact.max) && fact.max < fact.min))
      return emitError() << "expected 0 <= min <= max for dimension "
                         << fact.symbol;
    if (fact.divisor < 1)
      return emitError() << "expected a positive divisor for dimension "
                         << fact.symbol << ", found " << fact.divisor;
    for (const DimFact &other : facts)
      if (other.symbol == fact.symbol && !(other == fact))
        return emitError() << "conflicting facts about dimension "
                           << fact.symbol;
  }
  return success();
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getFacts().size())
    return emitError() << "#graph.dims has " << getFacts().size()
                       << " entries for a tensor of rank " << shape.size();
  for (auto [dim, size] : llvm::enumerate(shape))
    if (getFacts()[dim].symbol && !ShapedType::isDynamic(size))
      return emitError() << "#graph.dims names dimension " << dim
                         << ", whose size " << size << " is static";
  return success();
}
