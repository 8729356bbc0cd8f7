//===- Placement.cpp - awkward places for tensors -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fuzz/Generate.h"
#include "fusec/Runtime/StridedCopy.h"

using namespace fusec;
using namespace fusec::fuzz;
using verify::TensorPlace;

/// Whether all elements have the bits of the first.
static bool isSplat(const HostTensor &tensor) {
  llvm::ArrayRef<std::byte> bytes = *tensor.bytes;
  size_t size = byteSize(tensor.dtype);
  return bytes.drop_front(std::min(size, bytes.size())) ==
         bytes.drop_back(std::min(size, bytes.size()));
}

/// Dimensions in any order in memory, with gaps, some of them backwards. A
/// dimension whose elements are all equal may have stride 0.
static llvm::SmallVector<int64_t> awkwardStrides(Rng &rng,
                                                 const HostTensor &tensor) {
  size_t rank = tensor.shape.size();
  llvm::SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, rank));
  llvm::SmallVector<int64_t> strides(rank, 1);
  if (rng.chance(2, 3))
    rng.shuffle(order);
  bool hasGaps = rng.chance(1, 2), repeats = isSplat(tensor);
  int64_t step = rng.chance(1, 4) ? rng.between(2, 3) : 1;
  for (int64_t dim : llvm::reverse(order)) {
    if (repeats && rng.chance(1, 2)) {
      strides[dim] = 0;
      continue;
    }
    strides[dim] = rng.chance(1, 6) ? -step : step;
    step *= tensor.shape[dim];
    if (hasGaps && rng.chance(1, 2))
      step += rng.between(1, 5);
  }
  return strides;
}

static TensorPlace placeOf(Rng &rng, const HostTensor &tensor) {
  TensorPlace place;
  if (rng.chance(1, 3))
    return place;
  place.offset = rng.chance(1, 4) ? 0 : rng.between(1, 9);
  size_t rank = tensor.shape.size();
  if (tensor.elements() > 0 && rank > 0 &&
      rank <= runtime::StridedLayout::kMaxRank && rng.chance(1, 2))
    place.strides = awkwardStrides(rng, tensor);
  return place;
}

verify::Placement fuzz::randomPlacement(Rng &rng, const Case &subject) {
  verify::Placement placement;
  placement.inPlace = rng.chance(1, 3);
  for (const HostTensor &input : subject.inputs)
    placement.inputs.push_back(placement.inPlace && rng.chance(1, 2)
                                   ? TensorPlace()
                                   : placeOf(rng, input));
  for (size_t i = 0; i < subject.model.outputs.size(); ++i)
    placement.outputs.push_back({rng.chance(1, 2) ? 0 : rng.between(1, 9), {}});
  return placement;
}
