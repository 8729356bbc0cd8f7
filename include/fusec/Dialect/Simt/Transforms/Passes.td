//===- Passes.td - passes on thread programs ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_TD
#define FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReassociateIndexPass : Pass<"fusec-simt-reassociate-index", "::fusec::simt::KernelOp"> {
  let summary = "separate what loops change in an address from what they do not";
  let description = [{
    Every sum of products with constants over `index` is rewritten as
    (terms that no loop changes) + (terms that loops change) + constant. The
    first part moves out of the loops; the rest is a literal once the loops over
    registers are unrolled. Neighbouring accesses are then one base and
    literals, so equal ones are recognised as equal by the CUDA compiler.

    Requires: index arithmetic that does not overflow in any order (offsets are
    below 2^31, or 64 bits wide). Guarantees: equal values. Runs before LICM.

    Before: `((%r + %lane) * 64 + %kh * 64) + %col`
    after:  `(%lane * 64 + %col) + (%r * 64 + %kh * 64)`
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_TD
