//===- Builder.h - making graph ops from the C API --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every builder function is `step(builder, "name", body)`. The body looks its
// operands up, works out the result's shape and makes ops; a null value means
// that it failed, and the first failure is latched with the step's name. Every
// op is verified as it is made, so a body checks only what the computing of its
// shapes relies on.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_BUILDER_H
#define FUSEC_LIB_API_BUILDER_H

#include "Objects.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Driver/Diagnostics.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

namespace fusec::api {

using Dims = llvm::SmallVector<int64_t, 6>;
using DimsRef = llvm::ArrayRef<int64_t>;

/// Makes the function of a graph. Shapes handed to its methods are static.
class GraphMaker {
public:
  explicit GraphMaker(std::shared_ptr<const Settings> settings);

  /// Latches "op N (name): message" unless something failed before, and gives
  /// the null value.
  mlir::Value fail(const llvm::Twine &message);

  /// The value behind a handle; null and latched if there is none.
  mlir::Value use(fusec_value value);
  static mlir::RankedTensorType typeOf(mlir::Value value);
  static DimsRef shapeOf(mlir::Value value);
  DType dtypeOf(mlir::Value value) const;

  /// A tensor type, or null and latched if its size is out of range.
  mlir::RankedTensorType tensor(DType dtype, DimsRef shape);
  mlir::RankedTensorType tensor(mlir::Type element, DimsRef shape);
  bool checkDType(fusec_dtype dtype);
  /// The caller's list of sizes.
  bool readShape(int32_t rank, const int64_t *shape, Dims &result);
  /// A dimension of a tensor of this rank, counted from the end if negative.
  bool readDim(int64_t dim, int64_t rank, int64_t &result);
  bool readDims(const int32_t *dims, int32_t count, int64_t rank, Dims &result);

  /// Makes and verifies an op with one result.
  mlir::Value make(llvm::StringRef name, mlir::ValueRange operands,
                   mlir::RankedTensorType type,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

  /// Calls back with the arguments of a body and a place for what it yields.
  using BodyFiller =
      llvm::function_ref<void(llvm::ArrayRef<fusec_value> arguments,
                              llvm::MutableArrayRef<fusec_value> yields)>;
  /// A loop's body of one block that ends in graph.yield; null after a failure.
  std::unique_ptr<mlir::Region> makeBody(mlir::TypeRange arguments,
                                         size_t yields, BodyFiller fill);
  /// Makes and verifies an op with bodies; nothing after a failure.
  llvm::SmallVector<mlir::Value>
  makeLoop(llvm::StringRef name, mlir::ValueRange operands,
           mlir::TypeRange types,
           llvm::ArrayRef<mlir::NamedAttribute> attributes,
           llvm::MutableArrayRef<std::unique_ptr<mlir::Region>> bodies);

  // Ops that several bodies need.
  mlir::Value constant(mlir::ElementsAttr value);
  /// A scalar: floats round, integers truncate and saturate.
  mlir::Value scalar(DType dtype, double value);
  mlir::Value broadcastTo(mlir::Value value, DimsRef shape);
  /// Broadcasts all to their common shape.
  bool unify(llvm::MutableArrayRef<mlir::Value> values);
  mlir::Value reshape(mlir::Value value, DimsRef shape);
  mlir::Value cast(mlir::Value value, DType dtype);

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return ops.getNamedAttr(name, value);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, DimsRef values) {
    return attribute(name, ops.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value) {
    return attribute(name, ops.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute real(llvm::StringRef name, double value) {
    return attribute(name, ops.getF64FloatAttr(value));
  }
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) {
    return attribute(name, ops.getBoolAttr(value));
  }

  /// Runs a body; the handle of its value.
  fusec_value step(const char *name, llvm::function_ref<mlir::Value()> body);
  /// The same without a value.
  void stepWithoutValue(const char *name, llvm::function_ref<void()> body);
  /// The same with several values; `results` has room for them.
  void
  stepWithValues(const char *name, llvm::MutableArrayRef<fusec_value> results,
                 llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type);
  void addOutput(llvm::StringRef name, mlir::Value value);
  void setScope(llvm::StringRef name);
  fusec_error *describe(fusec_value value, fusec_tensor_info *info);
  fusec_error *finish(fusec_graph **result);

  mlir::MLIRContext *getContext() { return ops.getContext(); }

private:
  std::shared_ptr<const Settings> settings;
  session::Model model;
  mlir::OpBuilder ops;
  mlir::func::FuncOp function;
  mlir::Location loc;
  std::string scope;
  /// By handle; null where the body that made them has ended.
  llvm::SmallVector<mlir::Value> values;
  /// Loop bodies that are being built.
  unsigned bodyDepth = 0;
  std::deque<TensorDescription> descriptions;
  llvm::SmallVector<mlir::Value> outputs;
  std::vector<std::string> inputNames, outputNames;
  llvm::StringSet<> usedInputs, usedOutputs;
  size_t steps = 0;
  std::string stepName;
  /// The first failure.
  std::string failure;
  bool hasFailed = false;
  bool finished = false;
};

/// `step` for a handle that may be null, with exceptions kept in.
fusec_value buildStep(fusec_builder *builder, const char *name,
                      llvm::function_ref<mlir::Value(GraphMaker &)> body);

/// The same for several values; those of a failed step are FUSEC_NO_VALUE.
void buildSteps(
    fusec_builder *builder, const char *name, fusec_value *results,
    size_t count,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(GraphMaker &)> body);

} // namespace fusec::api

struct fusec_builder {
  fusec::api::GraphMaker builder;
};

#endif // FUSEC_LIB_API_BUILDER_H
