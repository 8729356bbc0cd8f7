//===- Model.h - graph files ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_MODEL_H
#define FUSEC_LIB_TOOL_MODEL_H

#include "ToolError.h"
#include "fusec/Session/Model.h"
#include "fusec/Support/HostTensor.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::onnx {
struct Model;
}

namespace fusec::tool {

using session::Model;

/// What the user says about a file's inputs, by name.
struct Bindings {
  llvm::StringMap<std::vector<int64_t>> shapes;
  /// Sizes of symbolic dimensions.
  llvm::StringMap<int64_t> dims;
  /// Inputs that become constants.
  llvm::StringMap<HostTensor> values;
};

/// A graph file that was read; models are made from it as often as wanted.
class ModelFile {
public:
  /// Reads `path`: .onnx, or MLIR text (.mlir, or - for stdin).
  static llvm::Expected<ModelFile> open(llvm::StringRef path);
  ModelFile(ModelFile &&);
  ~ModelFile();

  bool isOnnx() const { return onnx != nullptr; }
  /// Names of the inputs that a caller supplies, in order; empty for MLIR.
  std::vector<std::string> onnxInputs() const;
  /// True if the declared shape of ONNX input `name` leaves a size open.
  bool isDynamic(llvm::StringRef name) const;

  /// Fails (Unsupported) on inputs that are no tensors or have a type that
  /// fusec lacks.
  llvm::Error checkInputTypes() const;

  /// Makes the model. Unsized dimensions are an error that names the option
  /// which gives them a size.
  llvm::Expected<Model> load(const Bindings &bindings = {}) const;

private:
  ModelFile();
  llvm::Error checkBindings(const Bindings &bindings) const;

  std::string path;
  std::unique_ptr<onnx::Model> onnx;
  std::string text;
};

/// "f32 1x3x224x224", "f32 scalar".
std::string describe(DType dtype, llvm::ArrayRef<int64_t> shape);
/// "1x3x224x224", "scalar".
std::string describeShape(llvm::ArrayRef<int64_t> shape);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_MODEL_H
