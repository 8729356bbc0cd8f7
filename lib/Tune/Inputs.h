//===- Inputs.h - what candidates are run on --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TUNE_INPUTS_H
#define FUSEC_LIB_TUNE_INPUTS_H

#include "fusec/Runtime/Device.h"
#include "fusec/Tune/Search.h"

namespace fusec::tune {

/// Fills a tensor on a device by data that depends on `input`, its position,
/// alone. Large ones repeat with a period that is no size of anything.
llvm::Error fillInput(runtime::Device &device, void *memory,
                      const runtime::TensorSpec &spec, Data data,
                      uint64_t input);

} // namespace fusec::tune

#endif // FUSEC_LIB_TUNE_INPUTS_H
