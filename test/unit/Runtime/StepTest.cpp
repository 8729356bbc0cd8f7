//===- StepTest.cpp - what measurements need of an executable -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeDevice.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Executable.h"

using namespace fusec;
using namespace fusec::runtime;

TEST(Step, StepsRunOneByOne) {
  auto device = std::make_shared<FakeDevice>();
  auto executable =
      llvm::cantFail(Executable::create(twoKernelProgram(300), device));
  auto whole = llvm::cantFail(ExecutionContext::create(executable));
  auto parts = llvm::cantFail(ExecutionContext::create(executable));
  Buffer in = llvm::cantFail(Buffer::allocate(device, 1200));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 1200));
  ASSERT_EQ(text(whole->run({in.data()}, {out.data()})), "");
  ASSERT_EQ(text(parts->runStep(0, {in.data()}, {out.data()})), "");
  ASSERT_EQ(device->launches.size(), 3u);
  EXPECT_EQ(device->launches[2].entry, device->launches[0].entry);
  EXPECT_EQ(device->launches[2].values[0], device->launches[0].values[0]);
  ASSERT_EQ(text(parts->runStep(1, {in.data()}, {out.data()})), "");
  EXPECT_EQ(device->launches[3].values[2], device->launches[1].values[2]);
  // There is no such step, and nothing happens.
  ASSERT_EQ(text(parts->runStep(2, {in.data()}, {out.data()})), "");
  EXPECT_EQ(device->launches.size(), 4u);
  EXPECT_NE(text(parts->runStep(0, {}, {out.data()})), "");
  device->failingEntry = "k1";
  EXPECT_NE(text(parts->runStep(1, {in.data()}, {out.data()})).find("step 1"),
            std::string::npos);
  EXPECT_EQ(device->depth, 0);
}

TEST(Step, ACopyHasItsOwnConstants) {
  auto device = std::make_shared<FakeDevice>();
  auto one = llvm::cantFail(Executable::create(twoKernelProgram(300), device));
  auto other = llvm::cantFail(one->withOwnConstants());
  ASSERT_NE(one->constant(0), other->constant(0));
  EXPECT_EQ(std::memcmp(one->constant(0), other->constant(0),
                        one->program().constants[0].bytes->size()),
            0);
  // Kernels are shared and live as long as either.
  EXPECT_EQ(&one->kernel(0), &other->kernel(0));
  one.reset();
  EXPECT_EQ(other->kernel(0).entry, "k0");
}
