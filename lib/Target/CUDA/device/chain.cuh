//===- chain.cuh - values that steps of a chain hand on ---------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a cluster run steps in turn. Each block has every value between
// steps whole in its own shared memory: what a step makes that the blocks share
// out is sent to all of them, what each block makes for itself is stored at
// home. So all reads are local, and no value passes through the L2.
//
// Sends end in the background at a meeting, a transaction barrier of each block
// that is over when all bytes of a value have come. Meetings are used once and
// waited for in order.
// A store needs no fence and no arrival of other blocks: a wait is as long as
// the way of the last value.
//
// Groups of 16 bytes lie so that a column of a matrix does not lie in one bank:
// within a line of 128 bytes, by the number of the kilobyte.
//
// Behind prelude_sm90.cuh or the emulator's version, whose names alone it
// calls.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_CHAIN_CUH
#define FUSEC_CHAIN_CUH
#ifdef FUSEC_SM90

/// A step: its entry in the table, the blocks of its program, how many blocks
/// share them out (1: each does all of them), the last meeting that it waits
/// for and the first that it sends for (negative: none), and whether all
/// threads of the cluster meet before it.
struct ChainStep {
  i32 entry, blocks, stride, waits, sends, syncs;
};
/// `step`, read here.
FUSEC_DEVICE ChainStep read_ahead(const ChainStep &step) {
  return {pinned(step.entry), pinned(step.blocks), pinned(step.stride),
          pinned(step.waits), pinned(step.sends),  pinned(step.syncs)};
}

/// A value in the shared memory of the block. Starts at a multiple of 128
/// bytes and has whole lines of so many.
template <class T>
struct Kept {
  FUSEC_SHARED_PTR(T) at;
};
/// The same where stores go to all `Blocks` blocks, for meeting `meeting`. Each
/// element is stored once.
template <class T, i32 Blocks>
struct Sent {
  FUSEC_SHARED_PTR(T) at;
  FUSEC_SHARED_PTR(FusecMbarrier) meetings;
  i32 meeting;
};
/// The same where what is sent is stored to memory, too.
template <class T, i32 Blocks>
struct SentOut {
  Sent<T, Blocks> sent;
  T *memory;
};

namespace fusec_chain {
/// Where element i lies.
template <class T>
FUSEC_DEVICE i32 place(i32 i) {
  return i ^ ((i >> 6) & (i32)(0x70 / sizeof(T)));
}
/// Elements of one access of V.
template <i32 V, class T>
constexpr i32 kPiece = V * sizeof(T) > 16 ? 16 / (i32)sizeof(T) : V;
} // namespace fusec_chain

/// The value that starts at word `word` of the values' memory.
template <class T>
FUSEC_DEVICE Kept<T> kept(FUSEC_SHARED_PTR(u64) values, i32 word) {
  return {shared_cast<T>(shared_at(values, word))};
}
template <class T, i32 Blocks>
FUSEC_DEVICE Sent<T, Blocks> sent(FUSEC_SHARED_PTR(u64) values, i32 word,
                                  FUSEC_SHARED_PTR(FusecMbarrier) meetings,
                                  i32 meeting) {
  return {shared_cast<T>(shared_at(values, word)), meetings, meeting};
}
template <class T, i32 Blocks>
FUSEC_DEVICE SentOut<T, Blocks>
sent_out(FUSEC_SHARED_PTR(u64) values, i32 word,
         FUSEC_SHARED_PTR(FusecMbarrier) meetings, i32 meeting, T *memory) {
  return {sent<T, Blocks>(values, word, meetings, meeting), memory};
}

/// Begins meetings for bytes[i] bytes each and waits for all blocks. By all
/// threads.
template <i32 Threads, i32 N>
FUSEC_DEVICE void begin_meetings(FUSEC_SHARED_PTR(FusecMbarrier) meetings,
                                 const i32 (&bytes)[N]) {
  for (i32 i = tid(); i < N; i += Threads) {
    mbar_init(meetings, i, 1);
    mbar_arrive_expect(meetings, i, bytes[i]);
  }
  mbar_init_fence();
  cluster_sync();
}

/// Waits for what `step` waits for; `waited` meetings have been. `Syncs`: there
/// are steps before which all threads of the cluster meet.
template <bool Syncs>
FUSEC_DEVICE void meet(FUSEC_SHARED_PTR(FusecMbarrier) meetings,
                       const ChainStep &step, i32 &waited) {
  FUSEC_NO_UNROLL
  for (; waited <= step.waits; ++waited)
    mbar_wait(meetings, waited, 0);
  if constexpr (Syncs)
    if (step.syncs) {
      fence_proxy_async(); // sends may overwrite what was stored
      cluster_sync();
    }
}

//===-- The accesses of thread programs -----------------------------------===//

template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ld(T (&dst)[N], i32 r, Kept<T> value, I off) {
  constexpr i32 piece = fusec_chain::kPiece<V, T>;
  if (r % V != 0)
    return;
  FUSEC_UNROLL
  for (i32 k = 0; k < V; k += piece)
    lds<piece>(dst, r + k, value.at, fusec_chain::place<T>((i32)off + k));
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ldm(T (&dst)[N], i32 r, Kept<T> value, I off, bool mask,
                      T other) {
  if (r % V != 0)
    return;
  if (mask) {
    ld<V>(dst, r, value, off);
  } else {
    FUSEC_UNROLL
    for (i32 k = 0; k < V; ++k)
      dst[r + k] = other;
  }
}

template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void st(Kept<T> value, I off, const T (&src)[N], i32 r) {
  constexpr i32 piece = fusec_chain::kPiece<V, T>;
  if (r % V != 0)
    return;
  FUSEC_UNROLL
  for (i32 k = 0; k < V; k += piece)
    sts<piece>(value.at, fusec_chain::place<T>((i32)off + k), src, r + k);
}
template <i32 V, i32 Blocks, class T, i32 N, class I>
FUSEC_DEVICE void st(Sent<T, Blocks> value, I off, const T (&src)[N], i32 r) {
  constexpr i32 piece = fusec_chain::kPiece<V, T>;
  if (r % V != 0)
    return;
  FUSEC_UNROLL
  for (i32 k = 0; k < V; k += piece) {
    const i32 to = fusec_chain::place<T>((i32)off + k);
    FUSEC_UNROLL
    for (i32 rank = 0; rank < Blocks; ++rank)
      st_async<piece>(value.at, to, src, r + k, rank, value.meetings,
                      value.meeting);
  }
}
template <i32 V, i32 Blocks, class T, i32 N, class I>
FUSEC_DEVICE void st(SentOut<T, Blocks> value, I off, const T (&src)[N],
                     i32 r) {
  st<V>(value.sent, off, src, r);
  st<V>(value.memory, off, src, r);
}
/// As `st` where `mask` holds; `to` is any of the above.
template <i32 V, class To, class T, i32 N, class I>
FUSEC_DEVICE void stm(To value, I off, const T (&src)[N], i32 r, bool mask) {
  if (mask)
    st<V>(value, off, src, r);
}

#endif // FUSEC_SM90
#endif // FUSEC_CHAIN_CUH
