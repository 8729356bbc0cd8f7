//===- BuilderContraction.cpp - contractions of built graphs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BuilderWindow.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxWindowNumber = int64_t(1) << 31;

/// One list of a window; null means `otherwise` everywhere.
static bool readList(GraphMaker &b, const char *what, const int64_t *from,
                     size_t count, int64_t least, int64_t otherwise,
                     Dims &result) {
  result.assign(count, otherwise);
  if (from)
    result.assign(from, from + count);
  for (int64_t number : result)
    if (number < least || number > kMaxWindowNumber) {
      b.fail(llvm::Twine(what) + ": expected " + llvm::Twine(least) + " to " +
             llvm::Twine(kMaxWindowNumber) + ", found " + llvm::Twine(number));
      return false;
    }
  return true;
}

bool api::readWindow(GraphMaker &b, const fusec_window *from, size_t count,
                     Window &result) {
  fusec_window known;
  if (fusec_error *error = readStruct(from, FUSEC_END_OF(fusec_window, high),
                                      "fusec_window", known)) {
    b.fail(fusec_error_message(error));
    fusec_error_free(error);
    return false;
  }
  if (from && (known.count < 0 || size_t(known.count) != count)) {
    b.fail("expected a window of " + llvm::Twine(count) +
           " dimensions, found " + llvm::Twine(known.count));
    return false;
  }
  return readList(b, "window", known.window, count, 1, 1, result.window) &&
         readList(b, "strides", known.strides, count, 1, 1, result.strides) &&
         readList(b, "dilations", known.dilations, count, 1, 1,
                  result.dilations) &&
         readList(b, "low", known.low, count, 0, 0, result.low) &&
         readList(b, "high", known.high, count, 0, 0, result.high);
}

