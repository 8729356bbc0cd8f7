//===- TurnedColumns.cpp - tiles that are turned in shared memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TurnedColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

Value TurnedColumns::offset(graph::ElementBuilder &eb, Value row, Value column,
                            Value number) const {
  int64_t group = 16 / bytes;
  int64_t groups = std::min<int64_t>(8, length / group);
  if (isSwizzled && groups > 1) {
    Value moved = eb.make<arith::XOrIOp>(eb.divIndex(row, group),
                                         eb.remIndex(number, groups));
    row = eb.addIndex(eb.mulIndex(moved, group), eb.remIndex(row, group));
  }
  return eb.addIndex(eb.mulIndex(column, pitch), row);
}
