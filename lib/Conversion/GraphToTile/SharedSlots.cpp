//===- SharedSlots.cpp - tiles of threads in shared memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SharedSlots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;

int64_t graph_to_tile::slotsOf(RankedTensorType carrier, int64_t threads) {
  return threads * tile::getLayout(carrier).getRegisterCount();
}

Value graph_to_tile::makeSlots(OpBuilder &builder, Location loc, int64_t slots,
                               int64_t rounds, Type element) {
  auto type =
      MemRefType::get({rounds * slots}, element, MemRefLayoutAttrInterface(),
                      builder.getI64IntegerAttr(tile::kSharedSpace));
  return tile::AllocOp::create(builder, loc, type, /*dynamic=*/true);
}

Value graph_to_tile::placesOf(OpBuilder &builder, Location loc,
                              RankedTensorType carrier, int64_t threads,
                              Value round) {
  auto type = RankedTensorType::get(carrier.getShape(), builder.getIndexType(),
                                    carrier.getEncoding());
  Value slots =
      arith::ConstantIndexOp::create(builder, loc, slotsOf(carrier, threads));
  Value base = arith::MulIOp::create(builder, loc, round, slots);
  Value spread = tile::SplatOp::create(builder, loc, type, base);
  Value own = tile::SlotOp::create(builder, loc, type);
  return arith::AddIOp::create(builder, loc, spread, own);
}