bool api::countPlaces(GraphMaker &b, int64_t size, int64_t extent,
                      const Window &window, size_t dim, int64_t &result) {
  auto span = checkedMul(window.dilations[dim], extent - 1);
  auto padded = checkedAdd(size, window.low[dim] + window.high[dim]);
  if (!span || !padded || extent < 1) {
    b.fail("the window of dimension " + llvm::Twine(dim) + " is out of range");
    return false;
  }
  int64_t room = *padded - *span - 1;
  result = room < 0 ? 0 : room / window.strides[dim] + 1;
  return true;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {
struct Pairing {
  Dims lhsBatch, rhsBatch, lhsContract, rhsContract;
  bool allowTf32 = false, fastAccumulation = false;
};
} // namespace

static Value contract(GraphMaker &b, Value lhs, Value rhs, const Pairing &how) {
  Dims shape;
  for (int64_t dim : how.lhsBatch)
    shape.push_back(b.shapeOf(lhs)[dim]);
  auto addFree = [&](Value value, DimsRef batch, DimsRef contracted) {
    for (auto [i, size] : llvm::enumerate(b.shapeOf(value)))
      if (!llvm::is_contained(batch, static_cast<int64_t>(i)) &&
          !llvm::is_contained(contracted, static_cast<int64_t>(i)))
        shape.push_back(size);
  };
  addFree(lhs, how.lhsBatch, how.lhsContract);
  addFree(rhs, how.rhsBatch, how.rhsContract);
  Value made =
      b.make("graph.contract", {lhs, rhs}, b.tensor(b.dtypeOf(lhs), shape),
             {b.attribute("lhsBatch", how.lhsBatch),
              b.attribute("rhsBatch", how.rhsBatch),
              b.attribute("lhsContract", how.lhsContract),
              b.attribute("rhsContract", how.rhsContract),
              b.flag("allowTf32", how.allowTf32)});
  if (made && how.fastAccumulation)
    made.getDefiningOp()->setAttr(graph::kFastAccumulation,
                                  mlir::UnitAttr::get(made.getContext()));
  return made;
}

fusec_value fusec_builder_contract(fusec_builder *builder, fusec_value lhs,
                                   fusec_value rhs,
                                   const fusec_contraction *how) {
  return buildStep(builder, "contract", [&](GraphMaker &b) -> Value {
    Value left = b.use(lhs), right = b.use(rhs);
    if (!left || !right)
      return {};
    fusec_contraction known;
    if (fusec_error *error =
            readStruct(how, FUSEC_END_OF(fusec_contraction, allow_tf32),
                       "fusec_contraction", known)) {
      b.fail(fusec_error_message(error));
      fusec_error_free(error);
      return {};
    }
    Pairing pairing;
    pairing.allowTf32 = known.allow_tf32 != 0;
    pairing.fastAccumulation = known.fast_accumulation != 0;
    int64_t leftRank = b.shapeOf(left).size();
    int64_t rightRank = b.shapeOf(right).size();
    if (!b.readDims(known.lhs_batch, known.num_batch, leftRank,
                    pairing.lhsBatch) ||
        !b.readDims(known.rhs_batch, known.num_batch, rightRank,
                    pairing.rhsBatch) ||
        !b.readDims(known.lhs_contract, known.num_contract, leftRank,
                    pairing.lhsContract) ||
        !b.readDims(known.rhs_contract, known.num_contract, rightRank,
                    pairing.rhsContract))
      return {};
    return contract(b, left, right, pairing);
  });
}

/// Repeats the batch dimensions (all but the last two) of both to their common
/// shape.
static bool unifyBatches(GraphMaker &b, Value &lhs, Value &rhs) {
  size_t rank = std::max(b.shapeOf(lhs).size(), b.shapeOf(rhs).size()) - 2;
  Dims batch(rank, 1);
  for (Value value : {lhs, rhs}) {
    DimsRef own = b.shapeOf(value).drop_back(2);
    for (size_t i = 0; i < own.size(); ++i) {
      int64_t &size = batch[rank - own.size() + i];
      if (size == 1)
        size = own[i];
      else if (own[i] != 1 && own[i] != size) {
        b.fail("batch sizes " + llvm::Twine(size) + " and " +
               llvm::Twine(own[i]) + " do not broadcast");
        return false;
      }
    }
  }
  auto repeat = [&](Value value) {
    Dims shape(batch);
    llvm::append_range(shape, b.shapeOf(value).take_back(2));
    return b.broadcastTo(value, shape);
  };
  lhs = repeat(lhs);
  rhs = repeat(rhs);
  return lhs && rhs;
}

/// [.., m, k] x [.., k, n].
static Value multiplyMatrices(GraphMaker &b, Value lhs, Value rhs) {
  Pairing how;
  int64_t batches = 0;
  // One matrix for all batches needs no copies: its dimensions are free.
  if (b.shapeOf(rhs).size() > 2) {
    if (!unifyBatches(b, lhs, rhs))
      return {};
    batches = static_cast<int64_t>(b.shapeOf(rhs).size()) - 2;
  }
  for (int64_t i = 0; i < batches; ++i) {
    how.lhsBatch.push_back(i);
    how.rhsBatch.push_back(i);
  }
  how.lhsContract = {static_cast<int64_t>(b.shapeOf(lhs).size()) - 1};
  how.rhsContract = {batches};
  return contract(b, lhs, rhs, how);
}

fusec_value fusec_builder_matmul(fusec_builder *builder, fusec_value lhs,
                                 fusec_value rhs) {
  return buildStep(builder, "matmul", [&](GraphMaker &b) -> Value {
    Value left = b.use(lhs), right = b.use(rhs);
    if (!left || !right)
      return {};
    size_t leftRank = b.shapeOf(left).size();
    size_t rightRank = b.shapeOf(right).size();
    if (!leftRank || !rightRank)
      return b.fail("expected operands of rank 1 or more, found a scalar");
    if (leftRank == 1)
      left = b.reshape(left, {1, b.shapeOf(left)[0]});
    if (rightRank == 1)
      right = b.reshape(right, {b.shapeOf(right)[0], 1});
    if (!left || !right)
      return {};
    Value product = multiplyMatrices(b, left, right);
    if (!product || (leftRank > 1 && rightRank > 1))
      return product;
    Dims shape(b.shapeOf(product));
    if (rightRank == 1)
      shape.pop_back();
    if (leftRank == 1)
      shape.erase(shape.end() - (rightRank == 1 ? 1 : 2));
    return b.reshape(product, shape);
  });
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Positions of batch or output channel, channel, and spatial dimensions.
static Dims layoutDims(int64_t first, int64_t second, int64_t spatialFrom,
                       int64_t spatial) {
  Dims dims = {first, second};
  for (int64_t i = 0; i < spatial; ++i)
    dims.push_back(spatialFrom + i);
  return dims;
}

fusec_value fusec_builder_convolution(fusec_builder *builder, fusec_value input,
                                      fusec_value kernel,
                                      const fusec_window *window,
                                      int64_t groups, fusec_conv_layout layout,
                                      int allow_tf32) {
  return buildStep(builder, "convolution", [&](GraphMaker &b) -> Value {
    Value x = b.use(input), k = b.use(kernel);
    if (!x || !k)
      return {};
    auto rank = static_cast<int64_t>(b.shapeOf(x).size());
    if (rank < 2 || b.shapeOf(k).size() != size_t(rank))
      return b.fail("expected an input and a kernel of one rank of at least 2, "
                    "found ranks " +
                    llvm::Twine(rank) + " and " +
                    llvm::Twine(b.shapeOf(k).size()));
    if (layout != FUSEC_CONV_CHANNELS_FIRST &&
        layout != FUSEC_CONV_CHANNELS_LAST)
      return b.fail("expected a layout, 0 or 1, found " + llvm::Twine(layout));
    int64_t spatial = rank - 2;
    bool isLast = layout == FUSEC_CONV_CHANNELS_LAST;
    Dims inputDims = isLast ? layoutDims(0, rank - 1, 1, spatial)
                            : layoutDims(0, 1, 2, spatial);
    Dims kernelDims =
        isLast ? layoutDims(rank - 1, rank - 2, 0, spatial) : inputDims;
    Window w;
    if (!readWindow(b, window, spatial, w))
      return {};
    Dims shape(rank);
    shape[inputDims[0]] = b.shapeOf(x)[inputDims[0]];
    shape[inputDims[1]] = b.shapeOf(k)[kernelDims[0]];
    for (int64_t i = 0; i < spatial; ++i)
      if (!countPlaces(b, b.shapeOf(x)[inputDims[2 + i]],
                       b.shapeOf(k)[kernelDims[2 + i]], w, i,
                       shape[inputDims[2 + i]]))
        return {};
    return b.make(
        "graph.convolution", {x, k}, b.tensor(b.dtypeOf(x), shape),
        {b.attribute("strides", w.strides),
         b.attribute("dilations", w.dilations), b.attribute("low", w.low),
         b.attribute("high", w.high), b.attribute("inputDims", inputDims),
         b.attribute("kernelDims", kernelDims),
         b.attribute("resultDims", inputDims), b.integer("groups", groups),
         b.flag("allowTf32", allow_tf32 != 0)});
  });
}
