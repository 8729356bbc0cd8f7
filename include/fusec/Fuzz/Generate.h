//===- Generate.h - random graphs with inputs -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUZZ_GENERATE_H
#define FUSEC_FUZZ_GENERATE_H

#include "fusec/Fuzz/Rng.h"
#include "fusec/Session/Model.h"
#include "fusec/Support/HostTensor.h"
#include "fusec/Verify/Placement.h"

namespace fusec::fuzz {

/// A graph and one tensor per argument.
struct Case {
  session::Model model;
  std::vector<HostTensor> inputs;
};

/// A valid graph of a few dozen ops at most, of all ops and element types of
/// the graph dialect, in awkward shapes and with special values. The same seed
/// gives the same case on every machine; versions of fusec may differ. An error
/// means a fault of the generator.
llvm::Expected<Case> generate(uint64_t seed);

/// Removes the ops of `function` that no output needs, and arguments that
/// nothing reads with their elements of `inputs`. The function's type is left
/// as it was.
void removeUnused(mlir::func::FuncOp function, std::vector<HostTensor> &inputs);

/// A copy in a context of its own.
llvm::Expected<Case> clone(const Case &original);

/// Values for a tensor: small, exact, wide, special or tied ones.
HostTensor randomValues(Rng &rng, DType dtype, llvm::ArrayRef<int64_t> shape);
/// Indices for an axis of `size`, mostly in range.
HostTensor randomIndices(Rng &rng, DType dtype, llvm::ArrayRef<int64_t> shape,
                         int64_t size);

/// Changes `subject` in a way that keeps what it computes: identities, views
/// back and forth, other ops that compute the same, constants for inputs and
/// the reverse, other orders of inputs and outputs, outputs twice, more
/// outputs. Returns for each output which one of the original it is, or -1 for
/// new ones, and what was done.
struct Move {
  std::vector<int64_t> outputs;
  std::string what;
};
llvm::Expected<Move> applyMoves(Case &subject, Rng &rng);

/// Places for the tensors of `subject`: dense ones off alignment, strided ones
/// with dimensions in any order, gaps, negative and zero strides, outputs in
/// place of inputs.
verify::Placement randomPlacement(Rng &rng, const Case &subject);

} // namespace fusec::fuzz

#endif // FUSEC_FUZZ_GENERATE_H
