//===- Evaluate.cpp - the reference evaluator -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a block op by op. Each block that runs has a scope that maps values to
// tensors and looks outwards for others; before it runs, the last op of the
// block that needs a value (itself or in its regions) is found, and the tensor
// is freed behind that op.
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Evaluate.h"
#include "Kernel.h"
#include "LastUses.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;

using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

Error Context::charge(int64_t steps) {
  if (steps <= limits.maxSteps - used) {
    used += steps;
    return Error::success();
  }
  return llvm::createStringError("evaluation takes more than %lld steps",
                                 static_cast<long long>(limits.maxSteps));
}

int64_t Context::steps(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size == 0)
      return 0;
    product =
        checkedMul(product, size).value_or(std::numeric_limits<int64_t>::max());
  }
  return product;
}

int64_t Context::bytesLeft() const {
  return std::min(limits.maxTensorBytes,
                  std::max<int64_t>(limits.maxLiveBytes - live, 0));
}

Expected<Tensor> Context::create(Value result, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(result.getType());
  std::optional<DType> dtype = graph::toDType(type.getElementType());
  if (!dtype)
    return llvm::createStringError("the result has no fusec element type");
  return Tensor::create(*dtype, shape, bytesLeft());
}

Expected<Tensor> Context::create(Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.hasStaticShape())
    return llvm::createStringError("the result needs a static shape");
  return create(result, type.getShape());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
using TensorRef = std::shared_ptr<const Tensor>;

int64_t bytesOf(const Tensor &tensor) { return 8 * tensor.elements(); }

/// Tensors of the values of one running block; counts their bytes in `live`.
class Scope {
public:
  Scope(const Scope *parent, int64_t &live) : parent(parent), live(live) {}
  Scope(const Scope &) = delete;
  ~Scope() {
    for (auto &[value, tensor] : tensors)
      live -= bytesOf(*tensor);
  }

  void set(Value value, Tensor tensor) {
    live += bytesOf(tensor);
    tensors[value] = std::make_shared<const Tensor>(std::move(tensor));
  }
  void erase(Value value) {
    auto found = tensors.find(value);
    if (found == tensors.end())
      return;
    live -= bytesOf(*found->second);
    tensors.erase(found);
  }
  TensorRef find(Value value) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (TensorRef tensor = scope->tensors.lookup(value))
        return tensor;
    return nullptr;
  }

private:
  const Scope *parent;
  int64_t &live;
  llvm::DenseMap<Value, TensorRef> tensors;
};

/// True if `tensor` is a value of `type`; dynamic dimensions take any size.
bool fits(const Tensor &tensor, Type type) {
  auto wanted = dyn_cast<RankedTensorType>(type);
  if (!wanted || graph::toDType(wanted.getElementType()) != tensor.dtype ||
      wanted.getRank() != tensor.rank())
    return false;
  for (auto [want, have] : llvm::zip_equal(wanted.getShape(), tensor.shape))
    if (!ShapedType::isDynamic(want) && want != have)
      return false;
  return true;
}

std::string describe(const Tensor &tensor) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << name(tensor.dtype) << "[";
  llvm::interleave(tensor.shape, stream, ",");
  stream << "]";
  return text;
}

std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// `error` with the op and where it stands in front.
Error locate(Operation *op, Error error) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << op->getName() << " at " << op->getLoc() << ": "
         << llvm::toString(std::move(error));
  return llvm::createStringError(text);
}

class Evaluator : public Context {
public:
  explicit Evaluator(const EvaluateOptions &options) : Context(options) {}

  Expected<std::vector<Tensor>>
  runRegion(Region &region, std::vector<Tensor> arguments) override {
    if (!region.hasOneBlock())
      return llvm::createStringError(
          "expected a region of one block, found %zu",
          region.getBlocks().size());
    return runBlock(region.front(), std::move(arguments));
  }

  Expected<std::vector<Tensor>> runBlock(Block &block,
                                         std::vector<Tensor> arguments);
  Expected<std::vector<Tensor>> runOp(Operation *op,
                                      ArrayRef<const Tensor *> operands);

private:
  const Scope *innermost = nullptr;
};
} // namespace

