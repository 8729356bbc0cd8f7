//===- Model.h - a graph in memory ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_MODEL_H
#define FUSEC_SESSION_MODEL_H

#include "fusec/Frontend/Onnx/Import.h"
#include "fusec/Runtime/Program.h"
#include "fusec/Session/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fusec::session {

/// A graph in memory: a module with one function of graph ops. Compiling
/// changes it.
struct Model {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Arguments and results with the names that the file gives them.
  std::vector<runtime::TensorSpec> inputs, outputs;

  mlir::func::FuncOp function();
};

/// A context with every dialect that graphs and their lowerings need. It has no
/// threads of its own.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Parses MLIR text; bytecode is refused. `name` is for messages.
llvm::Expected<Model> parseModel(llvm::StringRef text, llvm::StringRef name);

/// Imports an ONNX file whose sizes `options` settle; `name` is for messages.
llvm::Expected<Model> importModel(const onnx::Model &file,
                                  const onnx::ImportOptions &options,
                                  llvm::StringRef name);

/// A copy in a context of its own. Not thread-safe on one model.
llvm::Expected<Model> cloneModel(const Model &model);

/// Fills inputs and outputs from the module's only function. Fails
/// (Unsupported) on tensors without static shape.
llvm::Error describeFunction(Model &model);

/// The inputs of an ONNX graph without those that an initializer gives a value.
std::vector<const onnx::ValueInfo *> openInputs(const onnx::Model &file);

/// Fails (Unsupported) on inputs that are no tensors or have a type that fusec
/// lacks.
llvm::Error checkInputTypes(const onnx::Model &file);

/// The whole graph as one call of the reference evaluator. The program keeps
/// the model.
llvm::Expected<runtime::Program> referenceProgram(Model model);

} // namespace fusec::session

#endif // FUSEC_SESSION_MODEL_H
