//===- DLPackTest.cpp - tensors of other libraries ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"

namespace {
/// A DLPack view of aligned host memory.
struct View {
  alignas(64) float data[16] = {};
  std::vector<int64_t> shape, strides;
  DLTensor tensor = {};

  explicit View(std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    tensor.data = data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape.data();
  }
};

/// makeAddRelu on the host with a tensor for each side.
class ApiDLPack : public testing::Test {
protected:
  Context context = makeContext();
  Executable executable = compile(makeAddRelu(context));
  Execution execution = makeExecution(executable);
  View x{{2, 3}}, y{{2, 3}};

  fusec_error *run() {
    const DLTensor *in = &x.tensor, *out = &y.tensor;
    return fusec_execution_context_run_dlpack(execution.get(), &in, 1, &out, 1,
                                              nullptr);
  }
};
} // namespace

TEST_F(ApiDLPack, RowMajorTensorsRun) {
  x.data[0] = -5;
  x.data[4] = 5;
  ASSERT_TRUE(ok(run()));
  EXPECT_EQ(y.data[0], 0);
  EXPECT_EQ(y.data[4], 6);
  x.strides = {3, 1};
  x.tensor.strides = x.strides.data();
  EXPECT_TRUE(ok(run()));
}

TEST_F(ApiDLPack, OffsetsAreAdded) {
  x.tensor.data = x.data;
  x.tensor.byte_offset = 16;
  x.data[4] = 9;
  ASSERT_TRUE(ok(run()));
  EXPECT_EQ(y.data[0], 9);
}

TEST_F(ApiDLPack, WrongTypesAreNamed) {
  x.tensor.dtype = {kDLFloat, 16, 1};
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected element type f32, found f16"));
  x.tensor.dtype = {kDLInt, 32, 1};
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "found i32"));
  x.tensor.dtype = {kDLFloat, 32, 4};
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "(2, 32, 4)"));
}

TEST_F(ApiDLPack, WrongShapesAreNamed) {
  x.tensor.ndim = 1;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected rank 2, found 1"));
  x.tensor.ndim = 2;
  x.shape[1] = 4;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected shape [2, 3], found [2, 4]"));
  x.shape[1] = 3;
  x.tensor.shape = nullptr;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "rank"));
  x.tensor.shape = x.shape.data();
  y.tensor.ndim = -1;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "output 'y'"));
}

TEST_F(ApiDLPack, InputsMayHaveStrides) {
  for (int i = 0; i < 16; ++i)
    x.data[i] = static_cast<float>(i * i);
  x.strides = {1, 2}; // column-major
  x.tensor.strides = x.strides.data();
  ASSERT_TRUE(ok(run()));
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(y.data[3 * row + column],
                float((row + 2 * column) * (row + 2 * column) + column));
  x.strides = {0, -1}; // one row, backwards, from element 5
  x.tensor.byte_offset = 20;
  ASSERT_TRUE(ok(run()));
  EXPECT_EQ(y.data[0], 25);
  EXPECT_EQ(y.data[5], 9 + 2);
}

TEST_F(ApiDLPack, UnalignedTensorsRun) {
  x.tensor.byte_offset = y.tensor.byte_offset = 4;
  const DLTensor *in = &x.tensor, *out = &y.tensor;
  ASSERT_TRUE(ok(fusec_execution_context_prepare_dlpack(execution.get(), &in, 1,
                                                        &out, 1)));
  EXPECT_EQ(y.data[1], 0); // nothing was enqueued
  x.data[1] = 7;
  ASSERT_TRUE(ok(run()));
  EXPECT_EQ(y.data[1], 7);
}

TEST_F(ApiDLPack, OutputsMustBeRowMajor) {
  y.strides = {1, 2};
  y.tensor.strides = y.strides.data();
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "output 'y': expected a row-major tensor, found "
                        "strides [1, 2]"));
}

TEST_F(ApiDLPack, WrongDevicesAreNamed) {
  x.tensor.device = {kDLCUDA, 0};
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected a tensor on host device 0"));
  x.tensor.device = {kDLCUDAHost, 0};
  EXPECT_TRUE(ok(run()));
}

TEST_F(ApiDLPack, NullIsNamed) {
  const DLTensor *in = nullptr, *out = &y.tensor;
  EXPECT_TRUE(failsWith(fusec_execution_context_run_dlpack(execution.get(), &in,
                                                           1, &out, 1, nullptr),
                        FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected a tensor, found null"));
  x.tensor.data = nullptr;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "'x'"));
}

TEST_F(ApiDLPack, OutputsAreOwned) {
  DLManagedTensor *out = nullptr;
  ASSERT_TRUE(ok(fusec_executable_allocate_output(executable.get(), 0, &out)));
  EXPECT_EQ(out->dl_tensor.ndim, 2);
  EXPECT_EQ(out->dl_tensor.shape[1], 3);
  EXPECT_EQ(out->dl_tensor.device.device_type, kDLCPU);
  const DLTensor *in = &x.tensor, *to = &out->dl_tensor;
  ASSERT_TRUE(ok(fusec_execution_context_run_dlpack(execution.get(), &in, 1,
                                                    &to, 1, nullptr)));
  execution.reset();
  executable.reset();
  context.reset();
  EXPECT_EQ(static_cast<float *>(out->dl_tensor.data)[2], 2);
  out->deleter(out);
}

TEST(ApiDLPackTypes, BoolComesInTwoForms) {
  Context context = makeContext();
  Builder b = makeBuilder(context);
  const int64_t shape[] = {16};
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_BOOL, 1, shape);
  fusec_builder_output(b.get(), "y",
                       fusec_builder_unary(b.get(), FUSEC_NOT, x));
  Executable executable = compile(finish(b));
  Execution execution = makeExecution(executable);
  View in({16}), out({16});
  in.tensor.dtype = {kDLUInt, 8, 1};
  out.tensor.dtype = {kDLBool, 8, 1};
  const DLTensor *from = &in.tensor, *to = &out.tensor;
  ASSERT_TRUE(ok(fusec_execution_context_run_dlpack(execution.get(), &from, 1,
                                                    &to, 1, nullptr)));
  EXPECT_EQ(reinterpret_cast<char *>(out.data)[7], 1);
}
