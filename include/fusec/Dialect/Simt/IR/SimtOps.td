//===- SimtOps.td - programs of one thread -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_SIMT_IR_SIMTOPS_TD
#define FUSEC_DIALECT_SIMT_IR_SIMTOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::fusec::simt";
  let summary = "Programs of one GPU thread";
  let description = [{
    A `simt.kernel` is what each thread does, in scalar arith, math and scf ops.
    Register arrays are `memref.alloca`s in memory space 0 of static size,
    indexed by loop variables of loops that are unrolled. Buffers are memref
    arguments; shared memory is `simt.shared`. Each op here is one call of the
    prelude in generated text.
  }];
}

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;
def Simt_Buffer : MemRefRankOf<[AnyType], [1]>;

def Simt_KernelOp : Simt_Op<"kernel", [AutomaticAllocationScope, IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "the program of one thread";
  let description = [{
    Arguments, `grid`, `extents` and scratch as in `tile.kernel`. `wideOffsets`: offsets
    need 64 bits; otherwise index is 32 bits wide in generated text. `cluster`: blocks
    of a cluster; the grid and `simt.block_id` count blocks all the same.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$threads, I64Attr:$readOnly,
                       DenseI64ArrayAttr:$grid, DenseI64ArrayAttr:$extents, BoolAttr:$wideOffsets,
                       OptionalAttr<DenseI64ArrayAttr>:$scratch, OptionalAttr<I64Attr>:$kept,
                       OptionalAttr<I64Attr>:$cluster);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

class Simt_IdOp<string mnemonic, string what> : Simt_Op<mnemonic, [Pure]> {
  let summary = what;
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Simt_LaneOp : Simt_IdOp<"lane", "position of the thread in its warp">;
def Simt_WarpOp : Simt_IdOp<"warp", "position of the warp in its block">;
def Simt_BlockIdOp : Simt_Op<"block_id", [Pure]> {
  let summary = "position of the block in the grid along dimension 0, 1 or 2";
  let arguments = (ins I64Attr:$dimension);
  let results = (outs Index:$result);
  let assemblyFormat = "$dimension attr-dict `:` type($result)";
}

def Simt_ClusterRankOp : Simt_IdOp<"cluster_rank", "position of the block in its cluster">;
def Simt_GridSizeOp : Simt_IdOp<"grid_size", "the number of blocks of the launch">;

def Simt_SharedOp : Simt_Op<"shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "an array in shared memory: static, or part of what the launch asks for";
  let arguments = (ins UnitAttr:$dynamic);
  let results = (outs Simt_Buffer:$result);
  let assemblyFormat = "(`dynamic` $dynamic^)? attr-dict `:` type($result)";
}

def Simt_ClusterStoreOp : Simt_Op<"cluster_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes an element of the shared array of block number `rank` of the cluster";
  let description = [{
    Not before all blocks of the cluster have begun, and read behind a cluster
    barrier. With a `meeting` (elements of 4 or 8 bytes) it ends in the
    background and is read behind `simt.cluster_meet`.
  }];
  let arguments = (ins AnyType:$value, Simt_Buffer:$buffer, Index:$index, Index:$rank,
                       OptionalAttr<I64Attr>:$meeting);
  let assemblyFormat = [{$value `,` $buffer `[` $index `]` `of` $rank (`for` $meeting^)?
    attr-dict `:` type($value) `,` type($buffer)}];
}

// Effects of both kinds keep accesses on their side.
def Simt_ClusterArriveOp : Simt_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the first half of a barrier of the cluster that orders no memory: the block has begun";
  let description = "`meetings`: the bytes that come to each block for each meeting.";
  let arguments = (ins DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$meetings);
  let assemblyFormat = "(`meetings` $meetings^)? attr-dict";
}
def Simt_ClusterWaitOp : Simt_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the second half of `simt.cluster_arrive`";
  let assemblyFormat = "attr-dict";
}
def Simt_ClusterMeetOp : Simt_Op<"cluster_meet", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all that the blocks of the cluster store for a meeting has come to this block";
  let description = "No thread waits for another: less than a barrier, which waits for all that threads wrote.";
  let arguments = (ins I64Attr:$meeting);
  let assemblyFormat = "$meeting attr-dict";
}
def Simt_ClusterBarrierOp : Simt_Op<"cluster_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the cluster meet; the shared memory of its blocks is ordered";
  let assemblyFormat = "attr-dict";
}

