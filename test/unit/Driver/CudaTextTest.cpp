//===- CudaTextTest.cpp - what the text of a thread program does ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops and launch forms that no schedule of today needs, run in the emulator.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fusec;
using llvm::formatv;

namespace {

constexpr int kLanes = 32;

/// The thread programs of `text`, one warp each.
class CudaText : public ::testing::Test {
protected:
  llvm::SmallVector<simt::KernelOp> parse(const std::string &text) {
    context.loadDialect<simt::SimtDialect, mlir::arith::ArithDialect,
                        mlir::memref::MemRefDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return {};
    return llvm::to_vector(module->getOps<simt::KernelOp>());
  }

  /// The i32 elements of all outputs, one output after the other.
  static std::vector<int32_t> run(runtime::Program program,
                                  std::vector<std::vector<float>> inputs = {}) {
    std::vector<llvm::ArrayRef<std::byte>> bytes;
    for (const std::vector<float> &input : inputs)
      bytes.push_back({reinterpret_cast<const std::byte *>(input.data()),
                       4 * input.size()});
    auto loaded = runtime::Executable::create(std::move(program),
                                              runtime::createEmulatorDevice());
    if (!loaded) {
      ADD_FAILURE() << llvm::toString(loaded.takeError());
      return {};
    }
    auto outputs = runtime::runWithHostData(*loaded, bytes);
    if (!outputs) {
      ADD_FAILURE() << llvm::toString(outputs.takeError());
      return {};
    }
    std::vector<int32_t> result;
    for (const std::vector<std::byte> &output : *outputs) {
      size_t first = result.size();
      result.resize(first + output.size() / 4);
      std::memcpy(&result[first], output.data(), output.size());
    }
    return result;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::string kernelText(const std::string &name, const std::string &arguments,
                       unsigned readOnly, const std::string &grid,
                       const std::string &body) {
  return "simt.kernel @" + name + "(" + arguments +
         ") attributes {threads = 32 : i64, readOnly = " +
         std::to_string(readOnly) + " : i64, grid = array<i64: " + grid +
         ">, extents = array<i64>, wideOffsets = false} {\n"
         "  %c0 = arith.constant 0 : index\n  %lane = simt.lane : index\n" +
         body + "}\n";
}

} // namespace

/// Bits 0 to 3 are the answers of a predicate for equal, greater, less and
/// unordered operands.
static unsigned answersOf(mlir::arith::CmpFPredicate predicate) {
  using P = mlir::arith::CmpFPredicate;
  unsigned number = unsigned(predicate);
  return predicate == P::UNO ? 8 : predicate >= P::UEQ ? number + 1 : number;
}

TEST_F(CudaText, ComparisonsOfFloatsForEveryOrder) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const float values[] = {1.0f, -0.0f, 0.0f, kNan, kInf};
  std::vector<float> a(kLanes), b(kLanes);
  for (int i = 0; i < 25; ++i) {
    a[i] = values[i / 5];
    b[i] = values[i % 5];
  }
  std::string body = "  %one = arith.constant 1 : i32\n"
                     "  %zero = arith.constant 0 : i32\n"
                     "  %x = memref.alloca() : memref<1xf32>\n"
                     "  %y = memref.alloca() : memref<1xf32>\n"
                     "  %r = memref.alloca() : memref<1xi32>\n";
  for (const char *side : {"a%x", "b%y"})
    body += formatv("  simt.load 1 %{0}[%lane], {1}[%c0] : memref<?xf32>, "
                    "memref<1xf32>\n",
                    side[0], side + 1);
  body += "  %p = memref.load %x[%c0] : memref<1xf32>\n"
          "  %q = memref.load %y[%c0] : memref<1xf32>\n";
  constexpr unsigned kFirst = unsigned(mlir::arith::CmpFPredicate::OEQ),
                     kLast = unsigned(mlir::arith::CmpFPredicate::UNO);
  for (unsigned i = kFirst; i <= kLast; ++i)
    body += formatv(
        "  %t{0} = arith.cmpf {1}, %p, %q : f32\n"
        "  %s{0} = arith.select %t{0}, %one, %zero : i32\n"
        "  memref.store %s{0}, %r[%c0] : memref<1xi32>\n"
        "  %o{0} = arith.constant {2} : index\n"
        "  %at{0} = arith.addi %lane, %o{0} : index\n"
        "  simt.store 1 %r[%c0], %c[%at{0}] : memref<1xi32>, memref<?xi32>\n",
        i, stringifyEnum(mlir::arith::CmpFPredicate(i)), (i - kFirst) * kLanes);
  auto kernels = parse(
      kernelText("k", "%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xi32>",
                 2, "1, 1, 1", body));
  ASSERT_EQ(kernels.size(), 1u);
  auto text = cuda::emitKernel(kernels[0]);
  ASSERT_TRUE(succeeded(text));

