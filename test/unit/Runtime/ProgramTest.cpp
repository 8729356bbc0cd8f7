//===- ProgramTest.cpp - sizes and the program verifier -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RuntimeTestUtils.h"

using namespace fusec;
using namespace fusec::runtime;

TEST(TensorSpec, CountsElementsAndBytes) {
  EXPECT_EQ((TensorSpec{"s", DType::F32, {}}.elements()), 1);
  EXPECT_EQ((TensorSpec{"s", DType::F64, {3, 5, 7}}.bytes()), 840);
  EXPECT_EQ((TensorSpec{"s", DType::I4, {7}}.bytes()), 7);
  EXPECT_EQ((TensorSpec{"s", DType::BF16, {3, 0}}.bytes()), 0);
}

TEST(TensorSpec, ZeroWinsOverAHugeDimension) {
  TensorSpec spec{"s", DType::F64, {INT64_MAX, INT64_MAX, 0}};
  EXPECT_EQ(spec.elements(), 0);
  EXPECT_EQ(*checkedBytes(spec), 0);
}

TEST(TensorSpec, RefusesWhatDoesNotFit) {
  EXPECT_EQ(text(checkedBytes({"big", DType::F64, {int64_t(1) << 61}})),
            "tensor 'big': size does not fit 63 bits");
  EXPECT_EQ(text(checkedBytes({"big", DType::U8, {int64_t(1) << 40, 1 << 30}})),
            "tensor 'big': size does not fit 63 bits");
  EXPECT_EQ(text(checkedBytes({"neg", DType::F32, {4, -1}})),
            "tensor 'neg': expected dimensions of at least 0, found -1");
}

// Each case breaks one thing of a program that verifies.
TEST(VerifyProgram, AcceptsTheUnbrokenProgram) {
  EXPECT_EQ(text(verifyProgram(twoKernelProgram())), "");
  EXPECT_EQ(text(verifyProgram(Program())), "");
  EXPECT_EQ(text(verifyProgram(twoKernelProgram(0))), "");
}

static std::string broken(llvm::function_ref<void(Program &)> breakIt) {
  Program program = twoKernelProgram();
  breakIt(program);
  return text(verifyProgram(program));
}

static Launch &launch(Program &program, size_t step) {
  return std::get<Launch>(program.steps[step]);
}

TEST(VerifyProgram, ChecksIndices) {
  EXPECT_EQ(broken([](Program &p) { launch(p, 0).args[0] = input(1); }),
            "step 0: input 1 does not exist, there are 1");
  EXPECT_EQ(broken([](Program &p) { launch(p, 1).args[1] = constant(9); }),
            "step 1: constant 9 does not exist, there are 1");
  EXPECT_EQ(broken([](Program &p) { launch(p, 0).kernel = 2; }),
            "step 0: kernel 2 does not exist, there are 2");
  EXPECT_EQ(broken([](Program &p) { p.steps.push_back(Fill{temporary(1)}); }),
            "step 2: temporary 1 does not exist, there are 1");
  EXPECT_EQ(broken([](Program &p) {
              p.steps.push_back(Copy{temporary(0), output(1)});
            }),
            "step 2: output 1 does not exist, there are 1");
}

TEST(VerifyProgram, ChecksKernels) {
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].entry = "a b"; }),
            "kernel 'a b': entry is not an identifier");
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].entry = ""; }),
            "kernel '': entry is not an identifier");
  EXPECT_EQ(broken([](Program &p) { p.kernels[1].entry = "k0"; }),
            "kernel 'k0': two kernels have this entry");
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].threads = 1025; }),
            "kernel 'k0': expected 1 to 1024 threads, found 1025");
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].threads = 0; }),
            "kernel 'k0': expected 1 to 1024 threads, found 0");
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].cluster = 17; }),
            "kernel 'k0': expected 1 to 16 blocks per cluster, found 17");
}

TEST(VerifyProgram, ChecksLaunches) {
  EXPECT_EQ(broken([](Program &p) { launch(p, 0).grid = {1, 65536, 1}; }),
            "step 0: kernel 'k0': grid 1 x 65536 x 1 exceeds 2147483647 x "
            "65535 x 65535");
  EXPECT_EQ(broken([](Program &p) { p.kernels[0].cluster = 2; }),
            "step 0: kernel 'k0': grid of 1 blocks is no multiple of the "
            "cluster of 2");
  EXPECT_EQ(broken([](Program &p) {
              launch(p, 0).args[2] = ScalarArg{int64_t(1) << 32, 4};
            }),
            "step 0: kernel 'k0': scalar 4294967296 does not fit 4 bytes");
  EXPECT_EQ(broken([](Program &p) { launch(p, 0).args[2] = ScalarArg{0, 3}; }),
            "step 0: kernel 'k0': scalar 0 does not fit 3 bytes");
  EXPECT_EQ(broken([](Program &p) {
              launch(p, 0).args[2] = ScalarArg{INT32_MIN, 4};
            }),
            "");
}

