//===- BugsMain.cpp - every entry of test/bugs as a test ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a test "Bugs.<ID>" of each entry of the *.bugs files and one that holds
// the index (README.md) to them.
//===----------------------------------------------------------------------===//
#include "BugRun.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <set>

using namespace fusec::bugs;
using Bugs = std::map<std::string, std::vector<BugCase>>;

namespace {

class BugTest : public ::testing::Test {
public:
  explicit BugTest(const std::vector<BugCase> &cases) : cases(cases) {}
  void TestBody() override {
    for (const BugCase &bug : cases)
      checkBug(bug);
  }

private:
  const std::vector<BugCase> &cases;
};

/// Fails with a message: a file that cannot be read.
class ReadFailure : public ::testing::Test {
public:
  explicit ReadFailure(const std::string &message) : message(message) {}
  void TestBody() override { FAIL() << message; }

private:
  const std::string &message;
};

/// "| A1 | test | ..." of the index: every entry has a line that says "test",
/// and every such line an entry.
class IndexTest : public ::testing::Test {
public:
  explicit IndexTest(const Bugs &bugs) : bugs(bugs) {}
  void TestBody() override {
    auto text = llvm::MemoryBuffer::getFile(FUSEC_BUGS_FOLDER "/README.md");
    ASSERT_TRUE(bool(text));
    std::set<std::string> listed, tested;
    llvm::SmallVector<llvm::StringRef> lines;
    (*text)->getBuffer().split(lines, '\n');
    for (llvm::StringRef line : lines) {
      llvm::SmallVector<llvm::StringRef> cells;
      line.split(cells, '|');
      if (cells.size() < 4)
        continue;
      EXPECT_TRUE(listed.insert(cells[1].trim().str()).second) << line.str();
      if (cells[2].trim() == "test")
        tested.insert(cells[1].trim().str());
    }
    std::set<std::string> entries;
    for (const auto &[id, cases] : bugs)
      entries.insert(id);
    EXPECT_EQ(tested, entries);
  }

private:
  const Bugs &bugs;
};

Bugs readAll(std::string &failure) {
  Bugs bugs;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(FUSEC_BUGS_FOLDER, code), end;
       it != end && !code; it.increment(code)) {
    if (!llvm::StringRef(it->path()).ends_with(".bugs"))
      continue;
    auto text = llvm::MemoryBuffer::getFile(it->path());
    auto parsed = text ? parseBugs((*text)->getBuffer())
                       : llvm::createStringError("cannot be read");
    if (parsed)
      bugs.merge(*parsed);
    else
      failure += it->path() + ": " + llvm::toString(parsed.takeError()) + "\n";
  }
  return bugs;
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  static std::string failure;
  static const Bugs bugs = readAll(failure);
  if (!failure.empty())
    ::testing::RegisterTest(
        "BugIndex", "ReadsEveryFile", nullptr, nullptr, __FILE__, __LINE__,
        []() -> ReadFailure * { return new ReadFailure(failure); });
  for (const auto &entry : bugs)
    ::testing::RegisterTest(
        "Bugs", entry.first.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&entry]() -> BugTest * { return new BugTest(entry.second); });
  ::testing::RegisterTest("BugIndex", "NamesEveryEntry", nullptr, nullptr,
                          __FILE__, __LINE__,
                          []() -> IndexTest * { return new IndexTest(bugs); });
  return RUN_ALL_TESTS();
}
