//===- Importer.h - from Model to a function of graph ops -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the nodes of graphs, branches and functions in their order, keeps the
// names in scope and hands each node to its operator's import.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_IMPORTER_H
#define FUSEC_LIB_FRONTEND_ONNX_IMPORTER_H

#include "Operator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace fusec::onnx::importer {

/// The names of one graph; branches see those around them.
struct Scope {
  const Scope *parent = nullptr;
  /// A null value is an optional function input that the call omitted.
  llvm::DenseMap<llvm::StringRef, Val> values;

  /// Null if the name is unknown.
  const Val *find(llvm::StringRef name) const;
  /// Fails if the graph has the name already.
  void define(llvm::StringRef name, Val val, Emitter &emit);
};

class Importer {
public:
  Importer(const Model &model, mlir::MLIRContext *context,
           const ImportOptions &options);

  /// Null after a failure.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// Why `run` failed. What only the verifier of the result refuses does not
  /// fit together in the file.
  ImportFailure failure(bool succeeded) const {
    return succeeded || emit.failed() ? emit.kind() : ImportFailure::Malformed;
  }

  /// The values of a tensor; external data is read from the model's folder.
  Val decode(const Tensor &tensor);
  /// Imports a branch of control flow, or one round of a loop, in line.
  llvm::SmallVector<Val> importBranch(const Graph &graph,
                                      llvm::ArrayRef<Val> inputs,
                                      const Scope &around,
                                      const AttributeScope *attributes);

private:
  /// Opset versions by normalised domain.
  using Opsets = llvm::StringMap<int64_t>;

  bool collectOpsets(llvm::ArrayRef<OpsetId> ids, Opsets &out);
  bool collectFunctions();
  bool addInitializers(const Graph &graph, Scope &scope);
  /// Fails unless the input is a tensor.
  bool requireTensor(const ValueInfo &input);
  /// The type of an input with everything bound, or null.
  mlir::RankedTensorType inputType(const ValueInfo &input);
  std::optional<int64_t> inputDim(const ValueInfo &input, size_t d,
                                  const std::vector<int64_t> *given);
  bool addInputs(Scope &scope, mlir::func::FuncOp function);
  bool checkBinding(const ValueInfo &input, const HostTensor &bound);
  bool importNodes(llvm::ArrayRef<Node> nodes, Scope &scope,
                   const Opsets &opsets, const AttributeScope *attributes);
  void importNode(const Node &node, Scope &scope, const Opsets &opsets,
                  const AttributeScope *attributes);
  void callFunction(const Node &node, const Function &callee, Scope &scope,
                    const AttributeScope *attributes);
  bool resolveAttributes(const Node &node, const Function &callee,
                         const AttributeScope *outer, AttributeScope &inner);
  bool finishFunction(mlir::func::FuncOp function, const Scope &scope);
  void enterModel() { emit.enterNode(builder.getUnknownLoc(), "model"); }

  const Model &model;
  const ImportOptions &options;
  mlir::OpBuilder builder;
  Emitter emit;
  Opsets modelOpsets;
  const Opsets *currentOpsets = nullptr;
  llvm::StringMap<const Function *> functions;
  llvm::SmallVector<const Function *> callStack;
  size_t importedNodes = 0;
};

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_IMPORTER_H
