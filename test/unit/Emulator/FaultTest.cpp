//===- FaultTest.cpp - every fault, planted -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel has one fault in a known line; its correct twin has none.
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace fusec::runtime;
using emulator::test::KernelRun;

namespace {

/// Expects at least one report, the first of this kind and in this line.
void expectFirst(const std::vector<EmulatorReport> &reports,
                 EmulatorFault fault, int line) {
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(int(reports[0].fault), int(fault)) << reports[0].str();
  EXPECT_EQ(reports[0].line, line) << reports[0].str();
  EXPECT_EQ(reports[0].kernel, "k");
}

TEST(Fault, OutOfBoundsReadAndWriteAreNotPerformed) {
  std::vector<float> in(100, 1.0f), out(101, 7.0f);
  KernelRun run(R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out) {
  const i32 i = tid() + 64 * cta_x();
  f32 x = ld1(in, i);
  st1(out, i, x + 1.0f);
}
FUSEC_EXPORT(k))");
  out.resize(100); // the element behind stays readable below
  const float &behind = *(out.data() + 100);
  run.in(in).in(out, "out");
  auto reports = run.faults(2, 64);
  expectFirst(reports, EmulatorFault::OutOfBounds, 3);
  EXPECT_EQ(reports[0].block[0], 1u);
  EXPECT_EQ(reports[0].thread, 36u);
  EXPECT_EQ(reports[0].str(),
            "k:3: read of 4 bytes at byte 400 of buffer 'in' of 400 bytes "
            "(block 1,0,0, thread 36)");
  ASSERT_EQ(reports.size(), 2u); // one a line
  EXPECT_EQ(reports[1].line, 4);
  EXPECT_EQ(out[99], 2.0f);
  EXPECT_EQ(behind, 7.0f);
}

// A kernel that begins early touches no global memory before it has waited, and
// none of its threads ends without.
TEST(Fault, GlobalMemoryBeforeTheWait) {
  std::vector<float> in(64, 1.0f), out(64);
  std::vector<uint32_t> words(1, 0);
  KernelRun run(
      R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out, u32 *words, i32 fault) {
  FUSEC_SHARED(f32, s, 64);
  f32 a[1];
  a[0] = 0.0f;
  sts(s, tid(), 1.0f);
  if (fault == 1) a[0] = ld1(in, tid());
  if (fault == 2) st1(out, tid(), 1.0f);
  if (fault == 3) atom_add(words, 0, 1u);
  if (fault == 4) cp_async4(s, tid(), in, tid(), true);
  if (fault == 5 && tid() == 63) return;
  grid_wait();
  ldm<1>(a, 0, in, tid(), true, 0.0f);
  st1(out, tid(), a[0] + lds(s, tid()));
  cp_async_commit();
  cp_async_wait<0>();
}
FUSEC_EXPORT(k))");
  run.in(in).out(out).in(words);
  for (int fault = 0; fault <= 5; ++fault) {
    run.scalar(fault);
    // What need not wait may do all of it, but for reading what it copies to.
    run.overlaps = false;
    if (fault != 4)
      run.good(1, 64);
    run.overlaps = true;
    if (fault == 0) {
      run.good(1, 64);
    } else {
      auto reports = run.faults(1, 64);
      ASSERT_FALSE(reports.empty()) << fault;
      EXPECT_EQ(int(reports[0].fault), int(EmulatorFault::NoGridWait)) << fault;
      if (fault < 5)
        EXPECT_EQ(reports[0].line, fault + 5);
      else
        EXPECT_EQ(reports[0].thread, 63u);
    }
    run.dropLast();
  }
}

// The neighbour of a buffer is no place to write to, although it is known.
TEST(Fault, OutOfBoundsIntoAnotherBuffer) {
  std::vector<float> both(64, 0.0f);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(f32 *a, f32 *b) {
  st1(a, tid() + 1, 1.0f);
}
FUSEC_EXPORT(k))");
  EmulatorBuffer buffers[] = {{both.data(), 128, "a", nullptr},
                              {both.data() + 32, 128, "b", nullptr}};
  void *a = buffers[0].data, *b = buffers[1].data, *args[] = {&a, &b};
  EmulatorLaunch launch;
  launch.entry = "k";
  launch.threads = 32;
  launch.args = args;
  EXPECT_EQ(llvm::toString(run.module->launch(launch, buffers)),
            "the emulator found 1 fault\n  k:2: write of 4 bytes at byte 128 "
            "of buffer 'a' of 128 bytes (block 0,0,0, thread 31)");
  EXPECT_EQ(both[32], 0.0f);
}

