//===- RowLayout.cpp - threads of a row schedule --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

// Elements of a row that a thread keeps in registers. 32 f32 and the work on
// them fit the 64 registers that 1024 threads a block leave each; long rows
// take more threads first and are walked in chunks beyond that.
static constexpr int64_t kMaxElements = 32;
static constexpr int64_t kWantedElements = 16;
static constexpr int64_t kMaxThreads = 1024;

static int64_t vectorAlong(int64_t inner, int64_t bytes, int64_t limit) {
  int64_t vector = std::max<int64_t>(1, 16 / bytes);
  while (vector > 1 && (inner % vector || vector > limit))
    vector /= 2;
  return vector;
}

static RowLayout alongRow(MLIRContext *context, int64_t columns, int64_t vector,
                          int64_t rows, const TargetInfo &target,
                          int64_t threads) {
  RowLayout result;
  // At least two columns, so that a row and its reduction differ in shape; what
  // a row does not have is masked.
  columns = std::max<int64_t>(columns, 2);
  int64_t groups = llvm::divideCeil(columns, vector);
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  int64_t rowsPerWarp = 32 / lanes;
  int64_t rowWarps = 1;
  if (lanes == 32)
    while (rowWarps * 32 < kMaxThreads &&
           columns > rowWarps * 32 * kWantedElements)
      rowWarps *= 2;
  int64_t repeats = llvm::divideCeil(columns, vector * lanes * rowWarps);
  repeats = std::min(repeats, std::max<int64_t>(1, kMaxElements / vector));
  // Short rows: several warps a block, while blocks still fill the machine.
  int64_t blockRows = 1;
  while (rowWarps * blockRows * 2 <= 8 &&
         rows / (rowsPerWarp * blockRows * 2) >=
             int64_t(target.multiprocessors))
    blockRows *= 2;
  if (threads)
    blockRows = threads / (32 * rowWarps);
  result.threads = 32 * rowWarps * blockRows;
  result.rows = rowsPerWarp * blockRows;
  result.columns = vector * repeats * lanes * rowWarps;
  int64_t span = vector * lanes * rowWarps;
  result.full = tile::LayoutAttr::get(
      context, {Digit{vector, 1, 1}, Digit{repeats, span, 1}},
      {Digit{lanes, vector, 1}, Digit{rowsPerWarp, 1, 0}},
      {Digit{rowWarps, vector * lanes, 1}, Digit{blockRows, rowsPerWarp, 0}});
  return result;
}

static RowLayout acrossRows(MLIRContext *context, int64_t columns,
                            int64_t vector, int64_t rows,
                            const TargetInfo &target, int64_t threads) {
  RowLayout result;
  // Narrower vectors while there are too few blocks.
  while (vector > 1 && rows / (32 * vector) < int64_t(target.multiprocessors))
    vector /= 2;
  columns = std::max<int64_t>(columns, 2); // as in alongRow
  int64_t warps =
      threads ? threads / 32
              : std::min<int64_t>(
                    8, llvm::PowerOf2Ceil(llvm::divideCeil(columns, 4)));
  int64_t repeats = llvm::divideCeil(columns, warps);
  repeats = std::min(repeats, std::max<int64_t>(1, kMaxElements / vector));
  result.threads = 32 * warps;
  result.rows = 32 * vector;
  result.columns = warps * repeats;
  result.full = tile::LayoutAttr::get(
      context, {Digit{vector, 1, 0}, Digit{repeats, warps, 1}},
      {Digit{32, vector, 0}}, {Digit{warps, 1, 1}});
  return result;
}

RowLayout graph_to_tile::chooseRowLayout(MLIRContext *context, int64_t rows,
                                         int64_t columns,
                                         const analysis::RegionForm &form,
                                         const AccessFacts &access,
                                         const TargetInfo &target,
                                         int64_t threads) {
  int64_t innerColumns = form.reduced.empty() ? 1 : form.reduced.back();
  int64_t innerRows = form.parallel.empty() ? 1 : form.parallel.back();
  if (access.parallelContiguous > access.reducedContiguous && innerRows >= 8)
    return acrossRows(context, columns,
                      vectorAlong(innerRows, access.elementBytes, 8), rows,
                      target, threads);
  return alongRow(context, columns,
                  vectorAlong(innerColumns, access.elementBytes, 8), rows,
                  target, threads);
}
