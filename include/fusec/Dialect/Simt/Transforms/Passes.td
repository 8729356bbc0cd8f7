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

def NearMathPass : Pass<"fusec-simt-near-math", "::fusec::simt::KernelOp"> {
  let summary = "fewer instructions where results are rounded to 16 bits";
  let description = [{
    Arithmetic that is marked `contract` and `afn` belongs to a value that is
    rounded to 16 bits or fewer afterwards. A product and a sum become one
    `math.fma`; `1 + erf(x)` becomes `erfc(-x)`, which is exact also where the
    sum cancels, and `1 + tanh(x)` likewise `2 / (1 + 2^(-2x / ln 2))`, where
    factors of x = v + c v^3 go into its constants; a division by
    `1 + exp(-|x|)`, which lies in [1, 2], is marked `arcp` and needs no care
    about the range of its reciprocal.

    `1 + erf(x)` in f32 whose erf is marked `afn` alone is within 2^-21
    (`simt.one_plus_erf`) where exp(-x^2) is there to make it from.

    Requires: flags only where the value's type allows it. Guarantees: results
    within 2^-17 of what the marked ops say.

    Before: `%p = mulf %a, %b fastmath<contract,afn>; addf %p, %c fastmath<contract,afn>`
    after:  `math.fma %a, %b, %c`
  }];
  let dependentDialects = ["::fusec::simt::SimtDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def OverlapLaunchesPass : Pass<"fusec-simt-overlap-launches", "::fusec::simt::KernelOp"> {
  let summary = "kernels that may begin while the launch before them ends";
  let description = [{
    Puts `simt.grid_wait` before the first op that touches a buffer. Whatever is
    above it (where the thread is, addresses, shared arrays) is done while the
    launch before still runs. Kernels with a grid barrier stay as they are: they
    begin when all their blocks can.

    Requires: sm_90. Runs last: nothing is moved above the wait afterwards.
    Guarantees: no access of a buffer before the wait, in any kernel that has it.

    Before: `%x = arith.muli %block, %c; simt.load 4 %arg0[%x], ...`
    after:  `%x = arith.muli %block, %c; simt.grid_wait; simt.load 4 %arg0[%x], ...`
  }];
}

#endif // FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_TD