TEST(Fault, WildOffsetsAndUnknownPointers) {
  std::vector<float> out(4);
  KernelRun run(R"(FUSEC_KERNEL(k, 1)(f32 *out) {
  st1(out, -1, 1.0f);
  st1(out, 0x7fffffffffffffffll, 1.0f);
  st1(out, (i64)0x8000000000000000ull, 1.0f);
  st1((f32 *)16, 0, 1.0f);
  f32 a[4];
  ld<4>(a, 0, out, 1);
}
FUSEC_EXPORT(k))");
  run.in(out);
  auto reports = run.faults(1, 1);
  // The offset -2^63 elements is 0 bytes modulo 2^64: in bounds.
  ASSERT_EQ(reports.size(), 4u);
  for (const EmulatorReport &report : reports)
    EXPECT_EQ(report.fault, EmulatorFault::OutOfBounds) << report.str();
}

// Blocks run in any order: only atomic operations order them.
TEST(Fault, RaceBetweenBlocks) {
  std::vector<float> data(130, 0.0f);
  std::vector<uint32_t> word(1);
  std::vector<uint8_t> bytes(130);
  KernelRun run(
      R"(FUSEC_KERNEL(k, 32)(f32 *data, u32 *word, u8 *bytes, i32 fault) {
  const i32 i = tid() + 32 * cta_x();
  st1(data, i, 1.0f);
  st1(bytes, cta_x(), (u8)1);
  if (fault == 1)
    st1(data, 128, 2.0f);
  if (fault == 2)
    st1(bytes, 33 + i, (u8)ld1(data, 32 * ((cta_x() + 3) % 4)));
  bar();
  FUSEC_SHARED(u32, last, 1);
  if (tid() == 0)
    sts(last, 0, fault == 3 ? (u32)cta_x() : ticket(word, 0, 4u));
  bar();
  if (lds(last, 0) == 3u)
    st1(data, i, ld1(data, tid()) + 1.0f);
}
FUSEC_EXPORT(k))");
  run.in(data).in(word).in(bytes);
  run.options.osThreads = 1;
  run.scalar(0);
  run.good(4, 32);
  run.dropLast();
  for (auto [fault, line] :
       {std::pair(1, 6), std::pair(2, 8), std::pair(3, 15)}) {
    run.scalar(fault);
    auto reports = run.faults(4, 32);
    run.dropLast();
    expectFirst(reports, EmulatorFault::GlobalRace, line);
  }
}

TEST(Fault, MisalignedVector) {
  std::vector<float> in(64, 1.0f), out(64, 0.0f);
  KernelRun run(R"(FUSEC_KERNEL(k, 1)(const f32 *in, f32 *out) {
  f32 a[4];
  ld<4>(a, 0, in, 4);
  ld<4>(a, 0, in, 2);
  st<2>(out, 1, a, 0);
  FUSEC_SHARED(f32, s, 16);
  sts<4>(s, 2, a, 0);
}
FUSEC_EXPORT(k))");
  run.in(in).in(out);
  auto reports = run.faults(1, 1);
  ASSERT_EQ(reports.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reports[i].fault, EmulatorFault::Misaligned);
    EXPECT_EQ(reports[i].line, i < 2 ? 4 + i : 7);
  }
  EXPECT_EQ(out[1], 0.0f);
}

TEST(Fault, UninitialisedGlobalRead) {
  std::vector<float> out(32);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(f32 *out) {
  if (tid() < 31)
    st1(out, tid(), 1.0f);
  bar();
  f32 x = ld1(out, tid());
}
FUSEC_EXPORT(k))");
  run.out(out);
  auto reports = run.faults(1, 32);
  expectFirst(reports, EmulatorFault::UninitialisedRead, 5);
  EXPECT_EQ(reports[0].thread, 31u);
}

