//===- BuilderLoops.cpp - while and scan ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body is built in a region of its own, which becomes part of the loop when
// all that it yields is known. Its values end with it.
//===----------------------------------------------------------------------===//
#include "Builder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

std::unique_ptr<Region> GraphMaker::makeBody(TypeRange arguments, size_t yields,
                                             BodyFiller fill) {
  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  OpBuilder::InsertionGuard guard(ops);
  ops.setInsertionPointToEnd(&block);
  std::string name = stepName;
  size_t first = values.size();
  llvm::SmallVector<fusec_value> handles;
  for (Type type : arguments) {
    values.push_back(block.addArgument(type, loc));
    handles.push_back(static_cast<fusec_value>(values.size()));
  }
  llvm::SmallVector<fusec_value> results(yields, FUSEC_NO_VALUE);
  ++bodyDepth;
  fill(handles, results);
  --bodyDepth;
  stepName = name;
  llvm::SmallVector<Value> yielded;
  for (fusec_value result : results)
    yielded.push_back(use(result));
  std::fill(values.begin() + first, values.end(), Value());
  if (hasFailed)
    return nullptr;
  graph::YieldOp::create(ops, loc, yielded);
  return region;
}

llvm::SmallVector<Value>
GraphMaker::makeLoop(llvm::StringRef name, ValueRange operands, TypeRange types,
                     ArrayRef<NamedAttribute> attributes,
                     llvm::MutableArrayRef<std::unique_ptr<Region>> bodies) {
  driver::DiagnosticCollector diagnostics(getContext());
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  for (std::unique_ptr<Region> &body : bodies)
    state.addRegion(std::move(body));
  Operation *op = ops.create(state);
  if (succeeded(verify(op)))
    return llvm::SmallVector<Value>(op->getResults());
  op->erase();
  fail(llvm::toString(diagnostics.take("the bodies do not fit")));
  return {};
}

/// The caller's list of values; false and latched if it is not right.
static bool readValues(GraphMaker &b, const fusec_value *list, size_t count,
                       llvm::SmallVectorImpl<Value> &result) {
  constexpr size_t kMaxValues = 1 << 16;
  if (count > kMaxValues || (count && !list)) {
    b.fail("expected a list of at most " + llvm::Twine(kMaxValues) +
           " values, found " + llvm::Twine(count) +
           (list ? "" : " without a list"));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    Value value = b.use(list[i]);
    if (!value)
      return false;
    result.push_back(value);
  }
  return true;
}

void fusec_builder_while(fusec_builder *builder, const fusec_value *inits,
                         size_t count, int64_t max_trips,
                         fusec_loop_body condition, fusec_loop_body body,
                         void *user, fusec_value *results) {
  buildSteps(builder, "while", results, count, [&](GraphMaker &b) {
    llvm::SmallVector<Value> values, none;
    if (!readValues(b, inits, count, values))
      return none;
    if (!condition || !body) {
      b.fail("expected a condition and a body, found null");
      return none;
    }
    TypeRange types = ValueRange(values).getTypes();
    std::unique_ptr<Region> bodies[2];
    auto run = [&](fusec_loop_body callback) {
      return [&, callback](llvm::ArrayRef<fusec_value> arguments,
                           llvm::MutableArrayRef<fusec_value> yields) {
        callback(builder, arguments.data(), yields.data(), user);
      };
    };
    if (!(bodies[0] = b.makeBody(types, 1, run(condition))) ||
        !(bodies[1] = b.makeBody(types, count, run(body))))
      return none;
    return b.makeLoop("graph.while", values, types,
                      b.integer("maxTrips", max_trips), bodies);
  });
}

/// The type of one slice of each scanned value; false and latched if one has
/// no leading dimension of `trips`.
static bool sliceTypes(GraphMaker &b, ValueRange scanned, int64_t trips,
                       llvm::SmallVectorImpl<Type> &types) {
  for (Value value : scanned) {
    DimsRef shape = GraphMaker::shapeOf(value);
    if (shape.empty() || shape.front() != trips) {
      b.fail("expected inputs with a leading dimension of " +
             llvm::Twine(trips) + ", found rank " + llvm::Twine(shape.size()) +
             (shape.empty() ? llvm::Twine("")
                            : " and size " + llvm::Twine(shape.front())));
      return false;
    }
    types.push_back(b.tensor(b.dtypeOf(value), shape.drop_front()));
  }
  return true;
}

void fusec_builder_scan(fusec_builder *builder, const fusec_value *inits,
                        size_t num_carried, const fusec_value *inputs,
                        size_t num_inputs, int64_t trips, int reverse,
                        size_t num_stacked, fusec_loop_body body, void *user,
                        fusec_value *results) {
  buildSteps(
      builder, "scan", results, num_carried + num_stacked, [&](GraphMaker &b) {
        llvm::SmallVector<Value> operands, none;
        if (!readValues(b, inits, num_carried, operands) ||
            !readValues(b, inputs, num_inputs, operands))
          return none;
        if (!body || trips < 0) {
          b.fail("expected a body and 0 or more trips, found " +
                 llvm::Twine(trips));
          return none;
        }
        ValueRange all(operands);
        llvm::SmallVector<Type> arguments(
            all.take_front(num_carried).getTypes());
        if (!sliceTypes(b, all.drop_front(num_carried), trips, arguments))
          return none;
        std::unique_ptr<Region> region =
            b.makeBody(arguments, num_carried + num_stacked,
                       [&](llvm::ArrayRef<fusec_value> values,
                           llvm::MutableArrayRef<fusec_value> yields) {
                         body(builder, values.data(), yields.data(), user);
                       });
        if (!region)
          return none;
        llvm::SmallVector<Type> types(all.take_front(num_carried).getTypes());
        for (Value slice :
             region->front().getTerminator()->getOperands().drop_front(
                 num_carried)) {
          Dims shape = {trips};
          llvm::append_range(shape, GraphMaker::shapeOf(slice));
          types.push_back(b.tensor(b.dtypeOf(slice), shape));
          if (!types.back())
            return none;
        }
        NamedAttribute attributes[] = {
            b.integer("trips", trips), b.flag("reverse", reverse != 0),
            b.attribute("operandSegmentSizes",
                        Builder(b.getContext())
                            .getDenseI32ArrayAttr(
                                {int32_t(num_carried), int32_t(num_inputs)}))};
        return b.makeLoop("graph.scan", operands, types, attributes, region);
      });
}
