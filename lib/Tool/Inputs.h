//===- Inputs.h - tensors for a run -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_INPUTS_H
#define FUSEC_LIB_TOOL_INPUTS_H

#include "Model.h"
#include "Options.h"

namespace fusec::tool {

/// Reads a tensor from a .npy or .pb (ONNX TensorProto) file. `as` is the
/// wanted type for .npy files, which have no name for some types.
llvm::Expected<HostTensor> readTensor(llvm::StringRef path,
                                      std::optional<DType> as = std::nullopt);

/// --input --inputs --seed.
std::vector<OptionSpec> inputOptionSpecs();

/// Files for inputs, before it is known what the inputs are.
struct InputFiles {
  /// In the order given, from --input FILE or --inputs DIR.
  std::vector<std::string> ordered;
  /// From --input NAME=FILE.
  std::vector<std::pair<std::string, std::string>> named;
  uint64_t seed = 0;
  bool hasSeed = false;

  bool empty() const { return ordered.empty() && named.empty(); }
};

llvm::Expected<InputFiles> parseInputs(const Arguments &arguments);

/// The files input_0.pb (or .npy), input_1.pb, ... of `folder`, in order.
std::vector<std::string> numberedFiles(llvm::StringRef folder,
                                       llvm::StringRef prefix);

/// Takes the shapes of inputs that the file leaves open and `bindings` do not
/// give from the input files.
llvm::Error bindShapes(const ModelFile &file, const InputFiles &inputs,
                       Bindings &bindings);

/// One tensor per input of `model`: from its file, else random. Fails where a
/// file's type or shape is not the input's, and for a seed if all are files.
llvm::Expected<std::vector<HostTensor>> makeInputs(const Model &model,
                                                   const InputFiles &inputs);

/// Fails unless `tensor` has the type and shape of `spec`; `from` says whose.
llvm::Error checkTensor(const runtime::TensorSpec &spec,
                        const HostTensor &tensor, const llvm::Twine &from);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_INPUTS_H