TEST(Fault, UninitialisedSharedRead) {
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(i32 bad) {
  FUSEC_SHARED(f16, s, 64);
  sts(s, 2 * tid(), from_f32<f16>(1.0f));
  bar();
  f16 x = lds(s, 62 - 2 * tid() + bad);
}
FUSEC_EXPORT(k))");
  run.scalar(0).good(4, 32);
  KernelRun bad(R"(FUSEC_KERNEL(k, 32)() {
  FUSEC_SHARED(f16, s, 64);
  sts(s, 2 * tid(), from_f32<f16>(1.0f));
  bar();
  f16 x = lds(s, 2 * tid() + 1);
}
FUSEC_EXPORT(k))");
  // Block 1 finds what block 0 left, which is no initialisation either.
  bad.options.osThreads = 1;
  expectFirst(bad.faults(2, 32), EmulatorFault::UninitialisedRead, 5);
}

TEST(Fault, SharedOutOfBounds) {
  KernelRun run(R"(FUSEC_KERNEL(k, 32)() {
  FUSEC_SHARED(f32, s, 31);
  sts(s, tid(), 1.0f);
  FUSEC_SHARED_DYN(f32, d);
  sts(d, tid() - 1, 1.0f);
}
FUSEC_EXPORT(k))");
  auto reports = run.faults(1, 32, 128);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].thread, 0u);
  EXPECT_EQ(reports[0].line, 5);
  EXPECT_EQ(reports[1].thread, 31u);
  EXPECT_EQ(reports[1].line, 3);
}

const char *const kRace = R"(FUSEC_KERNEL(k, 64)(i32 *out) {
  FUSEC_SHARED(i32, s, 64);
  sts(s, tid(), tid());
  BARRIER;
  st1(out, tid(), lds(s, tid() ^ PARTNER));
}
FUSEC_EXPORT(k))";

std::string race(const char *barrier, const char *partner) {
  return std::string("#define BARRIER ") + barrier + "\n#define PARTNER " +
         partner + "\n#line 1 \"k\"\n" + kRace +
         "\n#undef BARRIER\n#undef PARTNER\n";
}

TEST(Fault, SharedRaceReadAfterWrite) {
  std::vector<int32_t> out(64);
  KernelRun(race("bar()", "33")).in(out).good(1, 64);
  EXPECT_EQ(out[0], 33);
  auto reports = KernelRun(race("", "1")).in(out).faults(1, 64);
  ASSERT_FALSE(reports.empty());
  // The partner of an even thread has not even written yet.
  bool found = false;
  for (const EmulatorReport &report : reports)
    found |= report.fault == EmulatorFault::SharedRace && report.line == 5;
  EXPECT_TRUE(found);
}

TEST(Fault, WarpBarrierOrdersItsWarpOnly) {
  std::vector<int32_t> out(64);
  KernelRun(race("bar_warp()", "1")).in(out).good(1, 64);
  expectFirst(KernelRun(race("bar_warp()", "32")).in(out).faults(1, 64),
              EmulatorFault::UninitialisedRead, 5);
}

TEST(Fault, NamedBarrierOrdersItsThreadsOnly) {
  std::vector<int32_t> out(64);
  KernelRun(race("bar_named(1, 64)", "32")).in(out).good(1, 64);
  std::string perWarp = "bar_named(1 + warp(), 32)";
  KernelRun(race(perWarp.c_str(), "1")).in(out).good(1, 64);
  EXPECT_FALSE(
      KernelRun(race(perWarp.c_str(), "32")).in(out).faults(1, 64).empty());
}

// Thread 0 knows through warp barriers and a named barrier what thread 63 did.
TEST(Fault, OrderIsTransitive) {
  std::vector<int32_t> out(1);
  KernelRun run(R"(FUSEC_KERNEL(k, 96)(i32 *out) {
  FUSEC_SHARED(i32, s, 1);
  if (tid() == 95)
    sts(s, 0, 5);
  if (warp() > 0)
    bar_named(1, 64);
  if (warp() < 2)
    bar_named(2, 64);
  if (tid() == 0)
    st1(out, 0, lds(s, 0));
}
FUSEC_EXPORT(k))");
  run.in(out).good(1, 96);
  EXPECT_EQ(out[0], 5);
}

