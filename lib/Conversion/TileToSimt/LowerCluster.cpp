//===- LowerCluster.cpp - reductions over the blocks of a cluster ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LowerCluster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

bool tile_to_simt::spansCluster(tile::ReduceOp op) {
  return llvm::any_of(tile::getLayout(op.getOperand(0).getType()).getCluster(),
                      [&](const Digit &digit) {
                        return digit.size > 1 && digit.stride &&
                               llvm::is_contained(op.getAxes(), digit.axis);
                      });
}

void tile_to_simt::beginCluster(tile::KernelOp kernel, ThreadCode &code) {
  auto walk = kernel.walk([](tile::ReduceOp op) {
    return spansCluster(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    simt::ClusterArriveOp::create(code.builder, kernel.getLoc());
}

namespace {
/// Who sends what where: threads that hold copies of one state, the *replicas*,
/// share the blocks that it goes to.
struct Exchange {
  int64_t blocks, warps, lanes, replicas;
  Value warp, lane, replica;
};
} // namespace

static Exchange plan(Location loc, const BlockStates &states,
                     ThreadCode &code) {
  auto isKept = [&](const Digit &digit) { return !states.isReduced(digit); };
  auto isReduced = [&](const Digit &digit) { return states.isReduced(digit); };
  auto count = [&](ArrayRef<Digit> digits, bool reduced) {
    int64_t result = 1;
    for (const Digit &digit : digits)
      result *= states.isReduced(digit) == reduced ? digit.size : 1;
    return result;
  };
  ArrayRef<Digit> lanes = states.layout.getLane(),
                  warps = states.layout.getWarp();
  Exchange result;
  result.blocks = states.layout.getClusterCount();
  result.warps = count(warps, false);
  result.lanes = count(lanes, false);
  result.replicas = count(lanes, true) * count(warps, true);
  result.warp = narrowPlace(code, loc, warps, isKept, code.warp);
  result.lane = narrowPlace(code, loc, lanes, isKept, code.lane);
  Value among = narrowPlace(code, loc, warps, isReduced, code.warp);
  result.replica =
      code.add(loc, code.mul(loc, among, count(lanes, true)),
               narrowPlace(code, loc, lanes, isReduced, code.lane));
  return result;
}

void tile_to_simt::combineOverCluster(Location loc, const BlockStates &states,
                                      ThreadCode &code) {
  Exchange at = plan(loc, states, code);
  int64_t perBlock = at.warps * at.lanes * states.count;
  auto slot = [&](Value rank, Value kept) {
    Value place = code.add(loc, code.mul(loc, at.warp, at.lanes), at.lane);
    Value inBlock = code.add(loc, code.mul(loc, place, states.count), kept);
    return code.add(loc, code.mul(loc, rank, perBlock), inBlock);
  };
  // Of their own for every exchange, so that a fast block never writes over
  // what a slow one still reads.
  SmallVector<Value> shared;
  for (Value array : states.arrays)
    shared.push_back(simt::SharedOp::create(
        code.builder, loc,
        MemRefType::get({at.blocks * perBlock},
                        cast<MemRefType>(array.getType()).getElementType(),
                        MemRefLayoutAttrInterface(),
                        code.builder.getI64IntegerAttr(tile::kSharedSpace)),
        /*dynamic=*/true));
  if (!code.knowsCluster)
    simt::ClusterWaitOp::create(code.builder, loc);
  code.knowsCluster = true;
  auto send = [&](Value peer) {
    code.forEachRegister(loc, states.count, [&](Value kept) {
      for (auto [array, to] : llvm::zip(states.arrays, shared)) {
        Value value = memref::LoadOp::create(code.builder, loc, array, kept);
        simt::ClusterStoreOp::create(code.builder, loc, value, to,
                                     slot(code.rank, kept), peer);
      }
    });
  };
  for (int64_t first = 0; first < at.blocks; first += at.replicas) {
    Value peer = code.add(loc, at.replica, code.constant(loc, first));
    if (at.replicas <= at.blocks - first) {
      send(peer);
      continue;
    }
    Value isPeer =
        arith::CmpIOp::create(code.builder, loc, arith::CmpIPredicate::ult,
                              peer, code.constant(loc, at.blocks));
    auto branch = scf::IfOp::create(code.builder, loc, isPeer);
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPoint(branch.thenYield());
    send(peer);
  }
  simt::ClusterBarrierOp::create(code.builder, loc);
  auto loadAll = [&](Value rank, Value kept) {
    SmallVector<Value> values;
    for (Value from : shared)
      values.push_back(
          memref::LoadOp::create(code.builder, loc, from, slot(rank, kept)));
    return values;
  };
  auto keep = [&](ValueRange values, Value kept) {
    for (auto [value, array] : llvm::zip(values, states.arrays))
      memref::StoreOp::create(code.builder, loc, value, array, kept);
  };
  code.forEachRegister(loc, states.count, [&](Value kept) {
    keep(loadAll(code.constant(loc, 0), kept), kept);
  });
  code.forEachRegister(loc, at.blocks - 1, [&](Value step) {
    Value rank = code.add(loc, step, code.constant(loc, 1));
    code.forEachRegister(loc, states.count, [&](Value kept) {
      SmallVector<Value> known;
      for (Value array : states.arrays)
        known.push_back(memref::LoadOp::create(code.builder, loc, array, kept));
      keep(states.combine(known, loadAll(rank, kept)), kept);
    });
  });
}
