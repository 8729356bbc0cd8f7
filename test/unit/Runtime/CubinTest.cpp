//===- CubinTest.cpp - reading hostile and true cubins --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Cubin.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"

#include <random>

using namespace fusec::runtime;

TEST(Cubin, RefusesWhatIsNoElfFile) {
  std::vector<char> bytes;
  EXPECT_TRUE(contains(text(readCubin(bytes)), "expected a 64-bit"));
  bytes.assign(1000, 'x');
  EXPECT_TRUE(contains(text(readCubin(bytes)), "expected a 64-bit"));
}

// Cut and damaged files must give an answer or an error and stay in bounds;
// run under AddressSanitizer this shows reads outside.
TEST(Cubin, SurvivesDamage) {
  auto nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  auto module = llvm::cantFail(compileText(
      **nvrtc, "k.cu",
      "extern \"C\" __global__ void k(float *a) { a[0] = 1.0f; }", {}));
  llvm::ArrayRef<char> whole = module->cubin;
  ASSERT_EQ(llvm::cantFail(readCubin(whole)).count("k"), 1u);
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); size += 7) {
    std::vector<char> cut(whole.begin(), whole.begin() + size);
    refused += !text(readCubin(cut)).empty();
  }
  EXPECT_GT(refused, 0u);
  std::mt19937 rng(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> damaged(whole.begin(), whole.end());
    for (int i = 0; i < 8; ++i)
      damaged[rng() % damaged.size()] = static_cast<char>(rng());
    text(readCubin(damaged));
  }
}