TEST(Fault, SharedRaceWriteAfterRead) {
  const char *text = R"(FUSEC_KERNEL(k, 32)(i32 *out) {
  FUSEC_SHARED(i32, s, 32);
  sts(s, tid(), tid());
  bar();
  if (tid() < 16)
    st1(out, 0, lds(s, tid() + 16));
  else
    sts(s, tid(), 0);
}
FUSEC_EXPORT(k))";
  std::vector<int32_t> out(1);
  expectFirst(KernelRun(text).in(out).faults(1, 32), EmulatorFault::SharedRace,
              6);
}

TEST(Fault, SharedRaceWriteAfterWrite) {
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 32)() {
  FUSEC_SHARED(i8, s, 32);
  sts(s, tid() / 2, (i8)1);
}
FUSEC_EXPORT(k))")
                  .faults(1, 32),
              EmulatorFault::SharedRace, 3);
}

// Neighbouring bytes are different words; the same byte seen as part of a wider
// element is not.
TEST(Fault, RacesAreFoundAcrossElementSizes) {
  const char *good = R"(FUSEC_KERNEL(k, 32)(u32 *out) {
  FUSEC_SHARED_DYN(u8, bytes);
  FUSEC_SHARED_DYN(u32, words);
  sts(bytes, tid(), (u8)tid());
  bar();
  if (tid() < 8)
    st1(out, tid(), lds(words, tid()));
}
FUSEC_EXPORT(k))";
  std::vector<uint32_t> out(8);
  KernelRun(good).in(out).good(1, 32, 32);
  EXPECT_EQ(out[1], 0x07060504u);
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 32)(u32 *out) {
  FUSEC_SHARED_DYN(u32, words);
  FUSEC_SHARED_DYN(u8, bytes);
  if (tid() < 8)
    sts(words, tid(), 1u);
  if (tid() > 28)
    sts(bytes, tid(), (u8)1);
}
FUSEC_EXPORT(k))")
                  .in(out)
                  .faults(1, 32, 32),
              EmulatorFault::SharedRace, 7);
}

TEST(Fault, CopyReadBeforeWait) {
  const char *text = R"(FUSEC_KERNEL(k, 32)(const f32 *in, f32 *out) {
  FUSEC_SHARED(f32, s, 128);
  cp_async16(s, 4 * tid(), in, 4 * tid(), tid() < 30);
  cp_async_commit();
  WAIT;
  bar();
  f32 a[4];
  lds<4>(a, 0, s, 4 * (31 - tid()));
  st<4>(out, 128 * cta_x() + 4 * tid(), a, 0);
}
FUSEC_EXPORT(k)
#undef WAIT)";
  auto with = [&](const char *wait) {
    return "#define WAIT " + std::string(wait) + "\n#line 1 \"k\"\n" + text;
  };
  std::vector<float> in(120, 2.0f), out(3 * 128);
  KernelRun(with("cp_async_wait<0>()")).in(in).in(out).good(3, 32);
  EXPECT_EQ(out[7], 0.0f); // zero-filled
  EXPECT_EQ(out[8], 2.0f);
  for (const char *wait : {"", "cp_async_wait<1>()"})
    expectFirst(KernelRun(with(wait)).in(in).in(out).faults(3, 32),
                EmulatorFault::PendingCopy, 8);
}

TEST(Fault, CopyIntoWhatIsStillRead) {
  std::vector<float> in(4, 2.0f);
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 32)(const f32 *in) {
  FUSEC_SHARED(f32, s, 32);
  sts(s, tid(), 1.0f);
  bar();
  f32 x = lds(s, 31 - tid());
  if (tid() == 0)
    cp_async16(s, 0, in, 0, true);
}
FUSEC_EXPORT(k))")
                  .in(in)
                  .faults(1, 32),
              EmulatorFault::SharedRace, 7);
}

TEST(Fault, DivergentBarrierByExit) {
  KernelRun run(R"(FUSEC_KERNEL(k, 64)() {
  if (tid() == 40)
    return;
  bar();
}
FUSEC_EXPORT(k))");
  auto reports = run.faults(2, 64);
  expectFirst(reports, EmulatorFault::DivergentBarrier, 4);
  EXPECT_NE(reports[0].detail.find("thread 40 exits"), std::string::npos)
      << reports[0].detail;
}