Expected<std::vector<Tensor>>
Evaluator::runBlock(Block &block, std::vector<Tensor> arguments) {
  if (arguments.size() != block.getNumArguments())
    return llvm::createStringError("expected %u arguments, found %zu",
                                   block.getNumArguments(), arguments.size());
  Scope scope(innermost, live);
  for (auto [i, argument, value] :
       llvm::enumerate(block.getArguments(), arguments)) {
    if (!fits(value, argument.getType()))
      return llvm::createStringError(
          llvm::Twine("argument ") + llvm::Twine(i) + " must be " +
          describe(argument.getType()) + ", found " + describe(value));
    scope.set(argument, std::move(value));
  }
  auto dying = lastUses(block);
  llvm::SaveAndRestore<const Scope *> enter(innermost, &scope);
  for (Operation &op : block) {
    SmallVector<TensorRef> held;
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands()) {
      held.push_back(scope.find(operand));
      if (!held.back())
        return locate(&op, llvm::createStringError("an operand has no value"));
      operands.push_back(held.back().get());
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      std::vector<Tensor> results;
      for (const Tensor *operand : operands)
        results.push_back(*operand);
      return results;
    }
    Expected<std::vector<Tensor>> results = runOp(&op, operands);
    if (!results)
      return results;
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
      scope.set(value, std::move(tensor));
    if (auto found = dying.find(&op); found != dying.end())
      for (Value value : found->second)
        scope.erase(value);
  }
  return llvm::createStringError("a block has no terminator");
}

Expected<std::vector<Tensor>>
Evaluator::runOp(Operation *op, ArrayRef<const Tensor *> operands) {
  Kernel kernel = Registry::get().lookup(op);
  if (!kernel)
    return locate(op, llvm::createStringError("the evaluator has no such op"));
  int64_t steps = 1;
  for (const Tensor *operand : operands)
    steps += operand->elements();
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      return locate(op, llvm::createStringError("a result is no tensor"));
    if (type.hasStaticShape())
      steps = checkedAdd(steps, Context::steps(type.getShape()))
                  .value_or(std::numeric_limits<int64_t>::max());
  }
  if (Error error = charge(steps))
    return locate(op, std::move(error));
  Expected<std::vector<Tensor>> results = kernel(op, operands, *this);
  if (!results)
    return locate(op, results.takeError());
  for (auto [tensor, result] : llvm::zip_equal(*results, op->getResults())) {
    if (!fits(tensor, result.getType()))
      return locate(op,
                    llvm::createStringError(llvm::Twine("the result must be ") +
                                            describe(result.getType()) +
                                            ", found " + describe(tensor)));
    tensor.normalize(options().wide);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static Expected<std::vector<Tensor>> fromHost(ArrayRef<HostTensor> tensors,
                                              const EvaluateOptions &options) {
  std::vector<Tensor> result;
  for (const HostTensor &tensor : tensors) {
    Expected<Tensor> converted =
        Tensor::fromHost(tensor, options.maxTensorBytes);
    if (!converted)
      return converted.takeError();
    result.push_back(std::move(*converted));
  }
  return result;
}

static Expected<std::vector<HostTensor>>
toHost(Expected<std::vector<Tensor>> tensors, const EvaluateOptions &options) {
  if (!tensors)
    return tensors.takeError();
  std::vector<HostTensor> result;
  for (const Tensor &tensor : *tensors) {
    Expected<HostTensor> converted = tensor.toHost(options.wide);
    if (!converted)
      return converted.takeError();
    result.push_back(std::move(*converted));
  }
  return result;
}

Expected<std::vector<HostTensor>>
reference::evaluate(func::FuncOp function, ArrayRef<HostTensor> arguments,
                    const EvaluateOptions &options) {
  if (function.isExternal())
    return llvm::createStringError("the function has no body");
  Expected<std::vector<Tensor>> inputs = fromHost(arguments, options);
  if (!inputs)
    return inputs.takeError();
  Evaluator evaluator(options);
  return toHost(evaluator.runRegion(function.getBody(), std::move(*inputs)),
                options);
}

Expected<std::vector<HostTensor>>
reference::evaluateOp(Operation *op, ArrayRef<HostTensor> operands,
                      const EvaluateOptions &options) {
  if (operands.size() != op->getNumOperands())
    return llvm::createStringError("expected %u operands, found %zu",
                                   op->getNumOperands(), operands.size());
  Expected<std::vector<Tensor>> inputs = fromHost(operands, options);
  if (!inputs)
    return inputs.takeError();
  SmallVector<const Tensor *> pointers;
  for (auto [tensor, operand] : llvm::zip_equal(*inputs, op->getOperands())) {
    if (!fits(tensor, operand.getType()))
      return locate(op,
                    llvm::createStringError(llvm::Twine("an operand must be ") +
                                            describe(operand.getType()) +
                                            ", found " + describe(tensor)));
    pointers.push_back(&tensor);
  }
  Evaluator evaluator(options);
  return toHost(evaluator.runOp(op, pointers), options);
}
