//===- SharedContext.h - many graphs in one context -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To make a context with all dialects takes longer than to read a small graph.
// Who reads many of them, one after the other, may give them one context and
// replace it now and then: what was uniqued in it stays until then.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_SHAREDCONTEXT_H
#define FUSEC_SESSION_SHAREDCONTEXT_H

#include "fusec/Session/Model.h"

namespace fusec::session {

/// As `parseModel(text, name)`, in a context made by `createContext` that
/// outlives the model; `Model::context` stays empty. Such a model can be
/// simplified and evaluated, not compiled for sharing among threads.
llvm::Expected<Model> parseModel(llvm::StringRef text, llvm::StringRef name,
                                 mlir::MLIRContext &context);

/// As `importModel(file, options, name)`, likewise.
llvm::Expected<Model> importModel(const onnx::Model &file,
                                  const onnx::ImportOptions &options,
                                  llvm::StringRef name,
                                  mlir::MLIRContext &context);

} // namespace fusec::session

#endif // FUSEC_SESSION_SHAREDCONTEXT_H
