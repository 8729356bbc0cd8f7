//===- gemm_stagger.cuh - one epilogue at a time ----------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two warpgroups that share a ring come to the end of a tile at the same time,
// and the tensor cores idle while both are in the epilogue. So the second one
// stops a few steps before its end until the first one has issued and finished
// all of its products, which run at the full rate meanwhile. The steps that the
// second one has left are then behind the first one's epilogue, and as many of
// the first one's next tile behind the second one's. It costs a barrier that is
// passed once a tile.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_STAGGER_CUH
#define FUSEC_GEMM_STAGGER_CUH
#ifdef FUSEC_SM90

/// What keeps the second of two warpgroups behind. Nothing where there is but
/// one or k is divided, nor where columns are reduced: such an epilogue is so
/// long that the warpgroups part by themselves, and waiting costs 1.5 %. Nor
/// where threads copy an operand: a step is there for the first one when later
/// ones are under way, for which the second one keeps the slots. (Sums
/// that are promoted need both warpgroups, as one adds while the other one
/// multiplies: 6 % slower with it.)
template <class Config, class Holes,
          bool = Config::kConsumers == 2 && Config::kRanks == 1 &&
                 Holes::kAccessA == GemmAccess::Tensor &&
                 Holes::kAccessB == GemmAccess::Tensor &&
                 !GemmColumnOf<Holes>::kExists>
struct GemmStagger {
  static constexpr i32 kArrivals = 4;
  /// Steps that are left to the second warpgroup. The ring holds them all.
  static constexpr i32 kLeft = Config::kStages - 1;
  FUSEC_SHARED_PTR(FusecMbarrier) ahead;
  bool isFirst;
  i32 hold;
  i32 parity;
  FUSEC_METHOD void begin(FUSEC_SHARED_PTR(FusecMbarrier) barrier, i32 group,
                          i32 steps) {
    ahead = barrier;
    isFirst = group == 0;
    parity = 0;
    // In sums that are shorter than the ring the first one could be two tiles
    // ahead.
    hold = isFirst || steps < Config::kStages ? -1 : steps - kLeft;
  }
  /// Whether step `s` has to wait; products before it are then done and their
  /// slots given back.
  FUSEC_METHOD bool holds(i32 s) const { return s == hold; }
  FUSEC_METHOD void wait() {
    mbar_wait(ahead, 0, parity);
    parity ^= 1;
  }
  /// The tile's products are done.
  FUSEC_METHOD void pass() const {
    if (isFirst && lane() == 0)
      mbar_arrive(ahead, 0);
  }
};

template <class Config, class Holes>
struct GemmStagger<Config, Holes, false> {
  static constexpr i32 kArrivals = 1;
  FUSEC_METHOD void begin(FUSEC_SHARED_PTR(FusecMbarrier), i32, i32) {}
  FUSEC_METHOD bool holds(i32) const { return false; }
  FUSEC_METHOD void wait() {}
  FUSEC_METHOD void pass() const {}
};

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_STAGGER_CUH
