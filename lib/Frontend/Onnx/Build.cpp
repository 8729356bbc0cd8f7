//===- Build.cpp - compositions that several operators share --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

Val importer::expandRank(Operator &op, const Val &x, int64_t rank, int64_t at) {
  if (!x)
    return {};
  Dims shape(rank, 1);
  llvm::copy(x.shape, shape.begin() + at);
  return op.emit.reshape(x, shape);
}

Val importer::splitHeads(Operator &op, const Val &x, int64_t heads) {
  if (!x ||
      !op.require(x.rank() >= 1 && heads > 0 && x.shape.back() % heads == 0,
                  "cannot split " + describe(x.shape) + " into " +
                      llvm::Twine(heads) + " heads"))
    return {};
  Dims shape(DimsRef(x.shape).drop_back());
  shape.append({heads, x.shape.back() / heads});
  return op.emit.reshape(x, shape);
}

Val importer::headsFirst(Operator &op, const Val &x, int64_t heads) {
  if (!x ||
      !op.require(x.rank() == 3, "expected rank 3, found " + describe(x.shape)))
    return {};
  return op.emit.transpose(splitHeads(op, x, heads), {0, 2, 1, 3});
}

Val importer::headsLast(Operator &op, const Val &x) {
  Val y = op.emit.transpose(x, {0, 2, 1, 3});
  return y ? op.emit.reshape(y,
                             {y.shape[0], y.shape[1], y.shape[2] * y.shape[3]})
           : Val();
}
