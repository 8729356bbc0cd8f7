//===- LoopTest.cpp - one test for all accesses of a loop -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoopTest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

/// Of fewer accesses tests are not dear.
static constexpr int64_t kLeastAccesses = 8;

static LoopTest testOf(Operation &op) {
  if (auto load = dyn_cast<simt::LoadOp>(op); load && load.getVector() == 1)
    return {load, load.getMask(), load.getOther()};
  if (auto store = dyn_cast<simt::StoreOp>(op); store && store.getVector() == 1)
    return {store, store.getMask(), Value()};
  return {};
}

LoopTest cuda::findLoopTest(scf::ForOp loop, int64_t count) {
  if (count < kLeastAccesses || loop.getNumResults() ||
      !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()))
    return {};
  LoopTest found;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isMemoryEffectFree(&op) && !op.getNumRegions())
      continue;
    if (found || !(found = testOf(op)))
      return {};
  }
  auto isFixed = [&](Value value) {
    return loop.isDefinedOutsideOfLoop(value) ||
           value.getDefiningOp<arith::ConstantOp>();
  };
  auto load = dyn_cast_or_null<simt::LoadOp>(found.access);
  if (!found.mask || !isFixed(found.mask) ||
      (load &&
       (!isFixed(found.other) || load.getReg() != loop.getInductionVar())))
    return {};
  return found;
}
