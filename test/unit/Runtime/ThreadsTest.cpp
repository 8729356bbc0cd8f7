//===- ThreadsTest.cpp - many threads on one executable -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ThreadSanitizer looks at (preset tsan): the host's thread pool, the
// emulator's workers and fibres, and a shared executable. No MLIR.
//===----------------------------------------------------------------------===//
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "gtest/gtest.h"

#include <thread>

using namespace fusec;
using namespace fusec::runtime;

namespace {

constexpr int kThreads = 16, kRuns = 8;
constexpr int32_t kCount = 5000;

/// out = (in + 1) + 1 in two launches, by way of a temporary.
Program program(Kernel kernel, bool isHost) {
  Program result;
  result.inputs = {{"in", DType::I32, {kCount}}};
  result.outputs = {{"out", DType::I32, {kCount}}};
  result.temporaries = {{4 * kCount, -1}};
  result.kernels = {std::move(kernel)};
  uint32_t blocks = (kCount + 31) / 32;
  auto launch = [&](BufferRef from, BufferRef to) {
    Launch made{0, {blocks, 1, 1}, 0, {from, to}};
    made.args.push_back(ScalarArg{kCount, uint8_t(isHost ? 8 : 4)});
    return made;
  };
  result.steps = {launch(input(0), temporary(0)),
                  launch(temporary(0), output(0))};
  llvm::cantFail(planWorkspace(result));
  return result;
}

/// Thirty-two elements a block, through shared memory and a barrier.
Kernel emulatorKernel() {
  Kernel kernel;
  kernel.entry = "k_add";
  kernel.threads = 32;
  kernel.source = R"(FUSEC_KERNEL(k_add, 32)(const i32 *in, i32 *out, i32 n) {
  const i32 i = cta_x() * 32 + tid();
  i32 v = i < n ? i_add(ld1(in, i), 1) : 0;
  for (i32 m = 16; m > 0; m = m / 2)
    v = shfl_xor(shfl_xor(v, m), m);
  if (i < n)
    st1(out, i, v);
}
FUSEC_EXPORT(k_add))";
  return kernel;
}

Kernel hostKernel() {
  Kernel kernel;
  kernel.entry = "k";
  kernel.source = R"(
define void @k(ptr %args, i64 %begin, i64 %end) {
entry:
  %in.at = load ptr, ptr %args
  %in = load ptr, ptr %in.at
  %out.slot = getelementptr ptr, ptr %args, i64 1
  %out.at = load ptr, ptr %out.slot
  %out = load ptr, ptr %out.at
  %n.slot = getelementptr ptr, ptr %args, i64 2
  %n.at = load ptr, ptr %n.slot
  %n = load i64, ptr %n.at
  %first = mul i64 %begin, 32
  %last = mul i64 %end, 32
  %less = icmp slt i64 %last, %n
  %stop = select i1 %less, i64 %last, i64 %n
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %body, label %done
body:
  %from = getelementptr i32, ptr %in, i64 %i
  %to = getelementptr i32, ptr %out, i64 %i
  %x = load i32, ptr %from
  %y = add i32 %x, 1
  store i32 %y, ptr %to
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
)";
  return kernel;
}

/// Sixteen threads, each with a context of its own.
void share(std::shared_ptr<Device> device, Program code) {
  auto made = Executable::create(std::move(code), std::move(device));
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  std::shared_ptr<const Executable> executable = *made;
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id)
    threads.emplace_back([&, id] {
      std::vector<int32_t> x(kCount);
      for (int run = 0; run < kRuns && errors[id].empty(); ++run) {
        for (int32_t i = 0; i < kCount; ++i)
          x[i] = i * (id + 1) + run;
        llvm::ArrayRef<std::byte> bytes(
            reinterpret_cast<const std::byte *>(x.data()), 4 * x.size());
        auto outputs = runWithHostData(executable, {bytes});
        if (!outputs) {
          errors[id] = llvm::toString(outputs.takeError());
          return;
        }
        auto *y = reinterpret_cast<const int32_t *>((*outputs)[0].data());
        for (int32_t i = 0; i < kCount; ++i)
          if (y[i] != x[i] + 2)
            errors[id] = "wrong at " + std::to_string(i);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(kThreads));
}

TEST(Threads, ShareAHostExecutable) {
  share(createHostDevice({4}), program(hostKernel(), true));
}

TEST(Threads, ShareAnEmulatorExecutable) {
  share(createEmulatorDevice(), program(emulatorKernel(), false));
}

} // namespace