TEST(Fault, DivergentBarrierByAnotherBarrier) {
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 64)() {
  if (warp() == 0)
    bar();
  else
    bar_named(3, 64);
}
FUSEC_EXPORT(k))")
                  .faults(1, 64),
              EmulatorFault::DivergentBarrier, 3);
  // Two barriers of the same id do not meet within a warp.
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 32)() {
  if (tid() < 16)
    bar();
  else
    bar();
}
FUSEC_EXPORT(k))")
                  .faults(1, 32),
              EmulatorFault::DivergentBarrier, 5);
}

TEST(Fault, DivergentWarpFunctions) {
  std::vector<float> out(32);
  for (const char *divergence :
       {"if (tid() == 3) return;\n  x = shfl_xor(x, 1);",
        "if (tid() < 16) bar_warp();\n  x = shfl_xor(x, 1);",
        "if (tid() == 3) return;\n  x += ballot(true);",
        "if (tid() == 3) return;\n  bar_warp();"}) {
    auto reports =
        KernelRun("FUSEC_KERNEL(k, 32)(f32 *out) {\n  f32 x = 1.0f;\n  " +
                  std::string(divergence) + "\n  st1(out, tid(), x);\n}\n" +
                  "FUSEC_EXPORT(k)")
            .in(out)
            .faults(1, 32);
    ASSERT_EQ(reports.size(), 1u) << divergence;
    EXPECT_EQ(reports[0].fault, EmulatorFault::DivergentBarrier);
    EXPECT_EQ(reports[0].line, 4);
  }
}

TEST(Fault, InvalidBarriers) {
  for (const char *call :
       {"bar_named(0, 32)", "bar_named(16, 32)", "bar_named(1, 31)",
        "bar_named(1, 96)", "bar_named(1, 0)"})
    expectFirst(KernelRun("FUSEC_KERNEL(k, 64)() {\n  " + std::string(call) +
                          ";\n}\nFUSEC_EXPORT(k)")
                    .faults(1, 64),
                EmulatorFault::InvalidArgument, 2);
  expectFirst(KernelRun(R"(FUSEC_KERNEL(k, 1)() {
  FUSEC_SHARED(f32, s, 12289);
}
FUSEC_EXPORT(k))")
                  .faults(1, 1),
              EmulatorFault::InvalidArgument, 2);
}

TEST(Fault, SharedMemoryOfABlockIsLimited) {
  KernelRun run(R"(FUSEC_KERNEL(k, 1)() {
  FUSEC_SHARED(f32, s, 32);
}
FUSEC_EXPORT(k))");
  run.good(1, 1, 232448 - 128);
  expectFirst(run.faults(1, 1, 232448), EmulatorFault::InvalidArgument, 2);
  EXPECT_EQ(llvm::toString(run.launch(1, 1, 232449)),
            "kernel 'k' was launched with 232449 bytes of dynamic shared "
            "memory; a block has at most 232448");
}

TEST(Fault, AKernelThatIsWrongEverywhereEndsEarly) {
  std::vector<float> in(1);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(const f32 *in) {
  for (i32 i = 0; i < 100000000; ++i)
    ld1(in, 1);
}
FUSEC_EXPORT(k))");
  expectFirst(run.in(in).faults(1, 32), EmulatorFault::OutOfBounds, 3);
}

TEST(Fault, WatchdogEndsALaunch) {
  std::vector<uint32_t> flag(1, 0);
  KernelRun run(R"(FUSEC_KERNEL(k, 64)(u32 *flag) {
  while (ld1(flag, 0) == 0) {
  }
}
FUSEC_EXPORT(k))");
  run.options.stepLimit = 100000;
  run.in(flag);
  expectFirst(run.faults(8, 64), EmulatorFault::StepLimit, 2);
}

// A spinning thread does not keep the one that it waits for from running.
TEST(Fault, SpinningThreadsYield) {
  std::vector<uint32_t> flag(1, 0);
  KernelRun run(R"(FUSEC_KERNEL(k, 64)(u32 *flag) {
  if (tid() == 63)
    atom_add(flag, 0, 1u);
  while (ld1(flag, 0) == 0) {
  }
}
FUSEC_EXPORT(k))");
  run.in(flag).good(1, 64);
}

