//===- Explanation.h - how `fusec explain` shows a plan ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts are session::Explanation; here is what the machine adds to them and
// how they are written.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_EXPLANATION_H
#define FUSEC_LIB_TOOL_EXPLANATION_H

#include "Report.h"
#include "fusec/Session/Explanation.h"

namespace fusec::tool {

using session::EdgeEntry;
using session::Explanation;
using session::KernelCode;
using session::KernelEntry;
using session::OpEntry;
using session::SiblingEntry;

/// How to explain.
struct ExplainOptions {
  driver::CompileOptions compile;
  /// Look neither for NVRTC nor for a GPU: the same on every machine.
  bool planOnly = false;
  /// Compile each kernel by itself, three times, and say how long that takes.
  bool compileTimes = false;
  std::shared_ptr<runtime::DiskCache> cache = {};
  /// Told what is being done; may be empty.
  std::function<void(llvm::StringRef)> progress = {};
};

/// Plans `file` and compiles it as far as it goes: a plan without code is of
/// use too. Looks for a GPU of the wanted kind to measure its bandwidth.
llvm::Expected<Explanation> explainModel(const ModelFile &file,
                                         const Bindings &bindings,
                                         const ExplainOptions &options);

/// "add*2 exp".
std::string opList(llvm::ArrayRef<OpEntry> ops);

std::string toText(const Explanation &explanation);
/// Text for Graphviz.
std::string toDot(const Explanation &explanation);
/// One page that needs no network. `title` is shown.
std::string toHtml(const Explanation &explanation, llvm::StringRef title);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_EXPLANATION_H
