//===- OverlapLaunches.cpp - wait where memory is first touched -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace fusec::simt {
#define GEN_PASS_DEF_OVERLAPLAUNCHESPASS
#include "fusec/Dialect/Simt/Transforms/Passes.h.inc"
} // namespace fusec::simt

using namespace mlir;
using namespace fusec;

/// Whether `op`, or one within it, takes a buffer of `kernel`.
static bool touchesBuffers(Operation &op, simt::KernelOp kernel) {
  Block *body = &kernel.getBody().front();
  return op
      .walk([&](Operation *inner) {
        bool takes = llvm::any_of(inner->getOperands(), [&](Value operand) {
          auto arg = dyn_cast<BlockArgument>(operand);
          return arg && arg.getOwner() == body &&
                 isa<MemRefType>(arg.getType());
        });
        return takes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct OverlapLaunchesPass
    : simt::impl::OverlapLaunchesPassBase<OverlapLaunchesPass> {
  void runOnOperation() override {
    simt::KernelOp kernel = getOperation();
    Block &body = kernel.getBody().front();
    bool meets =
        kernel.walk([](simt::GridBarrierOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (meets || !body.getOps<simt::GridWaitOp>().empty())
      return;
    // A kernel that touches nothing must not end before what it follows.
    auto first = llvm::find_if(
        body, [&](Operation &op) { return touchesBuffers(op, kernel); });
    OpBuilder builder(&body, first);
    simt::GridWaitOp::create(builder, kernel.getLoc());
  }
};
} // namespace