TEST(Fault, ReportsAreLimitedAndCounted) {
  std::vector<float> in(1);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(const f32 *in) {
  f32 x = ld1(in, tid() + 1);
  x = ld1(in, tid() + 1);
  x = ld1(in, tid() + 1);
}
FUSEC_EXPORT(k))");
  run.options.reportLimit = 2;
  run.in(in);
  std::string text = llvm::toString(run.launch(10, 32));
  EXPECT_NE(text.find("the emulator found 960 faults\n"), std::string::npos);
  EXPECT_NE(text.find("\n  and 958 more"), std::string::npos) << text;
}

TEST(Fault, ChecksCanBeOff) {
  std::vector<float> in(64, 1.0f);
  EmulatorCompileOptions options;
  options.checks = false;
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(f32 *in) {
  FUSEC_SHARED(f32, s, 32);
  sts(s, tid() / 2, 1.0f);
  st1(in, tid() + 32, lds(s, tid() / 2) + 1.0f);
}
FUSEC_EXPORT(k))",
                options);
  EmulatorBuffer half{in.data(), 128, "in", nullptr};
  void *pointer = in.data(), *args[] = {&pointer};
  EmulatorLaunch launch;
  launch.entry = "k";
  launch.threads = 32;
  launch.args = args;
  llvm::Error error = run.module->launch(launch, half);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  EXPECT_EQ(in[63], 2.0f);
}

//===-- Faults of the caller ----------------------------------------------===//

TEST(Module, CompileErrorsNameTheKernel) {
  auto module = EmulatorModule::compile(
      {EmulatorKernel{"k_bad", "FUSEC_KERNEL(k_bad, 1)() {\n  no_name();\n}\n"
                               "FUSEC_EXPORT(k_bad)"}});
  ASSERT_FALSE(static_cast<bool>(module));
  std::string message = llvm::toString(module.takeError());
  EXPECT_NE(message.find("k_bad:2:"), std::string::npos) << message;
}

TEST(Module, RefusesWhatCannotRun) {
  EmulatorKernel k{"k", "FUSEC_KERNEL(k, 64)() {}\nFUSEC_EXPORT(k)"};
  EmulatorCompileOptions options;
  options.compiler = "no-such-compiler";
  EXPECT_EQ(llvm::toString(EmulatorModule::compile(k, options).takeError()),
            "the emulator's compiler 'no-such-compiler' was not found");
  EXPECT_EQ(llvm::toString(EmulatorModule::compile({k, k}).takeError()),
            "two kernels are named 'k'");
  EmulatorKernel other{"other", k.source};
  EXPECT_EQ(llvm::toString(EmulatorModule::compile(other).takeError()),
            "the text of kernel 'other' does not export that name");
  auto module = EmulatorModule::compile(k);
  ASSERT_TRUE(static_cast<bool>(module));
  EmulatorLaunch launch;
  launch.entry = "none";
  EXPECT_EQ(llvm::toString((*module)->launch(launch, {})),
            "the module has no kernel 'none'");
  launch.entry = "k";
  for (uint32_t threads : {0u, 65u}) {
    launch.threads = threads;
    EXPECT_EQ(llvm::toString((*module)->launch(launch, {})),
              "kernel 'k' takes 1 to 64 threads, but was launched with " +
                  std::to_string(threads));
  }
  launch.threads = 64;
  launch.grid = {1, 0, 1};
  EXPECT_EQ(llvm::toString((*module)->launch(launch, {})), "");
}

TEST(Memory, RefusesOverlaps) {
  std::vector<char> bytes(64);
  EmulatorMemory memory;
  EXPECT_FALSE(static_cast<bool>(memory.registerBuffer(&bytes[0], 32, "a")));
  EXPECT_FALSE(static_cast<bool>(memory.registerBuffer(&bytes[32], 32, "b")));
  EXPECT_EQ(llvm::toString(memory.registerBuffer(&bytes[31], 2, "c")),
            "buffer 'c' overlaps buffer 'a'");
  memory.unregisterBuffer(&bytes[0]);
  ASSERT_EQ(memory.buffers().size(), 1u);
  EXPECT_EQ(memory.buffers()[0].name, "b");
}

} // namespace
