//===- WorkspaceTest.cpp - planning temporaries ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs are planned and every pair of temporaries is compared by a
// check that knows only "step names it", not the planner's intervals.
//===----------------------------------------------------------------------===//
#include "RuntimeTestUtils.h"

#include <chrono>
#include <random>

using namespace fusec::runtime;

namespace {
// A program of `count` temporaries named by random steps.
Program randomProgram(std::mt19937 &rng, size_t count, size_t steps) {
  Program program;
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (size_t i = 0; i < count; ++i)
    program.temporaries.push_back(
        {pick(0, 3) == 0 ? 0 : pick(1, int64_t(1) << pick(0, 20)), -1});
  for (size_t s = 0; s < steps; ++s)
    program.steps.push_back(HostCall{"step", {}, {}});
  auto name = [&](size_t step, uint32_t index) {
    std::get<HostCall>(program.steps[step]).args.push_back(temporary(index));
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (steps == 0 || pick(0, 20) == 0)
      continue; // named by no step
    size_t first = pick(0, steps - 1);
    size_t last = std::min<size_t>(steps - 1, first + pick(0, 12));
    name(first, i);
    name(last, i);
  }
  return program;
}

// Brute force: for each step, the temporaries whose first naming is not later
// and whose last is not earlier; no two of them may share a byte.
void expectNoOverlap(const Program &program, int64_t alignment) {
  size_t count = program.temporaries.size(), steps = program.steps.size();
  std::vector<std::vector<bool>> names(steps, std::vector<bool>(count));
  for (size_t s = 0; s < steps; ++s)
    for (BufferRef ref : std::get<HostCall>(program.steps[s]).args)
      names[s][ref.index] = true;
  auto alive = [&](size_t step, size_t t) {
    bool before = false, after = false;
    for (size_t s = 0; s <= step; ++s)
      before |= names[s][t];
    for (size_t s = step; s < steps; ++s)
      after |= names[s][t];
    return before && after;
  };
  for (size_t s = 0; s < steps; ++s) {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (size_t t = 0; t < count; ++t) {
      const Temporary &temporary = program.temporaries[t];
      if (temporary.bytes == 0 || !alive(s, t))
        continue;
      ASSERT_GE(temporary.offset, 0);
      ASSERT_EQ(temporary.offset % alignment, 0);
      ASSERT_LE(temporary.offset + temporary.bytes, program.workspaceBytes);
      ranges.emplace_back(temporary.offset, temporary.bytes);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i)
      ASSERT_LE(ranges[i - 1].first + ranges[i - 1].second, ranges[i].first);
  }
}
} // namespace

TEST(Workspace, NeverOverlapsLiveTemporaries) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    size_t count = round % 40, steps = (round * 7) % 23;
    int64_t alignment = int64_t(16) << (round % 6);
    Program program = randomProgram(rng, count, steps);
    ASSERT_EQ(text(planWorkspace(program, alignment)), "");
    expectNoOverlap(program, alignment);
    ASSERT_EQ(text(verifyProgram(program)).find("overlap"), std::string::npos);
    for (const Temporary &temporary : program.temporaries)
      ASSERT_GE(temporary.offset, 0);
  }
}

// More temporaries than the quadratic planner accepts (a third of them need no
// memory), so that the linear one is used.
TEST(Workspace, LargeProgramsDoNotOverlapEither) {
  std::mt19937 rng(2);
  for (size_t count : {900, 1200, 2000}) {
    Program program = randomProgram(rng, count, 100);
    ASSERT_EQ(text(planWorkspace(program)), "");
    expectNoOverlap(program, 256);
  }
}

// The smallest power of two for steps of many equal sizes: neighbours that
// join wrongly, or a split that loses a byte, show at once.
TEST(Workspace, ManySmallTemporariesDoNotOverlap) {
  std::mt19937 rng(6);
  Program program = randomProgram(rng, 2000, 200);
  for (Temporary &temporary : program.temporaries)
    temporary.bytes %= 70;
  ASSERT_EQ(text(planWorkspace(program, 16)), "");
  expectNoOverlap(program, 16);
}

TEST(Workspace, SharesMemoryOfTemporariesThatDoNotMeet) {
  Program program;
  program.temporaries = {{1000, -1}, {1000, -1}, {1000, -1}, {1000, -1}};
  for (uint32_t i = 0; i + 1 < 4; ++i)
    program.steps.push_back(
        HostCall{"s", {temporary(i), temporary(i + 1)}, {}});
  ASSERT_EQ(text(planWorkspace(program)), "");
  EXPECT_EQ(program.workspaceBytes, 2 * 1024);
}

// Taking each temporary in the order of time would put the small one first and
// leave a hole; placing the largest first does not.
TEST(Workspace, PlacesLargeOnesTightly) {
  Program program;
  program.temporaries = {{256, -1}, {256, -1}, {512, -1}};
  program.steps = {HostCall{"s", {temporary(0), temporary(1)}, {}},
                   HostCall{"s", {temporary(1), temporary(2)}, {}}};
  ASSERT_EQ(text(planWorkspace(program)), "");
  EXPECT_EQ(program.workspaceBytes, 768);
}

TEST(Workspace, IsDeterministic) {
  std::mt19937 a(3), b(3);
  Program first = randomProgram(a, 200, 50), second = randomProgram(b, 200, 50);
  ASSERT_EQ(text(planWorkspace(first)), "");
  ASSERT_EQ(text(planWorkspace(second)), "");
  for (size_t i = 0; i < first.temporaries.size(); ++i)
    EXPECT_EQ(first.temporaries[i].offset, second.temporaries[i].offset);
}

TEST(Workspace, TenThousandTemporariesTakeUnderASecond) {
  std::mt19937 rng(4);
  Program program = randomProgram(rng, 10000, 10000);
  auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(text(planWorkspace(program)), "");
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 1.0);
}

TEST(Workspace, EmptyProgramNeedsNothing) {
  Program program;
  program.temporaries = {{0, -1}, {40, -1}};
  program.steps = {Fill{temporary(0)}};
  ASSERT_EQ(text(planWorkspace(program)), "");
  EXPECT_EQ(program.workspaceBytes, 0);
}

TEST(Workspace, RefusesSizesThatDoNotFit) {
  Program program;
  program.temporaries = {{INT64_MAX - 10, -1}};
  program.steps = {Fill{temporary(0)}};
  EXPECT_TRUE(contains(text(planWorkspace(program)), "do not fit 63 bits"));
  program.temporaries = {{INT64_MAX / 2, -1}, {INT64_MAX / 2, -1}};
  program.steps = {Fill{temporary(0)}, Fill{temporary(1)}};
  EXPECT_TRUE(contains(text(planWorkspace(program)), "do not fit 63 bits"));
  program.temporaries = {{-1, -1}};
  EXPECT_EQ(text(planWorkspace(program)),
            "temporary 0: expected at least 0 bytes, found -1");
}

TEST(Workspace, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  Program program;
  for (int64_t alignment : {int64_t(0), int64_t(-16), int64_t(48), INT64_MIN})
    EXPECT_TRUE(contains(text(planWorkspace(program, alignment)),
                         "expected an alignment that is a power of two"));
}