TEST(VerifyProgram, ChecksTables) {
  auto withTable = [](TableArg table) {
    return broken([&](Program &p) { launch(p, 0).args.push_back(table); });
  };
  EXPECT_EQ(withTable({{input(0), ScalarArg{3, 4}, temporary(0)}}), "");
  EXPECT_EQ(withTable({{input(3)}}),
            "step 0: input 3 does not exist, there are 1");
  EXPECT_EQ(withTable({{ScalarArg{0, 0}}}),
            "step 0: kernel 'k0': scalar 0 does not fit 0 bytes");
  TableArg large;
  large.fields.assign(kMaxTableBytes / 8, input(0));
  EXPECT_EQ(withTable(large), "");
  large.fields.push_back(ScalarArg{1, 4});
  EXPECT_EQ(withTable(large),
            "step 0: kernel 'k0': a table of 4096 fields exceeds 32764 bytes");
}

TEST(VerifyProgram, ChecksTensorMaps) {
  auto with = [](auto change, bool sm90 = true) {
    return broken([&](Program &p) {
      p.inputs[0] = {"in", DType::F32, {1000}};
      TensorMapArg map;
      map.buffer = input(0);
      map.dims = {20, 10, 5};
      map.strides = {80, 800};
      map.box = {8, 4, 2};
      change(map);
      p.kernels[0].usesSm90 = sm90;
      launch(p, 0).args.push_back(map);
    });
  };
  const std::string start = "step 0: kernel 'k0': ";
  auto expect = [&](auto change, const char *message) {
    EXPECT_EQ(with(change), *message ? start + "tensor map: " + message : "");
  };
  using Map = TensorMapArg;
  expect([](Map &) {}, "");
  EXPECT_EQ(with([](Map &) {}, false),
            start + "a tensor map for a kernel that does not use sm_90a");
  EXPECT_EQ(with([](Map &m) { m.buffer = input(7); }),
            "step 0: input 7 does not exist, there are 1");
  expect([](Map &m) { m.dims.clear(); }, "expected 1 to 5 dimensions, found 0");
  expect([](Map &m) { m.strides.pop_back(); },
         "expected 2 strides and a box and steps of 3 dimensions, found 1, 3 "
         "and 0");
  expect([](Map &m) { m.dims[1] = 0; },
         "dimension 1: expected 1 to 2^32 elements, found 0");
  expect([](Map &m) { m.box[2] = 257; },
         "dimension 2: expected a box of 1 to 256 elements, found 257");
  expect([](Map &m) { m.steps = {2, 1, 1}; },
         "dimension 0: expected a step of 1 to 1, found 2");
  expect([](Map &m) { m.steps = {1, 1, 8}; }, "");
  expect([](Map &m) { m.steps = {1, 9, 1}; },
         "dimension 1: expected a step of 1 to 8, found 9");
  expect([](Map &m) { m.strides[0] = 84; },
         "dimension 1: expected a stride below 2^40 bytes in steps of 16, "
         "found 84");
  expect([](Map &m) { m.strides[1] = int64_t(1) << 40; },
         "dimension 2: expected a stride below 2^40 bytes in steps of 16, "
         "found 1099511627776");
  expect([](Map &m) { m.box[0] = 5; },
         "expected rows of a box in steps of 16 bytes, found 20");
  expect([](Map &m) { m.swizzle = 32; }, "");
  expect([](Map &m) { m.swizzle = 32, m.box[0] = 12; },
         "expected a swizzle of 0, 32, 64 or 128 bytes that holds a row of 48 "
         "bytes, found 32");
  expect([](Map &m) { m.swizzle = 16; },
         "expected a swizzle of 0, 32, 64 or 128 bytes that holds a row of 32 "
         "bytes, found 16");
  expect(
      [](Map &m) {
        m.dims = {64}, m.strides = {}, m.box = {16}, m.swizzle = 64;
      },
      "expected no swizzle of a map of one dimension, found 64");
  expect([](Map &m) { m.l2Promotion = 32; },
         "expected an L2 promotion of 0, 64, 128 or 256 bytes, found 32");
  expect([](Map &m) { m.dtype = DType::I32, m.fill = Map::Fill::Nan; },
         "expected a type of 16 bits or more with a NaN, found i32");
  expect([](Map &m) { m.dims[2] = 6; },
         "a region from byte 0 that does not fit the buffer of 4000 bytes in "
         "steps of 16");
  expect([](Map &m) { m.byteOffset = 8; },
         "a region from byte 8 that does not fit the buffer of 4000 bytes in "
         "steps of 16");
  expect([](Map &m) { m.byteOffset = -16; },
         "a region from byte -16 that does not fit the buffer of 4000 bytes in "
         "steps of 16");
  expect(
      [](Map &m) {
        m.dims = {20, int64_t(1) << 32, int64_t(1) << 32},
        m.strides = {80, int64_t(1) << 39};
      },
      "a region from byte 0 that does not fit the buffer of 4000 bytes in "
      "steps of 16");
}

