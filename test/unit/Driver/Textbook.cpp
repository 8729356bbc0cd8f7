//===- Textbook.cpp - the textbook examples of fusion ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Textbook.h"

using namespace fusec;
using namespace fusec::test;

/// `text` with type and sizes in place.
static std::string instantiate(llvm::StringRef text, llvm::StringRef type,
                               const Sizes &sizes) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split('$');
    result += before;
    if (after.empty())
      break;
    result += after.front() == 'T' ? type.str()
                                   : std::to_string(sizes[after.front() - 'A']);
    text = after.drop_front();
  }
  return result;
}

namespace {
/// Accuracy of an element type.
struct Precision {
  /// Half a unit in the last place of 1, and the smallest positive value.
  double halfUnit = 0, smallest = 0;
  /// As halfUnit, of the type that sums have.
  double sumUnit = 0;
};
} // namespace

/// Math functions of f32 and f64 kernels are not correctly rounded: a unit for
/// f32, more for f64.
static Precision precisionOf(llvm::StringRef type) {
  if (type == "f64")
    return {0x1p-50, 0x1p-1074, 0x1p-53};
  if (type == "f32")
    return {0x1p-23, 0x1p-149, 0x1p-24};
  if (type == "f16")
    return {0x1p-11, 0x1p-24, 0x1p-24};
  if (type == "bf16")
    return {0x1p-8, 0x1p-133, 0x1p-24};
  return {};
}

void fusec::test::run(const Example &example, llvm::StringRef type,
                      const Sizes &sizes, const RunOptions &options) {
  std::string where = type.str() + (options.special ? ", special values" : "");
  for (int64_t size : sizes)
    where += " " + std::to_string(size);
  SCOPED_TRACE(where);
  DifferentialOptions differential;
  Precision precision = precisionOf(type);
  double summed = double(example.summed);
  differential.tolerance = {example.roundings * precision.halfUnit,
                            example.cancelled * precision.halfUnit +
                                4 * summed * summed * precision.sumUnit +
                                example.roundings * precision.smallest};
  differential.special = options.special;
  differential.seed = 17 + sizes.size();
  differential.kernels = example.kernels;
  differential.integerLimit = example.integerLimit;
  differential.numerics = options.numerics;
  differential.host = options.host;
  checkGraph(instantiate(example.text, type, sizes), differential);
}

void fusec::test::runAll(const Example &example, llvm::ArrayRef<Sizes> sizes,
                         llvm::ArrayRef<llvm::StringRef> moreTypes) {
  const Sizes &odd = sizes[1];
  for (const Sizes &one : sizes)
    run(example, "f32", one, {.host = &one == sizes.begin()});
  for (llvm::StringRef type : {"f16", "bf16"}) {
    run(example, type, odd);
    run(example, type, odd, {.numerics = NumericsMode::Exact});
    run(example, type, odd, {.special = true, .numerics = NumericsMode::Exact});
  }
  for (llvm::StringRef type : moreTypes) {
    run(example, type, odd);
    if (type == "f64")
      run(example, type, odd, {.special = true});
  }
  run(example, "f32", odd, {.special = true, .host = true});
}
