//===- Report.h - results for people and programs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_REPORT_H
#define FUSEC_LIB_TOOL_REPORT_H

#include "Session.h"
#include "llvm/Support/JSON.h"

namespace fusec::tool {

using session::jsonText;
using session::toJson;

/// {"name", "dtype", "shape"}.
llvm::json::Object toJson(const runtime::TensorSpec &spec);

/// "12 ops -> 3 launches of 2 kernels; 1.5 MB -> 0.4 MB moved; ...".
std::string toText(const FusionSummary &summary);

/// "3.2 MB".
std::string bytesText(double bytes);

/// The first `count` elements: "0.1 0.2 ...".
std::string elementsText(const HostTensor &tensor, int64_t count);

/// An output by name with type, shape, first elements, sum and checksum.
void printOutput(llvm::raw_ostream &os, const runtime::TensorSpec &spec,
                 const HostTensor &tensor);
llvm::json::Object toJson(const runtime::TensorSpec &spec,
                          const HostTensor &tensor);

/// Prints `object` indented and ends the line.
void printJson(llvm::json::Object object);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_REPORT_H
