//===- EpilogueHole.cpp - what an epilogue hole reads and stores ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "EpilogueHole.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

bool cuda::Address::add(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Block *owner = arg.getOwner();
    if (owner == &hole && arg.getArgNumber() < 3)
      return coordinates[arg.getArgNumber()] = true;
    if (auto loop = dyn_cast<scf::ForOp>(owner->getParentOp());
        loop && arg == loop.getInductionVar())
      return loops.insert(arg), true;
    // From outside: extents, but not accumulators.
    return owner != &hole && !isa<MemRefType>(arg.getType());
  }
  Operation *op = value.getDefiningOp();
  if (!hole.findAncestorOpInBlock(*op) || isa<arith::ConstantOp>(op))
    return !isa<MemRefType>(value.getType());
  if (ops.contains(op))
    return true;
  if (!isPure(op) || op->getNumRegions() || op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperands(), [&](Value v) { return add(v); }))
    return false;
  ops.insert(op);
  return true;
}

bool cuda::canMask(Block &hole, DenseSet<Operation *> *reads) {
  auto result = hole.walk([&](Operation *op) {
    if (auto load = dyn_cast<simt::LoadOp>(op)) {
      Address address(hole);
      if (!address.add(load.getOffset()) ||
          (address.dependsOn(1) && address.dependsOn(2))) {
        if (!reads)
          return WalkResult::interrupt();
        reads->insert(op);
      }
      return WalkResult::advance();
    }
    if (isa<simt::StoreOp, memref::AllocaOp, memref::LoadOp, memref::StoreOp,
            scf::ForOp, scf::IfOp, scf::YieldOp, simt::YieldOp>(op) ||
        isPure(op))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

int64_t cuda::bytesRead(Block &hole, int64_t columns) {
  int64_t bytes = 0;
  hole.walk([&](simt::LoadOp load) {
    Address address(hole);
    bool isOne = address.add(load.getOffset()) && !address.dependsOn(2);
    auto type = cast<MemRefType>(load.getBuffer().getType());
    bytes += llvm::divideCeil(type.getElementTypeBitWidth(), 8) *
             (isOne ? 1 : columns);
  });
  return bytes;
}

simt::StoreOp cuda::turnedStore(Block &hole) {
  SmallVector<simt::StoreOp> stores;
  hole.walk([&](simt::StoreOp store) { stores.push_back(store); });
  auto results = cast<MemRefType>(hole.getArgument(3).getType());
  if (results.getNumElements() != 2 || stores.size() != 1 ||
      stores[0].getVector() != 2)
    return {};
  auto type = cast<MemRefType>(stores[0].getBuffer().getType());
  return type.getElementTypeBitWidth() == 16 ? stores[0] : simt::StoreOp();
}
