//===- MeetingSchedule.h - blocks that share rows and meet ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the meeting form of the row schedule, which RowMeeting.cpp
// describes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_MEETINGSCHEDULE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_MEETINGSCHEDULE_H

#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fusec::graph_to_tile {

/// Builds the kernel of a Row region whose blocks share rows and meet.
class MeetingSchedule : public RowSchedule {
public:
  MeetingSchedule(KernelBuilder &kb, const analysis::RowTiling &rowTiling)
      : RowSchedule(kb, rowTiling), meeting(*rowTiling.meeting) {
    columns = meeting.columns;
  }
  mlir::LogicalResult run();

protected:
  mlir::Value firstRow() override {
    return kb.mulIndex(rowBlock, meeting.ownRows);
  }
  void boundRows(mlir::Value linear) override;
  mlir::Value rowsInside(mlir::RankedTensorType carrier,
                         mlir::Value linear) override;
  bool coversColumns() override { return false; }
  mlir::Value columnEnd() override { return shareEnd; }
  llvm::SmallVector<mlir::Value> parallelAt(mlir::Value linear) override;
  llvm::SmallVector<mlir::Value> reducedAt(mlir::Value rows,
                                           mlir::Value linear) override;

private:
  bool hasInner() const { return meeting.inner > 1; }
  /// Rows of a block, without inner columns, and whether tiles hold just these.
  int64_t ownGroups() const { return meeting.ownRows / meeting.inner; }
  bool isExact() const {
    return meeting.rowsOfBatch % meeting.ownRows == 0 &&
           meeting.ownRows == tiling.rows();
  }
  void begin();
  void findShare();
  Columns part(int64_t first, int64_t iterations);
  llvm::SmallVector<Columns> parts();
  mlir::RankedTensorType groupCarrier(int64_t count);
  llvm::SmallVector<mlir::Value> reduceAll(mlir::ValueRange states);
  llvm::SmallVector<mlir::Value> storeShared(mlir::ValueRange states,
                                             mlir::Value at, mlir::Value mask);
  llvm::SmallVector<mlir::Value> loadShared(mlir::ValueRange buffers,
                                            mlir::Value at);
  llvm::SmallVector<mlir::Value> joinInner(mlir::ValueRange states);
  llvm::SmallVector<mlir::Value> spreadInner(mlir::ValueRange states);
  llvm::SmallVector<mlir::Value> meet(mlir::ValueRange states);
  mlir::Value stateOffsets(mlir::RankedTensorType carrier, mlir::Value group,
                           mlir::Value split);
  void storeResults();

  /// In an index tile of `carrier`.
  mlir::Value divide(mlir::Value tile, int64_t by) {
    return kb.emitter.elements().make<mlir::arith::DivUIOp>(tile,
                                                            splat(tile, by));
  }
  mlir::Value remainder(mlir::Value tile, int64_t by) {
    return kb.emitter.elements().make<mlir::arith::RemUIOp>(tile,
                                                            splat(tile, by));
  }
  mlir::Value splat(mlir::Value like, int64_t value) {
    return tile::SplatOp::create(kb.builder, kb.loc, like.getType(),
                                 kb.index(value));
  }
  mlir::Value scalar(mlir::Value lhs, int64_t by, bool isRemainder) {
    mlir::Value size = kb.index(by);
    return isRemainder
               ? mlir::arith::RemUIOp::create(kb.builder, kb.loc, lhs, size)
                     .getResult()
               : mlir::arith::DivUIOp::create(kb.builder, kb.loc, lhs, size);
  }

  analysis::RowMeeting meeting;
  llvm::SmallVector<Unit> all;
  /// Of this block.
  mlir::Value split, group, rowBlock, batch, shareStart, shareEnd;
};

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_MEETINGSCHEDULE_H
