//===- ChildProcessTest.cpp - work that may crash or hang -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include "gtest/gtest.h"

#include <csignal>
#include <unistd.h>

using namespace fusec::tool;
using Event = ChildProcess::Event;

static ChildProcess start(llvm::function_ref<void(llvm::raw_ostream &)> body) {
  return llvm::cantFail(ChildProcess::start(body));
}

TEST(ChildProcess, WritesLines) {
  ChildProcess child = start([](llvm::raw_ostream &os) {
    os << "one\ntw";
    os << "o\n" << std::string(100000, 'x') << '\n';
  });
  std::string line;
  ASSERT_EQ(child.next(line, 0), Event::Line);
  EXPECT_EQ(line, "one");
  ASSERT_EQ(child.next(line, 60), Event::Line);
  EXPECT_EQ(line, "two");
  ASSERT_EQ(child.next(line, 60), Event::Line);
  EXPECT_EQ(line.size(), 100000u);
  EXPECT_EQ(child.next(line, 60), Event::End);
  EXPECT_EQ(child.wait(), "");
}

TEST(ChildProcess, SaysHowItDied) {
  std::string line;
  ChildProcess killed = start([](llvm::raw_ostream &os) {
    os << "before\n";
    std::raise(SIGKILL);
  });
  EXPECT_EQ(killed.next(line, 0), Event::Line);
  EXPECT_EQ(killed.next(line, 0), Event::End);
  EXPECT_EQ(killed.wait(), "signal 9 (Killed)");

  ChildProcess left = start([](llvm::raw_ostream &) { _exit(7); });
  EXPECT_EQ(left.next(line, 0), Event::End);
  EXPECT_EQ(left.wait(), "exit code 7");
}

TEST(ChildProcess, TimesOutAndIsKilledWithWhatItStarted) {
  std::string line;
  pid_t inner = 0;
  {
    ChildProcess child = start([](llvm::raw_ostream &os) {
      if (pid_t grandchild = fork())
        os << grandchild << '\n';
      for (;;)
        pause();
    });
    ASSERT_EQ(child.next(line, 60), Event::Line);
    ASSERT_FALSE(llvm::StringRef(line).getAsInteger(10, inner));
    EXPECT_EQ(kill(inner, 0), 0);
    EXPECT_EQ(child.next(line, 0.05), Event::Timeout);
  }
  // Dead; whoever adopts orphans may not have buried it yet.
  std::string state = "/proc/" + std::to_string(inner) + "/stat";
  for (int i = 0; i < 600; ++i) {
    FILE *file = fopen(state.c_str(), "r");
    if (!file)
      return;
    char letter = 0;
    int found = fscanf(file, "%*d (%*[^)]) %c", &letter);
    fclose(file);
    if (found != 1 || letter == 'Z' || letter == 'X')
      return;
    usleep(100000);
  }
  FAIL() << "the grandchild lives";
}
