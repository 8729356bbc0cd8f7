//===- Isolate.h - a launch by itself ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TUNE_ISOLATE_H
#define FUSEC_LIB_TUNE_ISOLATE_H

#include "fusec/Driver/Compile.h"

namespace fusec::tune {

/// The program of one launch of `program`, that of `kernel`: what its region
/// reads are inputs, what it makes are outputs. Fails on a launch of several
/// regions.
llvm::Expected<runtime::Program> isolate(const runtime::Program &program,
                                         const driver::KernelSummary &kernel);

} // namespace fusec::tune

#endif // FUSEC_LIB_TUNE_ISOLATE_H
