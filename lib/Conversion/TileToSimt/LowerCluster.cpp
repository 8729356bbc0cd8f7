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

static constexpr int64_t kWarpLanes = 32;

bool tile_to_simt::spansCluster(tile::ReduceOp op) {
  return !op.endsInWarps() &&
         llvm::any_of(tile::getLayout(op.getOperand(0).getType()).getCluster(),
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
    code.arrival = simt::ClusterArriveOp::create(
        code.builder, kernel.getLoc(), code.builder.getDenseI64ArrayAttr({}));
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

/// Arrays of `count` states for an exchange. Of their own for every exchange,
/// so that a fast block never writes over what a slow one still reads.
static SmallVector<Value> sharedFor(Location loc, const BlockStates &states,
                                    int64_t count, ThreadCode &code) {
  SmallVector<Value> shared;
  for (Value array : states.arrays)
    shared.push_back(simt::SharedOp::create(
        code.builder, loc,
        MemRefType::get({count},
                        cast<MemRefType>(array.getType()).getElementType(),
                        MemRefLayoutAttrInterface(),
                        code.builder.getI64IntegerAttr(tile::kSharedSpace)),
        /*dynamic=*/true));
  return shared;
}

/// The number of a new meeting at which `shared` are filled by all blocks; null
/// where an element is not one that can be sent in the background, or threads
/// beyond those of the layout would send it again.
static IntegerAttr meetingFor(const BlockStates &states, ArrayRef<Value> shared,
                              ThreadCode &code) {
  int64_t bytes = 0;
  if (states.layout.getLaneCount() * states.layout.getWarpCount() !=
      code.threads)
    return {};
  for (Value array : shared) {
    auto type = cast<MemRefType>(array.getType());
    Type element = type.getElementType();
    if (!element.isIntOrFloat() || (element.getIntOrFloatBitWidth() != 32 &&
                                    element.getIntOrFloatBitWidth() != 64))
      return {};
    bytes += type.getNumElements() * element.getIntOrFloatBitWidth() / 8;
  }
  SmallVector<int64_t> meetings(code.arrival.getMeetings());
  meetings.push_back(bytes);
  code.arrival.setMeetings(meetings);
  return code.builder.getI64IntegerAttr(meetings.size() - 1);
}

/// Behind it all blocks' states are there.
static void meet(Location loc, IntegerAttr meeting, ThreadCode &code) {
  if (meeting)
    simt::ClusterMeetOp::create(code.builder, loc, meeting);
  else
    simt::ClusterBarrierOp::create(code.builder, loc);
}

/// Before the first access to another block.
static void waitForCluster(Location loc, ThreadCode &code) {
  if (!code.knowsCluster)
    simt::ClusterWaitOp::create(code.builder, loc);
  code.knowsCluster = true;
}

static SmallVector<Value> loadAll(Location loc, ArrayRef<Value> arrays,
                                  Value at, ThreadCode &code) {
  SmallVector<Value> values;
  for (Value array : arrays)
    values.push_back(memref::LoadOp::create(code.builder, loc, array, at));
  return values;
}

void tile_to_simt::combineWarpsOfCluster(Location loc,
                                         const BlockStates &states,
                                         ThreadCode &code) {
  int64_t warps = states.layout.getWarpCount();
  int64_t blocks = states.layout.getClusterCount(), all = warps * blocks;
  Value zero = code.constant(loc, 0);
  SmallVector<Value> shared = sharedFor(loc, states, all, code);
  IntegerAttr meeting = meetingFor(states, shared, code);
  waitForCluster(loc, code);
  Value isPeer =
      arith::CmpIOp::create(code.builder, loc, arith::CmpIPredicate::ult,
                            code.lane, code.constant(loc, blocks));
  auto branch = scf::IfOp::create(code.builder, loc, isPeer);
  {
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPoint(branch.thenYield());
    Value own = code.add(loc, code.mul(loc, code.rank, warps), code.warp);
    for (auto [value, to] :
         llvm::zip(loadAll(loc, states.arrays, zero, code), shared))
      simt::ClusterStoreOp::create(code.builder, loc, value, to, own, code.lane,
                                   meeting);
  }
  meet(loc, meeting, code);
  Value first = all < kWarpLanes ? code.rem(loc, code.lane, all) : code.lane;
  SmallVector<Value> values = loadAll(loc, shared, first, code);
  for (int64_t past = kWarpLanes; past < all; past += kWarpLanes) {
    Value at = code.add(loc, first, code.constant(loc, past));
    values = states.combine(values, loadAll(loc, shared, at, code));
  }
  for (int64_t bit = 1; bit < std::min(all, kWarpLanes); bit *= 2) {
    SmallVector<Value> others;
    for (Value value : values)
      others.push_back(
          simt::ShuffleXorOp::create(code.builder, loc, value, bit));
    values = states.combine(values, others);
  }
  for (auto [value, array] : llvm::zip(values, states.arrays))
    memref::StoreOp::create(code.builder, loc, value, array, zero);
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
  SmallVector<Value> shared =
      sharedFor(loc, states, at.blocks * perBlock, code);
  IntegerAttr meeting = meetingFor(states, shared, code);
  waitForCluster(loc, code);
  auto send = [&](Value peer) {
    code.forEachRegister(loc, states.count, [&](Value kept) {
      for (auto [array, to] : llvm::zip(states.arrays, shared)) {
        Value value = memref::LoadOp::create(code.builder, loc, array, kept);
        simt::ClusterStoreOp::create(code.builder, loc, value, to,
                                     slot(code.rank, kept), peer, meeting);
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
  meet(loc, meeting, code);
  auto loadFrom = [&](Value rank, Value kept) {
    return loadAll(loc, shared, slot(rank, kept), code);
  };
  auto keep = [&](ValueRange values, Value kept) {
    for (auto [value, array] : llvm::zip(values, states.arrays))
      memref::StoreOp::create(code.builder, loc, value, array, kept);
  };
  code.forEachRegister(loc, states.count, [&](Value kept) {
    keep(loadFrom(code.constant(loc, 0), kept), kept);
  });
  code.forEachRegister(loc, at.blocks - 1, [&](Value step) {
    Value rank = code.add(loc, step, code.constant(loc, 1));
    code.forEachRegister(loc, states.count, [&](Value kept) {
      SmallVector<Value> known = loadAll(loc, states.arrays, kept, code);
      keep(states.combine(known, loadFrom(rank, kept)), kept);
    });
  });
}
