//===- RowSharedTest.cpp - shared memory of rows that clusters keep -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a block keeps of a row and what its reductions exchange share the memory
// that a launch may have; every further reduction exchanges more.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {

/// x - sum(x) over axis 0, `count` times in turn, of f32.
std::string chain(int count, int columns, int rows) {
  std::string row = "tensor<" + std::to_string(rows) + "xf32>";
  std::string full = "tensor<" + std::to_string(columns) + "x" +
                     std::to_string(rows) + "xf32>";
  std::string text = "func.func @f(%x0: " + full + ") -> " + full + " {\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  %s" + n + " = graph.reduce sum %x" + n + " [0] : " + full +
            " -> " + row + "\n  %b" + n + " = graph.broadcast %s" + n +
            " [1] : " + row + " -> " + full + "\n  %x" + next +
            " = graph.sub %x" + n + ", %b" + n + " : " + full + "\n";
  }
  return text + "  return %x" + std::to_string(count) + " : " + full + "\n}\n";
}

/// Bytes of the static f32 arrays of `source`; each has 128 or a multiple.
int64_t staticBytes(llvm::StringRef source) {
  int64_t bytes = 0;
  for (llvm::StringRef rest = source; !rest.empty();) {
    llvm::StringRef array;
    rest = rest.split("FUSEC_SHARED(f32, ").second;
    array = rest.split(')').first.split(", ").second;
    int64_t elements = 0;
    if (!array.getAsInteger(10, elements))
      bytes += llvm::alignTo(4 * elements, 128);
  }
  return bytes;
}

struct Need {
  /// Of the kernel with most.
  int64_t bytes = 0;
  /// A kernel runs in clusters.
  bool isKept = false;
};

Need needOf(const std::string &text) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  Need result;
  driver::CompileOptions options;
  options.target = TargetInfo::h200();
  auto compiled = driver::compile(*module, options);
  if (!compiled) {
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return result;
  }
  const runtime::Program &program = compiled->program;
  for (const runtime::Step &step : program.steps) {
    const auto *launch = std::get_if<runtime::Launch>(&step);
    if (!launch)
      continue;
    const runtime::Kernel &kernel = program.kernels[launch->kernel];
    result.isKept |= kernel.cluster > 1;
    result.bytes = std::max(result.bytes, int64_t(launch->dynamicSharedBytes) +
                                              staticBytes(kernel.source));
  }
  return result;
}

// 24576 columns of 32 rows are 192 KB for each of 16 blocks.
TEST(RowShared, ExchangesOfManyReductionsFitBesideTheRow) {
  for (int count : {5, 7, 12}) {
    Need need = needOf(chain(count, 24576, 4096));
    EXPECT_LE(need.bytes, TargetInfo::h200().sharedBytesPerBlock) << count;
    EXPECT_GT(need.bytes, 0) << count;
  }
}

TEST(RowShared, FewReductionsKeepTheRow) {
  Need need = needOf(chain(2, 24576, 4096));
  EXPECT_TRUE(need.isKept);
  // The row, and a place of 32 rows for each of 32 warps and of 16 blocks.
  EXPECT_EQ(need.bytes, 192 * 1024 + 2 * (32 + 16) * 32 * 4);
}

// Shorter columns leave room for more.
TEST(RowShared, ShorterRowsKeepMore) {
  Need need = needOf(chain(7, 20000, 4096));
  EXPECT_TRUE(need.isKept);
  EXPECT_LE(need.bytes, TargetInfo::h200().sharedBytesPerBlock);
}

} // namespace
