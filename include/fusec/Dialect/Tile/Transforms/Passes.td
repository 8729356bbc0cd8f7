//===- Passes.td - passes on block programs ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VectorizePass : Pass<"fusec-tile-vectorize", "::fusec::tile::KernelOp"> {
  let summary = "widen loads and stores to vectors";
  let description = [{
    Sets `vector` of every `tile.load` and `tile.store` to the widest power of
    two for which neighbouring registers hold consecutive elements, the first
    offset of each group is a multiple of the width, and the mask is constant
    over a group. The facts come from the address arithmetic (AxisInfo.h).

    Requires: nothing. Guarantees: `vector` is 1 or proven. Runs after the last
    change to address arithmetic.

    Before: `tile.load %a[%i] : ... -> tensor<1024xf32, #layout of 4:1:0 ...>`
    after:  `tile.load %a[%i] {vector = 4 : i64} : ...`
  }];
}

def HoistLoadsPass : Pass<"fusec-tile-hoist-loads", "::fusec::tile::KernelOp"> {
  let summary = "move loads that a loop repeats out of it";
  let description = [{
    Loads of read-only buffers whose operands do not change in a loop of known,
    positive trip count are moved before it, and what is computed from them
    alone follows. A thread keeps at most 64 registers for them per loop.

    Requires: nothing; finds more after canonicalisation and CSE. Guarantees:
    the same values are loaded, each at most as often as before.

    Before: `scf.for ... { %w = tile.load %weights[%zero] ... }`
    after:  `%w = tile.load %weights[%zero] ...  scf.for ... { }`
  }];
}

def LoadEarlyPass : Pass<"fusec-tile-load-early", "::fusec::tile::KernelOp"> {
  let summary = "begin loads ahead of reductions that they do not wait for";
  let description = [{
    Loads of read-only buffers that follow a reduction in its block and need no
    result of one move to behind the last load before it, with the arithmetic
    of their addresses. What a thread then holds across the reductions of the
    block is at most 48 registers.

    Requires: nothing; finds more after canonicalisation and CSE. Guarantees:
    the same values are loaded, each as often as before.

    Before: `%x = tile.load %a[%i] ...  %s = tile.reduce %x ...  %g = tile.load %gamma[%j] ...`
    after:  `%x = tile.load %a[%i] ...  %g = tile.load %gamma[%j] ...  %s = tile.reduce %x ...`
  }];
}

#endif // FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_TD
