//===- TileOps.td - block programs on tiles ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_IR_TILEOPS_TD
#define FUSEC_DIALECT_TILE_IR_TILEOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fusec::tile";
  let summary = "Programs of one thread block, or one cluster of them, on tiles";
  let description = [{
    A `tile.kernel` is what one block of a launch does, or a cluster of blocks
    together if the kernel says so. A tile is a ranked
    tensor whose encoding is a `#tile.layout`: it says which thread and register
    hold which element. arith and math ops act on tiles elementwise; `scf.for`
    carries them; the ops here load, store, index, broadcast, reduce and
    synchronise. Addresses are arithmetic on index tiles.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "register, lane, warp and cluster digits of a tile";
  let description = [{
    See Layout.h. Digits are written `size:stride:axis`, fastest first:
    `#tile.layout<reg = [8:1:0, 2:2048:0], lane = [32:8:0], warp = [8:256:0]>`
    is 4096 elements in 16-byte vectors of 16-bit types, block-cyclic. Digits of
    `cluster` are the block's place in its cluster; without them every block of
    a cluster holds the same.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"Digit">:$reg,
    OptionalArrayRefParameter<"Digit">:$lane,
    OptionalArrayRefParameter<"Digit">:$warp,
    OptionalArrayRefParameter<"Digit">:$cluster);
  let assemblyFormat = [{`<` `reg` `=` `[` (`]`) : ($reg^ `]`)? `,` `lane` `=` `[` (`]`) : ($lane^ `]`)?
    `,` `warp` `=` `[` (`]`) : ($warp^ `]`)? (`,` `cluster` `=` `[` $cluster^ `]`)? `>`}];
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<Digit>":$reg, "::llvm::ArrayRef<Digit>":$lane,
                     "::llvm::ArrayRef<Digit>":$warp), [{
      return $_get($_ctxt, reg, lane, warp, ::llvm::ArrayRef<Digit>());
    }]>];
  let extraClassDeclaration = [{
    /// Elements each thread holds.
    int64_t getRegisterCount() const { return placeCount(getReg()); }
    /// Lanes (a power of two up to 32) and warps that hold elements.
    int64_t getLaneCount() const { return placeCount(getLane()); }
    int64_t getWarpCount() const { return placeCount(getWarp()); }
    /// Blocks of a cluster that hold elements.
    int64_t getClusterCount() const { return placeCount(getCluster()); }
    /// The layout of the tile reduced along `axes` (kept with size 1):
    /// registers drop the axes, lanes and warps replicate along them.
    LayoutAttr reduced(::llvm::ArrayRef<int64_t> axes) const;
    /// The layout of one element along `axis` for each warp and block of the
    /// cluster that hold elements there, all of its lanes alike.
    LayoutAttr perWarp(int64_t axis) const;
    /// How many elements along `axis` these are.
    int64_t countWarps(int64_t axis) const;
  }];
  let genVerifyDecl = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_IsTile : CPred<"::llvm::isa<::mlir::RankedTensorType>($_self) && ::llvm::isa_and_nonnull<::fusec::tile::LayoutAttr>(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">;
def Tile_Tile : Type<Tile_IsTile, "tile (tensor with #tile.layout encoding)", "::mlir::RankedTensorType">;
def Tile_IndexTile : Type<And<[Tile_IsTile, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isIndex()">]>, "index tile", "::mlir::RankedTensorType">;
def Tile_MaskTile : Type<And<[Tile_IsTile, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(1)">]>, "mask tile", "::mlir::RankedTensorType">;
// Buffers are flat; memory space 0 is global, 3 is shared by the block.
def Tile_Buffer : MemRefRankOf<[AnyType], [1]>;

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "the program of one thread block";
  let description = [{
    Block arguments: buffers (`readOnly` inputs first, then outputs, then
    scratch), then run-time extents of type index. `grid` and `extents` belong
    to the launch, not to the program: two kernels that differ only there are
    one text. Shared memory comes from `tile.alloc`. `scratch` gives the
    elements of each scratch buffer; the last `kept` of them are zero at the
    first launch and keep their contents between launches. `cluster`: that many
    blocks, neighbours along x, run the program together; `grid` and
    `tile.block_id` then count clusters.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$threads, I64Attr:$readOnly,
                       DenseI64ArrayAttr:$grid, DenseI64ArrayAttr:$extents,
                       OptionalAttr<DenseI64ArrayAttr>:$scratch, OptionalAttr<I64Attr>:$kept,
                       OptionalAttr<I64Attr>:$cluster);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_BlockIdOp : Tile_Op<"block_id", [Pure]> {
  let summary = "position of the block, or of its cluster, in the grid along dimension 0, 1 or 2";
  let arguments = (ins I64Attr:$dimension);
  let results = (outs Index:$result);
  let assemblyFormat = "$dimension attr-dict `:` type($result)";
}

def Tile_SlotOp : Tile_Op<"slot", [Pure]> {
  let summary = "a place of its own in the block for every element that a thread of it holds";
  let description = [{
    Counts from 0. The elements of the first register digit are neighbours, then
    come the threads, then the other registers: what a thread keeps there in
    shared memory is written and read in vectors, without a barrier.
  }];
  let results = (outs Tile_IndexTile:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_GridSizeOp : Tile_Op<"grid_size", [Pure]> {
  let summary = "the number of blocks of the launch";
  let description = "At most what `grid` of the kernel says: devices may hold fewer blocks at a time.";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "the tile coordinate along `axis` of every element";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Tile_IndexTile:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile of one scalar";
  let arguments = (ins AnyType:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile along its axes of size 1, or what warps have of their own";
  let description = [{
    The operand's layout is the result's reduced along those axes. Or it is
    `perWarp` along one axis: there it has an element for each warp, which the
    elements that the warp holds repeat.
  }];
  let arguments = (ins Tile_Tile:$operand);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ShiftOp : Tile_Op<"shift", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "element j is the operand's element j + by along `axis`";
  let description = [{
    Neighbours come from the thread's own registers and, across its ends, from
    other lanes of the warp. An element whose neighbour the warp does not hold
    is unspecified. Along `axis` a thread holds consecutive elements (the first
    register digit, stride 1) and so do the 32 lanes; |by| is less than what a
    warp holds.
  }];
  let arguments = (ins Tile_Tile:$operand, I64Attr:$by, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand `by` $by `axis` $axis attr-dict `:` type($operand)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Consecutive elements along `axis` in a thread's registers.
    int64_t getRun();
  }];
}

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "buffer elements at `offsets`, `other` where `mask` is false";
  let description = [{
    `vector` is the number of neighbouring registers served by one access; a
    value above 1 is set by `fusec-tile-vectorize` only, when offsets are
    consecutive and aligned and the mask is constant over such a group.
  }];
  let arguments = (ins Tile_Buffer:$buffer, Tile_IndexTile:$offsets, Optional<Tile_MaskTile>:$mask,
                       Optional<Tile_Tile>:$other, DefaultValuedAttr<I64Attr, "1">:$vector);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{$buffer `[` $offsets `]` (`mask` $mask^ `other` $other)? attr-dict `:` type($buffer) `,`
    type($offsets) (`,` type($mask)^ `,` type($other))? `->` type($result)}];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to buffer elements at `offsets` where `mask` holds";
  let description = "Replicated elements are written by one thread. `vector` as in `tile.load`.";
  let arguments = (ins Tile_Tile:$value, Tile_Buffer:$buffer, Tile_IndexTile:$offsets,
                       Optional<Tile_MaskTile>:$mask, DefaultValuedAttr<I64Attr, "1">:$vector);
  let assemblyFormat = [{$value `,` $buffer `[` $offsets `]` (`mask` $mask^)? attr-dict `:` type($value) `,`
    type($buffer) `,` type($offsets) (`,` type($mask)^)?}];
}

def Tile_CopyOp : Tile_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["offsets", "places"]>]> {
  let summary = "copies buffer elements to places in shared memory in the background";
  let description = [{
    Where `mask` does not hold, nothing is read and the place holds 0. A thread
    may read what it copied itself behind the `tile.copy_wait` of its group.
    `vector` as in `tile.load`, of both accesses.
  }];
  let arguments = (ins Tile_Buffer:$source, Tile_IndexTile:$offsets, Tile_Buffer:$target,
                       Tile_IndexTile:$places, Optional<Tile_MaskTile>:$mask,
                       DefaultValuedAttr<I64Attr, "1">:$vector);
  let assemblyFormat = [{$source `[` $offsets `]` `to` $target `[` $places `]` (`mask` $mask^)? attr-dict `:`
    type($source) `,` type($offsets) `,` type($target) (`,` type($mask)^)?}];
  let extraClassDeclaration = "::mlir::Type getElementType() { return getSource().getType().getElementType(); }";
  let hasVerifier = 1;
}

def Tile_CopyCommitOp : Tile_Op<"copy_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ends a group of copies, which may be empty";
  let assemblyFormat = "attr-dict";
}

def Tile_CopyWaitOp : Tile_Op<"copy_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all groups of copies but the newest `pending`";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SameVariadicOperandSize, SingleBlock]> {
  let summary = "combines tiles along `axes`, kept with size 1";
  let description = [{
    The region combines two states (one scalar per operand each) and ends in
    `tile.yield`. It must be associative up to rounding and commutative. The
    order is fixed by the layout: registers, then lanes, then warps, then the
    blocks of the cluster. A reduction over these stands at the top of the
    kernel, where all of them come once.

    Results of layout `perWarp` along the one axis keep an element for each warp
    there: no threads but those of a warp meet.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$operands, DenseI64ArrayAttr:$axes);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = [{$operands `axes` $axes attr-dict `:` type($operands) `->` type($results) $combine}];
  let extraClassDeclaration = [{
    /// Whether each warp has a result of its own.
    bool endsInWarps();
  }];
  let hasVerifier = 1;
}

def Tile_SelectOp : Tile_Op<"select", [Pure, SingleBlock]> {
  let summary = "the greatest integers of a tile and of a list, sorted";
  let description = [{
    The region gets an element of `coarse` and the last of the list and says
    whether (i1) the operand's element may be above that: it is computed where
    one of a few elements may.

    `list` and the results have, for each warp (and block of a cluster) that
    holds a part of `axis`, the greatest integers of that part so far, greatest
    first. Elements of the operand differ from each other and from the list's,
    but for the least integer, which stands for none.
  }];
  let arguments = (ins Tile_Tile:$operand, Tile_Tile:$coarse, Variadic<Tile_Tile>:$list, I64Attr:$axis);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$mayEnter);
  let assemblyFormat = [{$operand `where` $coarse `into` $list `axis` $axis attr-dict `:`
    type($operand) `,` type($coarse) `,` type($list) `->` type($results) $mayEnter}];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["ContractOp", "ReduceOp", "SelectOp"]>]> {
  let summary = "ends a region of a tile op";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in the block's shared memory, for the whole kernel";
  let description = "`dynamic`: of the memory that a launch asks for, which may be more than 48 KB.";
  let arguments = (ins UnitAttr:$dynamic);
  let results = (outs Tile_Buffer:$result);
  let assemblyFormat = "(`dynamic` $dynamic^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the block meet; shared memory is ordered";
  let assemblyFormat = "attr-dict";
}

def Tile_TicketOp : Tile_Op<"ticket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "true in the last of `count` blocks that come here";
  let description = [{
    `counters` (u32, kept) hold one counter per group of blocks, at `index`,
    which starts again when the last block has come. What any thread of the
    group's blocks wrote before is seen by the last block afterwards.
  }];
  let arguments = (ins Tile_Buffer:$counters, Index:$index, I64Attr:$count);
  let results = (outs I1:$result);
  let assemblyFormat = "$counters `[` $index `]` `of` $count attr-dict `:` type($counters)";
}

