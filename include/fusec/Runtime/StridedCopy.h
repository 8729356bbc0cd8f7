//===- StridedCopy.h - strided inputs made dense ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_STRIDEDCOPY_H
#define FUSEC_RUNTIME_STRIDEDCOPY_H

#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

/// Elements of a tensor at strides, in as few dimensions as possible.
struct StridedLayout {
  static constexpr unsigned kMaxRank = 8;
  unsigned rank = 0;
  /// Elements; all but the first `rank` are 1 and 0.
  std::array<int64_t, kMaxRank> sizes, strides;
  int64_t elements = 1;

  /// Drops dimensions of one element and joins those that follow each other
  /// in memory. Fails beyond kMaxRank. The shape has no zero and its product
  /// fits.
  static llvm::Expected<StridedLayout> get(llvm::ArrayRef<int64_t> shape,
                                           llvm::ArrayRef<int64_t> strides);
  /// Row-major without gaps.
  bool isDense() const { return rank == 0 || (rank == 1 && strides[0] == 1); }
};

/// Writes the elements in row-major order, on the host.
void copyStridedOnHost(void *to, const void *from, const StridedLayout &layout,
                       unsigned elementBytes);

/// A kernel that does the same: text on either prelude, or on none. Arguments:
/// from, to, i64 elements, i32 rank, 8 x i64 sizes, 8 x i64 strides; any grid
/// of one dimension.
Kernel stridedCopyKernel(unsigned elementBytes);

/// Element sizes that there are kernels for.
inline constexpr std::array<unsigned, 4> kStridedElementBytes = {1, 2, 4, 8};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_STRIDEDCOPY_H
