//===- GraphInterfaces.td - what passes may know of an op --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner and every lowering see ops only through these interfaces, so
// that a new operator never edits them. Helper classes are in Element.h.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD

include "mlir/IR/OpBase.td"

def FusibleOpInterface : OpInterface<"FusibleOpInterface"> {
  let cppNamespace = "::fusec::graph";
  let description = [{
    An op whose result elements are functions of operand elements. All results
    have one shape, the parallel part of the iteration space.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the value of element `index` of result `result`. `index` has one
      value per result dimension, all of the builder's carrier. Values have the
      *compute type* of their tensor's element type (`ElementBuilder::computeType`);
      the caller rounds. Must be total: any in-range index gives a defined value
      for any operand contents, and out-of-range operand reads are masked.
    }], "::mlir::Value", "buildElement",
      (ins "::fusec::graph::ElementBuilder &":$builder, "unsigned":$result,
           "::mlir::ValueRange":$index, "::fusec::graph::ElementReader &":$reader)>,
    InterfaceMethod<[{
      The loops of the op: sizes of parallel (result) and reduced dimensions and
      how each operand is indexed by them.
    }], "::fusec::graph::IterationSpace", "getIterationSpace", (ins)>,
    InterfaceMethod<"What the op is to the planner.",
      "::fusec::graph::FusionRole", "getFusionRole", (ins)>,
    InterfaceMethod<[{
      True if operands must be rounded to their element type before the op even
      in `default` mode, because the op is discontinuous or an explicit cast.
    }], "bool", "readsRounded", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Estimated machine instructions to make one result element from operand
      elements in registers (one for an add, about 10 for exp2, 30 for erf).
      For ops with reduced axes: per element of the whole iteration space.
    }], "int64_t", "getElementCost", (ins), [{}], [{ return 1; }]>,
  ];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface", [FusibleOpInterface]> {
  let cppNamespace = "::fusec::graph";
  let description = [{
    An op with reduced axes: a combine object (identity, lift, combine, finish)
    over the iteration space. `combine` is associative up to rounding and
    commutative; schedules may split, reorder in a fixed way and merge.
    State values have the types `getStateTypes` gives.
  }];
  let methods = [
    InterfaceMethod<"Scalar types of the running state.",
      "::llvm::SmallVector<::mlir::Type>", "getStateTypes", (ins)>,
    InterfaceMethod<"The state of an empty reduction.",
      "::llvm::SmallVector<::mlir::Value>", "buildIdentity",
      (ins "::fusec::graph::ElementBuilder &":$builder)>,
    InterfaceMethod<[{
      The state of the single point (`parallel`, `reduced`) of the iteration
      space; identity where the point reads padding.
    }], "::llvm::SmallVector<::mlir::Value>", "buildLift",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::ValueRange":$parallel,
           "::mlir::ValueRange":$reduced, "::fusec::graph::ElementReader &":$reader)>,
    InterfaceMethod<"Merges two states.",
      "::llvm::SmallVector<::mlir::Value>", "buildCombine",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::ValueRange":$lhs,
           "::mlir::ValueRange":$rhs)>,
    InterfaceMethod<[{
      combine(state, lift(point)); ops override it to contract multiply and add.
    }], "::llvm::SmallVector<::mlir::Value>", "buildAccumulate",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::ValueRange":$state,
           "::mlir::ValueRange":$parallel, "::mlir::ValueRange":$reduced,
           "::fusec::graph::ElementReader &":$reader), [{}], [{
        auto lifted = $_op.buildLift(builder, parallel, reduced, reader);
        return $_op.buildCombine(builder, state, lifted);
      }]>,
    InterfaceMethod<[{
      Not 0: a state is the sorted list of the that many greatest integers, and
      a lifted point is one of them before identities. A point that is not
      above the last of a list need not be combined with it.
    }], "int64_t", "getSelected", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<[{
      Where points are selected: a number of the point that takes few
      instructions and decides about most of them (`buildMayEnter`).
    }], "::mlir::Value", "buildCoarse",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::ValueRange":$parallel,
           "::mlir::ValueRange":$reduced, "::fusec::graph::ElementReader &":$reader), [{}], [{
        llvm_unreachable("selects nothing");
      }]>,
    InterfaceMethod<[{
      False (i1) for no point above `last`, the last of a list, nor for any while
      that is the least integer.
    }], "::mlir::Value", "buildMayEnter",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::Value":$coarse,
           "::mlir::Value":$last), [{}], [{
        llvm_unreachable("selects nothing");
      }]>,
    InterfaceMethod<"Result `result` from the final state.",
      "::mlir::Value", "buildFinish",
      (ins "::fusec::graph::ElementBuilder &":$builder, "::mlir::ValueRange":$state,
           "unsigned":$result)>,
  ];
}

def CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::fusec::graph";
  let description = [{
    An op that is defined by a graph of other graph ops. The definition is what
    every target computes; nothing may be matched to the composite that its
    decomposition would not give.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the equivalent ops before this op and returns one value per result.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD
