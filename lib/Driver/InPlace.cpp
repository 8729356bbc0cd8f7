//===- InPlace.cpp - outputs that may be an input -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decided on the block program, which says what each thread reads and writes:
// the accesses of both buffers use the same offset tile, so the same thread
// has the same element in the same register, and the loads come first. No
// other thread may hold that element, so the tile's layout does not replicate.
//===----------------------------------------------------------------------===//
#include "InPlace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

/// No two places of the layout hold one element.
static bool isInjective(tile::LayoutAttr layout, ArrayRef<int64_t> shape) {
  auto moves = [](ArrayRef<tile::Digit> digits) {
    return llvm::all_of(digits, [](const tile::Digit &digit) {
      return digit.size == 1 || digit.stride != 0;
    });
  };
  // Digits that all move and have as many places as the tile has elements.
  return moves(layout.getReg()) && moves(layout.getLane()) &&
         moves(layout.getWarp()) && moves(layout.getCluster()) &&
         layout.getRegisterCount() * layout.getLaneCount() *
                 layout.getWarpCount() * layout.getClusterCount() ==
             ShapedType::getNumElements(shape);
}

/// Threads of lanes, warps and blocks beyond those of the layout repeat others.
static bool usesAllThreads(tile::LayoutAttr layout, tile::KernelOp kernel) {
  return layout.getLaneCount() * layout.getWarpCount() ==
             int64_t(kernel.getThreads()) &&
         layout.getClusterCount() == int64_t(kernel.getCluster().value_or(1));
}

/// The stores to `out`: one, or one in each branch of a condition, of which a
/// thread runs one.
static SmallVector<tile::StoreOp, 2> exclusiveStores(Value out) {
  SmallVector<tile::StoreOp, 2> stores;
  for (Operation *user : out.getUsers()) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store || stores.size() == 2)
      return {};
    stores.push_back(store);
  }
  if (stores.size() == 2 &&
      (!isa<scf::IfOp>(stores[0]->getParentOp()) ||
       stores[0]->getParentOp() != stores[1]->getParentOp() ||
       stores[0]->getBlock() == stores[1]->getBlock()))
    return {};
  return stores;
}

/// Whether `store` writes what this thread alone reads of its buffer.
static bool isOwn(tile::KernelOp kernel, tile::StoreOp store) {
  auto type = cast<RankedTensorType>(store.getOffsets().getType());
  tile::LayoutAttr layout = tile::getLayout(type);
  return isInjective(layout, type.getShape()) && usesAllThreads(layout, kernel);
}

static bool mayShare(tile::KernelOp kernel, Value in, Value out) {
  SmallVector<tile::StoreOp, 2> stores = exclusiveStores(out);
  if (stores.empty() || in.use_empty() ||
      !llvm::all_of(stores,
                    [&](tile::StoreOp store) { return isOwn(kernel, store); }))
    return false;
  return llvm::all_of(in.getUsers(), [&](Operation *user) {
    auto load = dyn_cast<tile::LoadOp>(user);
    return load && llvm::any_of(stores, [&](tile::StoreOp store) {
             return load.getOffsets() == store.getOffsets() &&
                    load->getBlock() == store->getBlock() &&
                    load->isBeforeInBlock(store);
           });
  });
}

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}
static int64_t elementBits(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth();
}

SmallVector<InPlaceValue> driver::findInPlace(graph::FusionOp fusion,
                                              tile::KernelOp kernel) {
  SmallVector<InPlaceValue> found;
  Block &body = kernel.getBody().front();
  size_t inputs = fusion.getInputs().size();
  // Buffers by themselves, not in a struct.
  if (body.getNumArguments() < inputs + fusion.getNumResults() ||
      llvm::any_of(
          body.getArguments().take_front(inputs + fusion.getNumResults()),
          [](Value arg) { return !isa<MemRefType>(arg.getType()); }))
    return found;
  for (auto [o, result] : llvm::enumerate(fusion.getResults()))
    for (auto [i, input] : llvm::enumerate(fusion.getInputs())) {
      auto argument = dyn_cast<BlockArgument>(input);
      if (!argument || !argument.hasOneUse() ||
          !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
          shapeOf(argument) != shapeOf(result) ||
          elementBits(argument) != elementBits(result) ||
          llvm::any_of(found,
                       [&, i = argument](const InPlaceValue &pair) {
                         return pair.argument == i;
                       }) ||
          !mayShare(kernel, body.getArgument(i), body.getArgument(inputs + o)))
        continue;
      found.push_back({argument, result});
      break;
    }
  return found;
}
