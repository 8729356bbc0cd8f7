//===- StridedCopyTest.cpp - the runtime's gather kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/StridedCopy.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace fusec::runtime;

namespace {
// The kernel on checked memory against the loop on the host.
void checkCopy(std::vector<int64_t> shape, std::vector<int64_t> strides,
               int64_t first, unsigned bytes) {
  auto device = createEmulatorDevice();
  auto module = llvm::cantFail(device->loadModule(stridedCopyKernel(bytes)));
  StridedLayout layout = llvm::cantFail(StridedLayout::get(shape, strides));
  std::vector<uint8_t> data(4096 * bytes), found(layout.elements * bytes),
      expected(found.size());
  std::iota(data.begin(), data.end(), 1);
  Buffer in = llvm::cantFail(Buffer::allocate(device, data.size()));
  Buffer out = llvm::cantFail(Buffer::allocate(device, found.size()));
  llvm::cantFail(device->copyIn(in.data(), data.data(), data.size(), nullptr));
  const void *from = in.data();
  void *to = out.data();
  int64_t elements = layout.elements;
  int32_t rank = layout.rank;
  std::vector<void *> args = {&from, &to, &elements, &rank};
  for (int64_t &size : layout.sizes)
    args.push_back(&size);
  for (int64_t &stride : layout.strides)
    args.push_back(&stride);
  std::vector<int64_t> bufferBytes(args.size(), -1);
  // The window of the buffer that the kernel is told of starts at `first`.
  from = static_cast<const uint8_t *>(in.data()) + first * bytes;
  bufferBytes[0] = data.size() - first * bytes;
  bufferBytes[1] = found.size();
  LaunchRequest request{&module->kernel(0), {2, 1, 1},   0,
                        args.data(),        bufferBytes, {}};
  ASSERT_EQ(llvm::toString(device->launch(request, nullptr)), "");
  llvm::cantFail(
      device->copyOut(found.data(), out.data(), found.size(), nullptr));
  copyStridedOnHost(expected.data(), data.data() + first * bytes, layout,
                    bytes);
  EXPECT_EQ(found, expected);
}
} // namespace

TEST(StridedCopy, MatchesTheHost) {
  checkCopy({40, 30}, {1, 40}, 0, 4);
  checkCopy({7, 5, 3}, {40, 1, 9}, 3, 2);
  checkCopy({1, 1}, {0, 0}, 5, 8);
  checkCopy({3, 600}, {0, 2}, 0, 1);
  checkCopy({2, 2, 2, 2, 2, 2, 2, 2}, {3, 7, 13, 29, 61, 127, 257, 515}, 1, 4);
}

// Memory that a strided copy filled counts as written.
TEST(StridedCopy, KernelsMayReadWhatItWrote) {
  auto device = createEmulatorDevice();
  auto module = llvm::cantFail(device->loadModule(stridedCopyKernel(4)));
  StridedLayout columns = llvm::cantFail(StridedLayout::get({3, 4}, {1, 3}));
  std::vector<int32_t> data(12), found(12);
  std::iota(data.begin(), data.end(), 0);
  Buffer in = llvm::cantFail(Buffer::allocate(device, 48));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 48));
  llvm::cantFail(
      device->copyStrided(in.data(), data.data(), columns, 4, nullptr));
  StridedLayout dense = llvm::cantFail(StridedLayout::get({12}, {1}));
  const void *from = in.data();
  void *to = out.data();
  int32_t rank = dense.rank;
  std::vector<void *> args = {&from, &to, &dense.elements, &rank};
  for (int64_t &size : dense.sizes)
    args.push_back(&size);
  for (int64_t &stride : dense.strides)
    args.push_back(&stride);
  std::vector<int64_t> bytes(args.size(), -1);
  bytes[0] = bytes[1] = 48;
  LaunchRequest request{&module->kernel(0), {1, 1, 1}, 0,
                        args.data(),        bytes,     {}};
  ASSERT_EQ(llvm::toString(device->launch(request, nullptr)), "");
  llvm::cantFail(device->copyOut(found.data(), out.data(), 48, nullptr));
  EXPECT_EQ(found,
            (std::vector<int32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(StridedCopy, LayoutsJoinDimensions) {
  auto rank = [](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return llvm::cantFail(StridedLayout::get(shape, strides)).rank;
  };
  EXPECT_EQ(rank({4, 5, 6}, {30, 6, 1}), 1u);
  EXPECT_EQ(rank({4, 5, 6}, {60, 6, 1}), 2u);
  EXPECT_EQ(rank({4, 1, 6}, {6, 999, 1}), 1u);
  EXPECT_EQ(rank({1, 1}, {7, 7}), 0u);
  EXPECT_TRUE(llvm::cantFail(StridedLayout::get({4, 5}, {5, 1})).isDense());
  EXPECT_FALSE(llvm::cantFail(StridedLayout::get({4, 5}, {5, 2})).isDense());
  EXPECT_FALSE(llvm::cantFail(StridedLayout::get({4, 5}, {0, 1})).isDense());
}
