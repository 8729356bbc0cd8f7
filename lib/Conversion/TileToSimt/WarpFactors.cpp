//===- WarpFactors.cpp - factors that a warp shares -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WarpFactors.h"
#include "fusec/Dialect/Tile/IR/UniformTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;

/// Fewer registers are not worth what taking them from lane 0 costs; and there
/// are 63 uniform ones.
static constexpr size_t kLeastFactors = 8, kMostFactors = 48;
/// Registers of the other factor.
static constexpr int64_t kSeveral = 4;

DenseSet<Value> tile_to_simt::findWarpFactors(tile::KernelOp kernel) {
  tile::UniformTiles uniform(tile::UniformTiles::Of::Warp);
  Block *top = &kernel.getBody().front();
  DenseSet<Value> found;
  kernel.walk([&](math::FmaOp product) {
    auto type = dyn_cast<RankedTensorType>(product.getType());
    tile::LayoutAttr layout = tile::getLayout(product.getType());
    if (!layout || !type.getElementType().isF32() ||
        layout.getRegisterCount() < kSeveral)
      return;
    Value factors[] = {product.getA(), product.getB()};
    for (Value factor : factors)
      if (factor.getParentBlock() == top && factor.getDefiningOp() &&
          !matchPattern(factor, m_Constant()) && uniform.contains(factor) &&
          !uniform.contains(factor == factors[0] ? factors[1] : factors[0]))
        found.insert(factor);
  });
  if (found.size() < kLeastFactors || found.size() > kMostFactors)
    found.clear();
  return found;
}