  constexpr int64_t kCount = (kLast - kFirst + 1) * kLanes;
  runtime::Program program;
  program.inputs = {{"a", DType::F32, {kLanes}}, {"b", DType::F32, {kLanes}}};
  program.outputs = {{"c", DType::I32, {kCount}}};
  program.kernels = {*text};
  using runtime::BufferRef, runtime::Space;
  program.steps = {
      runtime::Launch{0,
                      {1, 1, 1},
                      0,
                      {BufferRef{Space::Input, 0}, BufferRef{Space::Input, 1},
                       BufferRef{Space::Output, 0}}}};
  std::vector<int32_t> result = run(program, {a, b});
  ASSERT_EQ(result.size(), size_t(kCount));
  for (int64_t i = 0; i < kCount; ++i) {
    float p = a[i % kLanes], q = b[i % kLanes];
    unsigned order = std::isunordered(p, q) ? 8 : p < q ? 4 : p > q ? 2 : 1;
    auto predicate = mlir::arith::CmpFPredicate(kFirst + i / kLanes);
    EXPECT_EQ(result[i], int((answersOf(predicate) & order) != 0))
        << p << " " << stringifyEnum(predicate).str() << " " << q;
  }
}

// Infinities, NaN and small numbers are written by their bits.
TEST_F(CudaText, ConstantsKeepTheirBits) {
  const uint32_t bits[] = {0x7f800000, 0xff800000, 0x7fc01234,
                           0x00000001, 0x80000000, 0x3f800001};
  std::string body = "  %r = memref.alloca() : memref<1xf32>\n"
                     "  %h = memref.alloca() : memref<1xf16>\n";
  std::vector<int32_t> expected;
  for (auto [i, value] : llvm::enumerate(bits)) {
    body += formatv(
        "  %v{0} = arith.constant 0x{1} : f32\n"
        "  %o{0} = arith.constant {2} : index\n"
        "  %at{0} = arith.addi %lane, %o{0} : index\n"
        "  memref.store %v{0}, %r[%c0] : memref<1xf32>\n"
        "  simt.store 1 %r[%c0], %a[%at{0}] : memref<1xf32>, memref<?xf32>\n",
        i, llvm::utohexstr(value, false, 8), i * kLanes);
    expected.insert(expected.end(), kLanes, int32_t(value));
  }
  body += "  %w = arith.constant 0x7C00 : f16\n"
          "  memref.store %w, %h[%c0] : memref<1xf16>\n"
          "  simt.store 1 %h[%c0], %b[%lane] : memref<1xf16>, memref<?xf16>\n";
  expected.insert(expected.end(), kLanes / 2, 0x7c007c00);
  auto kernels = parse(kernelText("k", "%a: memref<?xf32>, %b: memref<?xf16>",
                                  0, "1, 1, 1", body));
  ASSERT_EQ(kernels.size(), 1u);
  auto text = cuda::emitKernel(kernels[0]);
  ASSERT_TRUE(succeeded(text));
  runtime::Program program;
  program.outputs = {{"a", DType::F32, {int64_t(std::size(bits)) * kLanes}},
                     {"b", DType::F16, {kLanes}}};
  program.kernels = {*text};
  using runtime::BufferRef, runtime::Space;
  program.steps = {runtime::Launch{
      0,
      {1, 1, 1},
      0,
      {BufferRef{Space::Output, 0}, BufferRef{Space::Output, 1}}}};
  EXPECT_EQ(run(program), expected);
}

// Programs side by side see the coordinates of their own grids.
TEST_F(CudaText, JointProgramsHaveTheirOwnGrids) {
  const int64_t grids[2][3] = {{2, 3, 2}, {3, 1, 2}};
  auto program = [&](unsigned part) {
    auto [gx, gy, gz] = grids[part];
    std::string body;
    for (int d : {0, 1, 2})
      body += formatv("  %b{0} = simt.block_id {0} : index\n", d);
    // Where the block is in row-major order, times the lanes; and who it is.
    for (auto [name, value] :
         {std::pair("gx", gx), std::pair("gy", gy),
          std::pair("ten", int64_t(10)), std::pair("lanes", int64_t(kLanes)),
          std::pair("base", int64_t(1000) * part)})
      body += formatv("  %{0} = arith.constant {1} : index\n", name, value);
    body += "  %z0 = arith.muli %b2, %gy : index\n"
            "  %z1 = arith.addi %z0, %b1 : index\n"
            "  %z2 = arith.muli %z1, %gx : index\n"
            "  %z3 = arith.addi %z2, %b0 : index\n"
            "  %z4 = arith.muli %z3, %lanes : index\n"
            "  %at = arith.addi %z4, %lane : index\n"
            "  %n0 = arith.muli %b2, %ten : index\n"
            "  %n1 = arith.addi %n0, %b1 : index\n"
            "  %n2 = arith.muli %n1, %ten : index\n"
            "  %n3 = arith.addi %n2, %b0 : index\n"
            "  %n4 = arith.addi %n3, %base : index\n"
            "  %n = arith.index_cast %n4 : index to i32\n"
            "  %r = memref.alloca() : memref<1xi32>\n"
            "  memref.store %n, %r[%c0] : memref<1xi32>\n"
            "  simt.store 1 %r[%c0], %c[%at] : memref<1xi32>, memref<?xi32>\n";
    return kernelText("k" + std::to_string(part), "%c: memref<?xi32>", 0,
                      formatv("{0}, {1}, {2}", gx, gy, gz), body);
  };
  auto kernels = parse(program(0) + program(1));
  ASSERT_EQ(kernels.size(), 2u);
  auto joint = cuda::emitJointKernel(kernels);
  ASSERT_TRUE(succeeded(joint));

  runtime::Program whole;
  whole.kernels = {joint->kernel};
  runtime::TableArg table;
  uint32_t blocks = 0;
  std::vector<int32_t> expected;
  for (unsigned part : joint->order) {
    table.fields.push_back(runtime::ScalarArg{blocks, 4});
    blocks += grids[part][0] * grids[part][1] * grids[part][2];
  }
  for (unsigned part : joint->order) {
    ASSERT_TRUE(joint->usesGrid[part]);
    auto [gx, gy, gz] = grids[part];
    table.fields.push_back(runtime::BufferRef{
        runtime::Space::Output, static_cast<uint32_t>(whole.outputs.size())});
    table.fields.push_back(runtime::ScalarArg{gx, 8});
    table.fields.push_back(runtime::ScalarArg{gy, 8});
    whole.outputs.push_back({"c", DType::I32, {gx * gy * gz * kLanes}});
    for (int64_t z = 0; z < gz; ++z)
      for (int64_t y = 0; y < gy; ++y)
        for (int64_t x = 0; x < gx; ++x)
          expected.insert(expected.end(), kLanes,
                          int32_t(1000 * part + 100 * z + 10 * y + x));
  }
  whole.steps = {runtime::Launch{0, {blocks, 1, 1}, 0, {table}}};
  EXPECT_EQ(run(whole), expected);
}
