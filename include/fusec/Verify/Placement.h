//===- Placement.h - where a caller holds its tensors -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results must not depend on how memory is laid out: inputs with strides and
// offsets, buffers off alignment, outputs in place of inputs.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_VERIFY_PLACEMENT_H
#define FUSEC_VERIFY_PLACEMENT_H

#include "fusec/Runtime/Executable.h"
#include "llvm/ADT/SmallVector.h"

namespace fusec::verify {

/// One tensor in a buffer of its own.
struct TensorPlace {
  /// Elements before the lowest one.
  int64_t offset = 0;
  /// Elements between neighbours, as runtime::TensorView has them; no two
  /// elements share memory. Empty: dense and row-major. For inputs only.
  llvm::SmallVector<int64_t> strides = {};
};

/// All tensors of a run.
struct Placement {
  /// One per input and output.
  std::vector<TensorPlace> inputs, outputs;
  /// Outputs take the memory of inputs where the program allows it
  /// (Program::aliases) and the input is dense.
  bool inPlace = false;
};

/// As runtime::runWithHostData, with tensors placed so. What lies around
/// inputs is not zero; an error says so if what lies around an output changed.
llvm::Expected<std::vector<std::vector<std::byte>>>
runPlaced(const std::shared_ptr<const runtime::Executable> &executable,
          llvm::ArrayRef<llvm::ArrayRef<std::byte>> inputs,
          const Placement &placement);

} // namespace fusec::verify

#endif // FUSEC_VERIFY_PLACEMENT_H