def Simt_LoadOp : Simt_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "if `reg` is a multiple of `vector`, loads that many elements into registers from `reg` on";
  let description = [{
    registers[reg .. reg + vector) = buffer[offset ..) where `mask` holds, else
    all get `other`. One access of the whole width.
  }];
  let arguments = (ins Simt_Buffer:$buffer, Index:$offset, Simt_Buffer:$registers, Index:$reg,
                       Optional<I1>:$mask, Optional<AnyType>:$other, I64Attr:$vector);
  let assemblyFormat = [{$vector $buffer `[` $offset `]` `,` $registers `[` $reg `]` (`mask` $mask^ `other` $other)?
    attr-dict `:` type($buffer) `,` type($registers) (`,` type($other)^)?}];
}

def Simt_StoreOp : Simt_Op<"store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the converse of `simt.load`";
  let arguments = (ins Simt_Buffer:$buffer, Index:$offset, Simt_Buffer:$registers, Index:$reg,
                       Optional<I1>:$mask, I64Attr:$vector);
  let assemblyFormat = [{$vector $registers `[` $reg `]` `,` $buffer `[` $offset `]` (`mask` $mask^)?
    attr-dict `:` type($registers) `,` type($buffer)}];
}

def Simt_CopyOp : Simt_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts to copy `vector` elements, 4, 8 or 16 bytes, to a shared array; zeros where `mask` does not hold";
  let arguments = (ins Simt_Buffer:$source, Index:$offset, Simt_Buffer:$target, Index:$place,
                       Optional<I1>:$mask, I64Attr:$vector);
  let assemblyFormat = [{$vector $source `[` $offset `]` `to` $target `[` $place `]` (`mask` $mask^)?
    attr-dict `:` type($source) `,` type($target)}];
}

def Simt_CopyCommitOp : Simt_Op<"copy_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ends a group of copies, which may be empty";
  let assemblyFormat = "attr-dict";
}

def Simt_CopyWaitOp : Simt_Op<"copy_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all groups of copies but the newest `pending`";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Simt_ShuffleXorOp : Simt_Op<"shuffle_xor", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of the lane whose number differs by `mask`; all lanes take part";
  let arguments = (ins AnyType:$value, I64Attr:$mask);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $mask attr-dict `:` type($value)";
}

def Simt_ShuffleShiftOp : Simt_Op<"shuffle_shift", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of lane number + `by`; the own value if there is none; all lanes take part";
  let arguments = (ins AnyType:$value, I64Attr:$by);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $by attr-dict `:` type($value)";
}

def Simt_ShuffleFirstOp : Simt_Op<"shuffle_first", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of lane 0; all lanes take part";
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Simt_OnePlusErfOp : Simt_Op<"one_plus_erf", [Pure, SameOperandsAndResultType]> {
  let summary = "1 + erf(`operand`) within 2^-21, from `power`, exp(-operand^2)";
  let arguments = (ins F32:$operand, F32:$power);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand `,` $power attr-dict `:` type($result)";
}

// All lanes take part in what lanes do together, so it stays where it is.
def Simt_AnyOp : Simt_Op<"any", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "whether the condition holds in one lane of the warp; all lanes take part";
  let arguments = (ins I1:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

class Simt_ListOp<string mnemonic> : Simt_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let description = [{
    Lanes of a group differ in the bits from `low` up to but without `high` of
    their number (`low` equal to `high`: each is a group). All lanes of the warp
    take part. Of a list that is dealt out, lane i of g has the entries i, i + g
    and so on.
  }];
}
def Simt_DealOp : Simt_ListOp<"deal"> {
  let summary = "deals a list that all lanes of a group hold out to them";
  let arguments = (ins Simt_Buffer:$list, Simt_Buffer:$dealt, I64Attr:$low, I64Attr:$high);
  let assemblyFormat = "$list `to` $dealt `lanes` $low `to` $high attr-dict `:` type($list) `,` type($dealt)";
}
def Simt_CollectOp : Simt_ListOp<"collect"> {
  let summary = "the converse of `simt.deal`";
  let arguments = (ins Simt_Buffer:$dealt, Simt_Buffer:$list, I64Attr:$low, I64Attr:$high);
  let assemblyFormat = "$dealt `to` $list `lanes` $low `to` $high attr-dict `:` type($dealt) `,` type($list)";
}
def Simt_SelectOp : Simt_ListOp<"select"> {
  let summary = "merges the integers of a group of lanes into a sorted list that is dealt out to them";
  let description = [{
    The list has the `count` greatest of all, greatest first; `last` is the last
    of them. Elements differ from each other and from the list's, but for the
    least integer. Lanes as in `simt.deal`.
  }];
  let arguments = (ins Simt_Buffer:$elements, Simt_Buffer:$dealt, Simt_Buffer:$last, I64Attr:$count,
                       I64Attr:$low, I64Attr:$high);
  let assemblyFormat = [{$elements `into` $dealt `last` $last `of` $count `lanes` $low `to` $high attr-dict `:`
    type($elements) `,` type($dealt) `,` type($last)}];
}

