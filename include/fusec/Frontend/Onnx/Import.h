//===- Import.h - from ONNX to the graph dialect ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a Model (Reader.h) into an MLIR module with one function of graph ops.
// Shapes are static: the caller binds what the file leaves open. Arithmetic on
// shapes and other small constants is done here, so that operators whose
// result type depends on a value (Reshape, Slice, ...) have it at hand.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FRONTEND_ONNX_IMPORT_H
#define FUSEC_FRONTEND_ONNX_IMPORT_H

#include "fusec/Frontend/Onnx/Model.h"
#include "fusec/Support/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::onnx {

/// What the caller decides about an import.
struct ImportOptions {
  /// Shapes of inputs by name; they override what the file says, with which
  /// they must agree in rank and in every fixed dimension.
  llvm::StringMap<std::vector<int64_t>> inputShapes;
  /// Sizes of symbolic dimensions by name.
  llvm::StringMap<int64_t> symbols;
  /// Inputs that are known: they become constants and are no longer inputs of
  /// the function.
  llvm::StringMap<HostTensor> boundInputs;
  /// Name of the function.
  std::string functionName = "main";

  /// Largest number of elements of a value that is computed at import.
  int64_t maxFoldElements = 4096;
  /// Elements computed at import in all.
  int64_t maxTotalFoldElements = int64_t(1) << 24;
  /// Elements of constants that operators make in all: positions of gathers,
  /// matrices of transforms, windows. A one-sided DFT of 8192 points fits.
  int64_t maxMadeElements = (int64_t(1) << 26) + (int64_t(1) << 17);
  /// Largest tensor, in bytes, that any operator may make.
  int64_t maxTensorBytes = kDefaultMaxTensorBytes;
  /// Calls of model functions inside each other.
  unsigned maxFunctionDepth = 32;
  /// Nodes imported in all, those of functions and branches included.
  size_t maxNodes = size_t(1) << 20;
  /// Accept external data files with several hard links.
  bool allowHardLinks = false;
};

/// The oldest and the newest version of the default operator set that are
/// understood.
inline constexpr int64_t kOldestOpset = 7;
inline constexpr int64_t kNewestOpset = 28;

/// Why an import failed.
enum class ImportFailure : uint8_t {
  None,
  /// The file contradicts itself, the format or what the caller binds.
  Malformed,
  /// The file may be right; fusec does not do what it asks for.
  Unsupported,
};

/// Imports `model` into `context` (the graph and func dialects are loaded).
/// Arguments and results of the function are in the file's order and carry the
/// file's names as `graph.name` attributes. Failures are diagnostics at the
/// node's location that name the node; the module is then null and `failure`,
/// if given, says of which kind. `model` is not needed afterwards. Thread safe
/// as far as the context is.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const Model &model,
                                              mlir::MLIRContext *context,
                                              const ImportOptions &options = {},
                                              ImportFailure *failure = nullptr);

/// Names of the supported operators of the default domain, sorted.
std::vector<llvm::StringRef> supportedOperators();

} // namespace fusec::onnx

#endif // FUSEC_FRONTEND_ONNX_IMPORT_H
