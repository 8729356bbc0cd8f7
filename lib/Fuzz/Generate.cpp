//===- Generate.cpp - random graphs with inputs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph is a few recipes, each of which builds on what is there, and the
// results that nothing reads.
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "fusec/Driver/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

static ArrayRef<WeightedRecipe> allRecipes() {
  static const SmallVector<WeightedRecipe> recipes = [] {
    SmallVector<WeightedRecipe> all;
    appendElementwiseRecipes(all);
    appendMovementRecipes(all);
    appendReductionRecipes(all);
    appendCompositeRecipes(all);
    appendPatternRecipes(all);
    appendControlRecipes(all);
    appendFloat8Recipes(all);
    return all;
  }();
  return recipes;
}

static Recipe chooseRecipe(Rng &rng) {
  int64_t total = 0;
  for (const WeightedRecipe &recipe : allRecipes())
    total += recipe.weight;
  int64_t roll = rng.below(total);
  for (const WeightedRecipe &recipe : allRecipes())
    if ((roll -= recipe.weight) < 0)
      return recipe.recipe;
  llvm_unreachable("the weights add up");
}

/// What the function returns: values that nothing reads, and a few that
/// something does.
static SmallVector<Value> chooseOutputs(Writer &w) {
  SmallVector<Value> outputs;
  for (Value value : llvm::reverse(w.values)) {
    bool isMade =
        !isa<BlockArgument>(value) && !value.getDefiningOp<graph::ConstantOp>();
    if (!isMade || outputs.size() >= 5)
      continue;
    if (value.use_empty() || w.rng.chance(1, 12))
      outputs.push_back(value);
  }
  if (outputs.empty())
    outputs.push_back(w.values.back());
  if (w.rng.chance(1, 30)) // an input, or a constant, as it is
    outputs.push_back(w.values.front());
  w.rng.shuffle(outputs);
  return outputs;
}

void fuzz::removeUnused(func::FuncOp function,
                        std::vector<HostTensor> &inputs) {
  Block &body = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  for (unsigned i = body.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      inputs.erase(inputs.begin() + i);
    }
}

llvm::Expected<Case> fuzz::generate(uint64_t seed) {
  Rng rng(seed);
  Case result;
  result.model.context = session::createContext();
  MLIRContext *context = result.model.context.get();
  driver::DiagnosticCollector diagnostics(context);
  Location loc = UnknownLoc::get(context);
  result.model.module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(result.model.module->getBody());
  auto function =
      func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  function.addEntryBlock();
  Writer writer(function, rng);
  Shape shape = writer.shape();
  DType dtype = writer.dtype();
  writer.fresh(shape, dtype);
  for (int64_t i = 0, n = rng.between(1, rng.chance(1, 4) ? 12 : 6); i < n; ++i)
    chooseRecipe(rng)(writer);
  SmallVector<Value> outputs = chooseOutputs(writer);
  func::ReturnOp::create(writer.builder, loc, outputs);
  removeUnused(function, writer.inputs);
  function.setType(
      builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                              llvm::to_vector(ValueRange(outputs).getTypes())));
  result.inputs = std::move(writer.inputs);
  if (failed(mlir::verify(*result.model.module)))
    return diagnostics.take("the graph is not valid");
  if (llvm::Error error = session::describeFunction(result.model))
    return error;
  return result;
}

llvm::Expected<Case> fuzz::clone(const Case &original) {
  llvm::Expected<session::Model> model = session::cloneModel(original.model);
  if (!model)
    return model.takeError();
  return Case{std::move(*model), original.inputs};
}