def Tile_GridBarrierOp : Tile_Op<"grid_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of all blocks of the launch meet";
  let description = [{
    What any thread wrote before is seen by all afterwards. All blocks of the
    launch run at the same time, `resident` of them on a multiprocessor: the
    kernel works for any number of blocks along dimension 0 and asks for it by
    `tile.grid_size`. `counters` (u32, kept) holds one word for all barriers.
  }];
  let arguments = (ins Tile_Buffer:$counters, I64Attr:$resident);
  let assemblyFormat = "$counters `resident` $resident attr-dict `:` type($counters)";
}

def Tile_ContractOp : Tile_Op<"contract", [AttrSizedOperandSegments]> {
  let summary = "a tensor-core or FMA main loop with typed holes";
  let description = [{
    A skeleton (docs/skeleton-contraction.md) computes
    acc[b, m, n] = sum over k of A(b, m, k) * B(b, k, n), added in f32, of
    8-bit integers in i32 modulo 2^32.
    Holes are regions whose tiles have register-only layouts:
    - `lhs` (b, m, k : index) and `rhs` (b, n, k : index). With a base buffer the
      operand is copied in 16-byte groups and the hole yields tiles of one
      element: the group's offset from the base and whether it is inside.
      Without, it yields `vector` operand elements of `elementType`: from k on,
      or from m (n) on if `outer` is set; that index is a multiple of `vector`.
      Coordinates past the extents are asked for and read as zero.
    - `epilogue` (b, m, n : index, acc : tile of 8 sums) stores the results of
      columns n .. n + 7 itself; n is a multiple of 8 and inside, the others may
      be past the end.
    - With `pairBase` there are two products: B of the second one is the matrix
      of `rhs`, which has a base, at another base, and `epilogue` takes its sums
      after those of the first.
    - With `states` the epilogue yields the states of reductions: the first
      `rowStates`, which are those of rows, over these columns (tiles of one
      element), the others, of columns, of each result (tiles like acc).
      `statistics` are three holes for the rows, if they have states, and then
      three for the columns: (1) () yields the states of nothing, (2) (states,
      states) those of both, as scalars, and (3) (b, m or n : index, states :
      tiles of one element) stores what is one value a row or column. Blocks
      keep the states of their parts in `states`, batches x parts x m or n
      elements; the last one of a row or column of tiles, by its `counters`
      (u32, kept), joins them in the order of parts.
    `config` are the fields of fusec::cuda::GemmConfig. `lhsMatrix` and
    `rhsMatrix` (fusec::cuda::GemmMatrix) say that an operand with a base is a
    whole strided matrix for each batch: what its hole yields, as numbers.
  }];
  let arguments = (ins Index:$batch, Index:$m, Index:$n, Index:$k,
                       Optional<Tile_Buffer>:$lhsBase, Optional<Tile_Buffer>:$rhsBase, Optional<Tile_Buffer>:$pairBase,
                       Variadic<Tile_Buffer>:$states, Variadic<Tile_Buffer>:$counters,
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
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The largest known divisor of an index argument of a hole.
    int64_t getDivisor(::mlir::BlockArgument argument);
  }];
}

#endif // FUSEC_DIALECT_TILE_IR_TILEOPS_TD
