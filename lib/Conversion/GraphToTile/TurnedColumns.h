//===- TurnedColumns.h - tiles that are turned in shared memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of a tile, each consecutive in shared memory, that are written by
// lanes along rows and read by lanes along columns, or the other way round.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_TURNEDCOLUMNS_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_TURNEDCOLUMNS_H

#include "fusec/Dialect/Graph/IR/Element.h"

namespace fusec::graph_to_tile {

/// How columns of `length` elements of `bytes` lie in shared memory.
struct TurnedColumns {
  int64_t length = 0, bytes = 1;
  /// Elements between two columns.
  int64_t pitch = 0;
  /// Groups of 16 bytes of a column are exchanged by a number of the column
  /// (exclusive or), so that lanes of other numbers meet other banks; else
  /// columns are padded.
  bool isSwizzled = false;

  /// Where element `row` of `column` lies; `number` is the column's, taken
  /// modulo the groups. All are index tiles.
  mlir::Value offset(graph::ElementBuilder &eb, mlir::Value row,
                     mlir::Value column, mlir::Value number) const;
};

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_TURNEDCOLUMNS_H
