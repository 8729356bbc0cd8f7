//===- select.cuh - the greatest integers of a warp's registers -*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sorted list of a group of lanes is dealt out to them: of g lanes number i
// has the entries i, i + g and so on, so a list of 32 is a register of a warp.
// An insertion is then a shuffle from the lane below, a minimum and a maximum,
// however long the list is. While a lane has an element above the last of the
// list, which is a vote, the greatest of the group is found and inserted, and
// its lane finds its next one. So of n elements in random order about
// k ln(n / k) are inserted into a list of k. All lanes of the warp go round
// together.
//===----------------------------------------------------------------------===//
// Kernels of one file share it, unless each has a namespace of its own.
#if !defined(FUSEC_SELECT_CUH) || defined(FUSEC_KERNEL_NAMESPACES)
#define FUSEC_SELECT_CUH

namespace fusec_select {
template <class T>
FUSEC_DEVICE T greater(T a, T b) {
  return a > b ? a : b;
}
template <class T>
FUSEC_DEVICE T lesser(T a, T b) {
  return a > b ? b : a;
}
/// The least integer and the greatest.
template <class T>
constexpr T kLeast = (T)1 << (8 * sizeof(T) - 1);
template <class T>
constexpr T kMost = ~kLeast<T>;

/// The lanes that differ in bits Low .. High - 1 of their number, as powers of
/// two (Low == High: one lane).
template <i32 Low, i32 High>
struct Group {
  static constexpr i32 kLanes = High / Low;
  /// The value of the lane at place `at`.
  template <class T>
  FUSEC_DEVICE T from(T value, i32 at) {
    if constexpr (kLanes == 1)
      return value;
    else
      return shfl_idx(value, (lane() & ~(High - Low)) + at * Low);
  }
  /// The greatest of signed integers.
  template <class T>
  FUSEC_DEVICE T max(T value) {
    if constexpr (kLanes == 32 && sizeof(T) == sizeof(i32))
      return warp_max(value);
    FUSEC_UNROLL
    for (i32 bit = Low; bit < High; bit *= 2)
      value = greater(value, shfl_xor(value, bit));
    return value;
  }
  /// Puts a value into a list that is dealt out; what it has no room for falls
  /// out.
  template <class T, i32 R>
  FUSEC_DEVICE void insert(T value, T (&dealt)[R]) {
    FUSEC_UNROLL
    for (i32 r = R - 1; r >= 0; --r) {
      T before = r ? from(dealt[r ? r - 1 : 0], kLanes - 1) : kMost<T>;
      if constexpr (kLanes > 1) {
        T below = shfl_up(dealt[r], Low);
        before = lane() / Low % kLanes ? below : before;
      }
      dealt[r] = greater(dealt[r], lesser(before, value));
    }
  }
};
} // namespace fusec_select

/// A list that all lanes of a group hold, to one that is dealt out.
template <i32 Low, i32 High, class T, i32 K, i32 R>
FUSEC_DEVICE void deal_list(const T (&list)[K], T (&dealt)[R]) {
  constexpr i32 kLanes = High / Low;
  const i32 place = lane() / Low % kLanes;
  FUSEC_UNROLL
  for (i32 r = 0; r < R; ++r)
    dealt[r] = fusec_select::kLeast<T>;
  FUSEC_UNROLL
  for (i32 k = 0; k < K; ++k)
    dealt[k / kLanes] = k % kLanes == place ? list[k] : dealt[k / kLanes];
}

/// The converse.
template <i32 Low, i32 High, class T, i32 K, i32 R>
FUSEC_DEVICE void collect_list(const T (&dealt)[R], T (&list)[K]) {
  using Group = fusec_select::Group<Low, High>;
  FUSEC_UNROLL
  for (i32 k = 0; k < K; ++k)
    list[k] = Group::from(dealt[k / Group::kLanes], k % Group::kLanes);
}

/// Puts the elements of a group's lanes into its list of K, greatest first,
/// whose last is `last`. Elements differ, but for the least integer, which is
/// never put in.
template <i32 K, i32 Low, i32 High, class T, i32 N, i32 R>
FUSEC_DEVICE void select_greatest(const T (&elements)[N], T (&dealt)[R],
                                  T (&last)[1]) {
  using Group = fusec_select::Group<Low, High>;
  T mine = elements[0];
  FUSEC_UNROLL
  for (i32 i = 1; i < N; ++i)
    mine = fusec_select::greater(mine, elements[i]);
  while (any(mine > last[0])) {
    T next = Group::max(mine);
    // What is not above the last falls out.
    Group::insert(next, dealt);
    last[0] = Group::from(dealt[R - 1], (K - 1) % Group::kLanes);
    if (mine != next)
      continue;
    mine = fusec_select::kLeast<T>;
    FUSEC_UNROLL
    for (i32 i = 0; i < N; ++i)
      if (elements[i] < next)
        mine = fusec_select::greater(mine, elements[i]);
  }
}

#endif // FUSEC_SELECT_CUH
