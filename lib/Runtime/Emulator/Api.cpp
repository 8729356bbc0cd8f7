//===- Api.cpp - the call table between kernels and the runtime -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Api.h"
#include "Numbers.h"
#include "Worker.h"

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

namespace {
/// Forwards a table entry to the method of the running worker.
template <auto Method>
struct Forward;
template <class R, class... A, R (Worker::*Method)(A...)>
struct Forward<Method> {
  static R call(A... arguments) {
    return (Worker::current().*Method)(arguments...);
  }
};
template <class R, class... A, R (Worker::*Method)(A...) const>
struct Forward<Method> {
  static R call(A... arguments) {
    return (Worker::current().*Method)(arguments...);
  }
};
} // namespace

const FusecEmuApi &emulator::api() {
  static const FusecEmuApi table = [] {
    FusecEmuApi made = {};
    made.ids = Forward<&Worker::ids>::call;
    made.load = Forward<&Worker::load>::call;
    made.store = Forward<&Worker::store>::call;
    made.sharedArray = Forward<&Worker::sharedArray>::call;
    made.sharedDynamic = Forward<&Worker::sharedDynamic>::call;
    made.sharedLoad = Forward<&Worker::sharedLoad>::call;
    made.sharedStore = Forward<&Worker::sharedStore>::call;
    made.barrier = Forward<&Worker::barrier>::call;
    made.barrierWarp = Forward<&Worker::barrierWarp>::call;
    made.shuffle = Forward<&Worker::shuffle>::call;
    made.vote = Forward<&Worker::vote>::call;
    made.atomic = Forward<&Worker::atomic>::call;
    made.fence = Forward<&Worker::fence>::call;
    made.gridWait = Forward<&Worker::gridWait>::call;
    made.mma = Forward<&Worker::mma>::call;
    made.ldmatrix = Forward<&Worker::ldmatrix>::call;
    made.cpAsync = Forward<&Worker::copyAsync>::call;
    made.cpAsyncCommit = Forward<&Worker::commitCopies>::call;
    made.cpAsyncWait = Forward<&Worker::waitCopies>::call;
    made.decode = decodeFloat;
    made.poll = Forward<&Worker::poll>::call;
    made.mbarInit = Forward<&Worker::mbarInit>::call;
    made.mbarArrive = Forward<&Worker::mbarArrive>::call;
    made.mbarWait = Forward<&Worker::mbarWait>::call;
    made.clusterBarrier = Forward<&Worker::clusterBarrier>::call;
    made.peerLoad = Forward<&Worker::peerLoad>::call;
    made.peerStore = Forward<&Worker::peerStore>::call;
    made.storeAsync = Forward<&Worker::storeAsync>::call;
    made.proxyFence = Forward<&Worker::proxyFence>::call;
    made.mbarInitFence = Forward<&Worker::mbarInitFence>::call;
    made.bulkLoad = Forward<&Worker::bulkLoad>::call;
    made.bulkStore = Forward<&Worker::bulkStore>::call;
    made.bulkSend = Forward<&Worker::bulkSend>::call;
    made.tmaLoad = Forward<&Worker::tmaLoad>::call;
    made.tmaPrefetch = Forward<&Worker::tmaPrefetch>::call;
    made.tmaStore = Forward<&Worker::tmaStore>::call;
    made.im2colLoad = Forward<&Worker::im2colLoad>::call;
    made.im2colStore = Forward<&Worker::im2colStore>::call;
    made.bulkCommit = Forward<&Worker::bulkCommit>::call;
    made.bulkWait = Forward<&Worker::bulkWait>::call;
    made.registers = Forward<&Worker::registers>::call;
    made.elect = Forward<&Worker::elect>::call;
    made.barrierArrive = Forward<&Worker::barrierArrive>::call;
    made.barrierReduce = Forward<&Worker::barrierReduce>::call;
    made.stmatrix = Forward<&Worker::stmatrix>::call;
    made.wgmmaFence = Forward<&Worker::wgmmaFence>::call;
    made.wgmma = Forward<&Worker::wgmma>::call;
    made.wgmmaCommit = Forward<&Worker::wgmmaCommit>::call;
    made.wgmmaWait = Forward<&Worker::wgmmaWait>::call;
    made.packed = Forward<&Worker::packed>::call;
    made.encode = Forward<&Worker::encode>::call;
    return made;
  }();
  return table;
}
