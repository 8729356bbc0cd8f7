//===- select.cuh - the greatest integers of a warp's registers -*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes of a group hold one sorted list together, each of them all of it, and
// registers of elements, each its own. While a lane has an element above the
// last of the list, which is a vote, the greatest of the group is found by
// shuffles and inserted, and its lane finds its next one. So what does not get
// into the list costs one comparison, and of n elements in random order about
// k ln(n / k) get into a list of k. All lanes of the warp go round together.
//===----------------------------------------------------------------------===//
// Kernels of one file share it, unless each has a namespace of its own.
#if !defined(FUSEC_SELECT_CUH) || defined(FUSEC_KERNEL_NAMESPACES)
#define FUSEC_SELECT_CUH

namespace fusec_select {
/// Elements of a thread that have a maximum of their own: a lane that loses its
/// greatest looks through as many again.
constexpr i32 kGroup = 8;

template <class T>
FUSEC_DEVICE T greater(T a, T b) {
  return a > b ? a : b;
}
template <class T>
FUSEC_DEVICE T lesser(T a, T b) {
  return a > b ? b : a;
}
/// Of the lanes that differ in bits Low .. High - 1; signed integers.
template <i32 Low, i32 High, class T>
FUSEC_DEVICE T group_max(T value) {
  if constexpr (Low == 1 && High == 32 && sizeof(T) == sizeof(i32))
    return warp_max(value);
  FUSEC_UNROLL
  for (i32 bit = Low; bit < High; bit *= 2)
    value = greater(value, shfl_xor(value, bit));
  return value;
}
} // namespace fusec_select

/// Puts the elements of the lanes that differ in bits Low .. High - 1 (as
/// powers of two; Low == High: of one lane) into `list`, greatest first.
/// Elements differ, but for the least integer, which is never put in.
template <i32 Low, i32 High, class T, i32 N, i32 K>
FUSEC_DEVICE void select_greatest(const T (&elements)[N], T (&list)[K]) {
  using fusec_select::greater;
  constexpr i32 kGroup = fusec_select::kGroup;
  constexpr i32 kGroups = (N + kGroup - 1) / kGroup;
  constexpr T kLeast = (T)1 << (8 * sizeof(T) - 1);
  T tops[kGroups];
  FUSEC_UNROLL
  for (i32 g = 0; g < kGroups; ++g) {
    tops[g] = elements[g * kGroup];
    FUSEC_UNROLL
    for (i32 i = g * kGroup + 1; i < N && i < (g + 1) * kGroup; ++i)
      tops[g] = greater(tops[g], elements[i]);
  }
  while (true) {
    T mine = tops[0];
    FUSEC_UNROLL
    for (i32 g = 1; g < kGroups; ++g)
      mine = greater(mine, tops[g]);
    if (!any(mine > list[K - 1]))
      return;
    T next = fusec_select::group_max<Low, High>(mine);
    const bool isMine = mine == next;
    // What is not above the last falls out at the end.
    FUSEC_UNROLL
    for (i32 k = 0; k < K; ++k) {
      T best = greater(list[k], next);
      next = fusec_select::lesser(list[k], next);
      list[k] = best;
    }
    if (!isMine)
      continue;
    FUSEC_UNROLL
    for (i32 g = 0; g < kGroups; ++g) {
      if (tops[g] != mine)
        continue;
      tops[g] = kLeast;
      FUSEC_UNROLL
      for (i32 i = g * kGroup; i < N && i < (g + 1) * kGroup; ++i)
        if (elements[i] < mine)
          tops[g] = greater(tops[g], elements[i]);
    }
  }
}

#endif // FUSEC_SELECT_CUH