// A temporary that only a tensor map names lives as long as the launch.
TEST(Workspace, SeesBuffersInTensorMaps) {
  Program p = twoKernelProgram();
  p.temporaries.push_back({400, -1});
  TensorMapArg map;
  map.buffer = temporary(1);
  map.dims = {100};
  map.box = {4};
  p.kernels[0].usesSm90 = true;
  launch(p, 0).args.push_back(map);
  ASSERT_EQ(text(planWorkspace(p)), "");
  EXPECT_NE(p.temporaries[0].offset, p.temporaries[1].offset);
  EXPECT_EQ(text(verifyProgram(p)), "");
}

// A temporary that only a table names lives as long as the launch.
TEST(Workspace, SeesBuffersInTables) {
  Program p = twoKernelProgram();
  p.temporaries.push_back({400, -1});
  TableArg table;
  table.fields = {temporary(1)};
  launch(p, 0).args.push_back(table);
  ASSERT_EQ(text(planWorkspace(p)), "");
  EXPECT_NE(p.temporaries[0].offset, p.temporaries[1].offset);
  EXPECT_EQ(text(verifyProgram(p)), "");
}

TEST(VerifyProgram, ChecksOtherSteps) {
  EXPECT_EQ(broken([](Program &p) { p.steps.push_back(Fill{input(0)}); }),
            "step 2: input 0 is written");
  EXPECT_EQ(broken([](Program &p) {
              p.steps.push_back(Copy{input(0), constant(0)});
            }),
            "step 2: constant 0 is written");
  EXPECT_EQ(broken([](Program &p) {
              p.inputs.push_back({"x", DType::F32, {99}});
              p.steps.push_back(Copy{input(1), output(0)});
            }),
            "step 2: copy: expected two buffers of the same size, found 396 "
            "and 400 bytes");
  EXPECT_TRUE(contains(
      broken([](Program &p) { p.steps.push_back(Copy{output(0), output(0)}); }),
      "of one buffer"));
  EXPECT_EQ(
      broken([](Program &p) { p.steps.push_back(HostCall{"h", {}, {}}); }),
      "step 2: host call 'h' has no function");
}

TEST(VerifyProgram, ChecksTensors) {
  EXPECT_EQ(broken([](Program &p) { p.constants[0].bytes = nullptr; }),
            "constant 'weight': expected 400 bytes, found 0");
  EXPECT_EQ(broken([](Program &p) { p.inputs[0].shape = {-3}; }),
            "tensor 'in': expected dimensions of at least 0, found -3");
  EXPECT_EQ(broken([](Program &p) {
              p.outputs.push_back({"lost", DType::F32, {1}});
            }),
            "output 'lost' is written by no step");
  EXPECT_EQ(broken([](Program &p) {
              p.outputs.push_back({"empty", DType::F32, {0}});
            }),
            "");
}

TEST(VerifyProgram, ChecksTheWorkspace) {
  EXPECT_TRUE(contains(broken([](Program &p) { p.temporaries[0].offset = -1; }),
                       "temporary 0: 400 bytes at offset -1 do not fit"));
  EXPECT_TRUE(contains(broken([](Program &p) { p.workspaceBytes = 399; }),
                       "do not fit the workspace of 399 bytes"));
  EXPECT_TRUE(contains(
      broken([](Program &p) { p.temporaries[0].offset = INT64_MAX - 15; }),
      "do not fit"));
  EXPECT_EQ(broken([](Program &p) {
              p.temporaries.push_back({400, 384});
              p.workspaceBytes = 1024;
              launch(p, 1).args.push_back(temporary(1));
            }),
            "temporaries 1 and 0 overlap while both are alive");
  EXPECT_EQ(broken([](Program &p) { p.workspaceBytes = -1; }),
            "workspace: expected at least 0 bytes, found -1");
}