def Simt_BarrierOp : Simt_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the block meet";
  let assemblyFormat = "attr-dict";
}

def Simt_TicketOp : Simt_Op<"ticket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes one of `count` tickets: 0, 1, .. in turn, then 0 again";
  let description = "Acquires and releases: who draws the last sees what all others wrote before.";
  let arguments = (ins Simt_Buffer:$counters, Index:$index, I64Attr:$count);
  let results = (outs I32:$result);
  let assemblyFormat = "$counters `[` $index `]` `of` $count attr-dict `:` type($counters)";
}

def Simt_GridBarrierOp : Simt_Op<"grid_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of all blocks of the launch meet";
  let description = "As `tile.grid_barrier`.";
  let arguments = (ins Simt_Buffer:$counters, I64Attr:$resident);
  let assemblyFormat = "$counters `resident` $resident attr-dict `:` type($counters)";
}

def Simt_GridWaitOp : Simt_Op<"grid_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the launches before this one have ended and their memory is visible";
  let description = [{
    Each thread runs it once, outside of control flow, before it touches global
    memory. A skeleton with barriers of its own waits behind setting them up
    when it follows.
  }];
  let assemblyFormat = "attr-dict";
}

def Simt_YieldOp : Simt_Op<"yield", [Pure, Terminator, ParentOneOf<["ContractOp"]>]> {
  let summary = "ends a hole";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Simt_ContractOp : Simt_Op<"contract", [AttrSizedOperandSegments]> {
  let summary = "a contraction skeleton with scalar holes";
  let description = [{
    As `tile.contract`, with thread code in the holes. `lhs` and `rhs` yield
    offset and validity if the operand has a base, else a register array of
    `vector` elements. `epilogue` takes (b, m, n : index, memref<8xf32>) and
    yields states of rows as scalars and those of columns as register arrays;
    the last of three `statistics` takes (b, m or n : index, memref<1x..> each).
  }];
  let arguments = (ins Index:$batch, Index:$m, Index:$n, Index:$k,
                       Optional<Simt_Buffer>:$lhsBase, Optional<Simt_Buffer>:$rhsBase, Optional<Simt_Buffer>:$pairBase,
                       Variadic<Simt_Buffer>:$states, Variadic<Simt_Buffer>:$counters,
                       I64Attr:$rowStates, TypeAttr:$elementType, DenseI64ArrayAttr:$config,
                       I64Attr:$lhsVector, BoolAttr:$lhsOuter, I64Attr:$rhsVector, BoolAttr:$rhsOuter,
                       OptionalAttr<DenseI64ArrayAttr>:$lhsMatrix, OptionalAttr<DenseI64ArrayAttr>:$rhsMatrix);
  let regions = (region SizedRegion<1>:$lhs, SizedRegion<1>:$rhs, SizedRegion<1>:$epilogue,
                        VariadicRegion<SizedRegion<1>>:$statistics);
  let assemblyFormat = [{`(` $batch `,` $m `,` $n `,` $k `)` $elementType
    (`lhsBase` $lhsBase^ `:` type($lhsBase))? (`rhsBase` $rhsBase^ `:` type($rhsBase))?
    (`pairBase` $pairBase^ `:` type($pairBase))?
    (`states` $states^ `:` type($states))? (`counters` $counters^ `:` type($counters))? attr-dict
    `lhs` $lhs `rhs` $rhs `epilogue` $epilogue `statistics` `(` $statistics `)`}];
}

#endif // FUSEC_DIALECT_SIMT_IR_SIMTOPS_TD
