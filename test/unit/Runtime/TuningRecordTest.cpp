//===- TuningRecordTest.cpp - measured choices on disk --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/TuningRecord.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/DiskCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fusec::runtime;
namespace fs = llvm::sys::fs;

namespace {
TuningEntry entryOf(const std::string &problem, double microseconds = 44.125) {
  TuningEntry entry;
  entry.key = {problem, "H200", 90, 132, "fusec 0.1.0 0123"};
  entry.title = "BF16 4096 x 1024, k 1024";
  entry.choice = "GemmWgmmaConfig<GemmKind::BF16, 2, 128, 6, 8, 1, 2>";
  entry.model = "GemmWgmmaConfig<GemmKind::BF16, 2, 256, 4, 8, 1, 2>";
  entry.microseconds = microseconds;
  entry.modelMicroseconds = 1.0 / 3;
  entry.timed = 10;
  entry.date = 1796000000;
  return entry;
}

class TuningRecordTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("fusec-tuning-test", base));
    folder = (base + "/made/here").str();
  }
  void TearDown() override { fs::remove_directories(base); }

  std::vector<std::string> files() {
    std::vector<std::string> names;
    std::error_code code;
    for (fs::directory_iterator it(folder, code), end; it != end && !code;
         it.increment(code))
      names.push_back(it->path());
    return names;
  }
  void write(const std::string &path, llvm::StringRef bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
    ::chmod(path.c_str(), 0600);
  }
  llvm::SmallString<128> base;
  std::string folder;
};
} // namespace

TEST_F(TuningRecordTest, KeepsWhatItIsGiven) {
  TuningRecord record(folder);
  EXPECT_FALSE(record.find(entryOf("a").key)) << "no folder is no trouble";
  EXPECT_TRUE(llvm::cantFail(record.list()).entries.empty());
  EXPECT_EQ(llvm::cantFail(record.clear()), 0u);
  ASSERT_EQ(llvm::toString(record.insert(entryOf("a"))), "");
  ASSERT_EQ(llvm::toString(record.insert(entryOf("b", 7))), "");
  EXPECT_EQ(record.find(entryOf("a").key), entryOf("a"));
  EXPECT_EQ(TuningRecord(folder).find(entryOf("b").key), entryOf("b", 7));
  ASSERT_EQ(llvm::toString(record.insert(entryOf("a", 3))), "");
  EXPECT_EQ(record.find(entryOf("a").key), entryOf("a", 3)) << "in its place";
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(llvm::cantFail(record.clear()), 2u);
  EXPECT_TRUE(files().empty());
}

TEST_F(TuningRecordTest, KeepsWhatIsTheVendors) {
  TuningRecord record(folder);
  TuningEntry entry = entryOf("a");
  entry.choice = "cuBLASLt 13.1.0 algorithm 66 tile 5";
  entry.vendor = {{entry.choice, 130100, {0, 1, ~uint64_t(0), 0xabc}, 4096},
                  entry.model,
                  45.5};
  llvm::cantFail(record.insert(entry));
  EXPECT_EQ(record.find(entry.key), entry);
  auto refused = [&](auto change) {
    llvm::json::Object object = toJson(entry);
    change(object, *object.getObject("vendor"));
    return text(tuningEntry(llvm::json::Value(std::move(object))));
  };
  using llvm::json::Object;
  EXPECT_EQ(refused([](Object &, Object &) {}), "");
  EXPECT_TRUE(contains(refused([](Object &o, Object &) { o["vendor"] = 3; }),
                       "expected an object as 'vendor'"));
  for (llvm::json::Value algorithm :
       {llvm::json::Value(7), llvm::json::Value("12"),
        llvm::json::Value(std::string(128, 'g'))})
    EXPECT_TRUE(contains(
        refused([&](Object &, Object &v) { v["algorithm"] = algorithm; }),
        "expected an algorithm of a library as 'vendor'"));
  EXPECT_TRUE(contains(
      refused([](Object &, Object &v) { v["workspace_bytes"] = 1 << 30; }),
      "expected an algorithm"));
  EXPECT_TRUE(contains(refused([](Object &, Object &v) { v["version"] = -1; }),
                       "expected an algorithm"));
  EXPECT_TRUE(contains(refused([](Object &, Object &v) { v.erase("own"); }),
                       "as 'own'"));
  EXPECT_TRUE(
      contains(refused([](Object &, Object &v) { v["own_us"] = "fast"; }),
               "as 'own_us'"));
}

TEST_F(TuningRecordTest, EveryPartOfTheKeyCounts) {
  TuningRecord record(folder);
  llvm::cantFail(record.insert(entryOf("a")));
  TuningKey key = entryOf("a").key;
  for (std::string TuningKey::*text :
       {&TuningKey::problem, &TuningKey::machine, &TuningKey::generator}) {
    TuningKey other = key;
    other.*text += "x";
    EXPECT_FALSE(record.find(other));
  }
  for (uint32_t TuningKey::*number :
       {&TuningKey::capability, &TuningKey::multiprocessors}) {
    TuningKey other = key;
    ++(other.*number);
    EXPECT_FALSE(record.find(other));
  }
  // Texts do not run into each other.
  TuningEntry one = entryOf("ab"), two = entryOf("a");
  one.key.machine = "c", two.key.machine = "bc";
  llvm::cantFail(record.insert(one));
  EXPECT_FALSE(record.find(two.key));
}

TEST_F(TuningRecordTest, DoesNotMixWithKernels) {
  TuningRecord record(folder);
  llvm::cantFail(record.insert(entryOf("a")));
  EXPECT_EQ(llvm::cantFail(inspectCache(folder, /*verify=*/true)).modules, 0u);
  EXPECT_EQ(llvm::cantFail(clearCache(folder)).modules, 0u);
  EXPECT_TRUE(record.find(entryOf("a").key)) << "it stays";
}

TEST(TuningEntry, AnyBitThatDiffersIsRefused) {
  std::string bytes = encodeTuning(entryOf("a"));
  llvm::Expected<TuningEntry> same = decodeTuning(bytes);
  ASSERT_TRUE(static_cast<bool>(same)) << llvm::toString(same.takeError());
  EXPECT_EQ(*same, entryOf("a"));
  auto isRefused = [](llvm::StringRef bytes) {
    llvm::Expected<TuningEntry> entry = decodeTuning(bytes);
    if (entry)
      return false;
    llvm::consumeError(entry.takeError());
    return true;
  };
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string other = bytes;
    other[i / 8] ^= char(1 << i % 8);
    EXPECT_TRUE(isRefused(other)) << "bit " << i;
  }
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(isRefused(llvm::StringRef(bytes).take_front(size)));
  EXPECT_TRUE(isRefused(bytes + "\n"));
}

/// A file that verifies, with any body.
static std::string sealed(llvm::StringRef body) {
  llvm::StringRef magic("FUSECTU\x01", 8);
  llvm::SHA256 hash;
  hash.update(magic);
  hash.update(body);
  return (magic + llvm::toStringRef(llvm::ArrayRef(hash.final())) + body).str();
}

TEST(TuningEntry, WhatVerifiesIsStillLookedAt) {
  std::string good = encodeTuning(entryOf("a")).substr(40);
  ASSERT_TRUE(static_cast<bool>(decodeTuning(sealed(good))));
  auto expectRefused = [](const std::string &body) {
    llvm::Expected<TuningEntry> entry = decodeTuning(sealed(body));
    EXPECT_FALSE(static_cast<bool>(entry)) << body.substr(0, 100);
    llvm::consumeError(entry.takeError());
  };
  expectRefused("");
  expectRefused("null");
  expectRefused("[]");
  expectRefused("{}");
  expectRefused(std::string(60000, '['));
  expectRefused("\"" + std::string(100, '\\'));
  auto with = [&](const std::string &from, const std::string &to) {
    std::string body = good;
    size_t at = body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return body.replace(at, from.size(), to);
  };
  for (const char *number : {"\"x\"", "-1", "null", "1e999", "[]"})
    expectRefused(with("44.125", number));
  for (const char *number : {"-1", "1.5", "4294967296", "\"10\""})
    expectRefused(with("\"timed\":10", "\"timed\":" + std::string(number)));
  expectRefused(with("\"date\":1796000000", "\"date\":-1"));
  expectRefused(with("\"H200\"", "7"));
  expectRefused(with("H200", std::string(5000, 'H')));
  expectRefused(with("\"machine\"", "\"engine\""));
}

TEST_F(TuningRecordTest, DamageIsNotThere) {
  TuningRecord record(folder);
  llvm::cantFail(record.insert(entryOf("a")));
  llvm::cantFail(record.insert(entryOf("b")));
  std::vector<std::string> names = files();
  ASSERT_EQ(names.size(), 2u);
  // One file under the name of the other.
  std::string other = llvm::cantFail(llvm::errorOrToExpected(
                                         llvm::MemoryBuffer::getFile(names[0])))
                          ->getBuffer()
                          .str();
  write(names[1], other);
  EXPECT_NE(record.find(entryOf("a").key).has_value(),
            record.find(entryOf("b").key).has_value());
  auto contents = llvm::cantFail(record.list());
  EXPECT_EQ(contents.entries.size(), 1u);
  EXPECT_EQ(contents.damaged.size(), 1u);
  EXPECT_EQ(files().size(), 2u) << "to list is to look";
  write(names[0], "x");
  EXPECT_EQ(llvm::cantFail(record.list(/*removeDamaged=*/true)).damaged.size(),
            2u);
  EXPECT_TRUE(files().empty());
  // Another version of fusec has written it.
  write(names[0], "FUSECTU\x02 in a way to come");
  contents = llvm::cantFail(record.list(/*removeDamaged=*/true));
  EXPECT_TRUE(contents.damaged.empty());
  EXPECT_EQ(files().size(), 1u);
  fs::remove(names[0]);
  // Seven texts whose escapes are longer than a file may be.
  TuningEntry longest = entryOf("a");
  for (std::string *text :
       {&longest.key.problem, &longest.key.machine, &longest.key.generator,
        &longest.title, &longest.choice, &longest.model})
    *text = std::string(4096, '\x01');
  llvm::Error refused = record.insert(longest);
  EXPECT_TRUE(static_cast<bool>(refused));
  llvm::consumeError(std::move(refused));
  EXPECT_TRUE(files().empty());
  // Links and pipes are not followed, nor waited for.
  llvm::cantFail(record.insert(entryOf("a")));
  std::string name = files()[0];
  fs::remove(name);
  ASSERT_EQ(::symlink("/etc/passwd", name.c_str()), 0);
  EXPECT_FALSE(record.find(entryOf("a").key));
  fs::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_FALSE(record.find(entryOf("a").key));
  llvm::cantFail(record.insert(entryOf("a")));
  EXPECT_TRUE(record.find(entryOf("a").key));
}

TEST_F(TuningRecordTest, ForeignFoldersAreRefused) {
  TuningRecord record(folder);
  llvm::cantFail(record.insert(entryOf("a")));
  ::chmod(folder.c_str(), 0777);
  EXPECT_FALSE(record.find(entryOf("a").key));
  EXPECT_NE(llvm::toString(record.insert(entryOf("b"))), "");
  auto contents = record.list();
  EXPECT_FALSE(static_cast<bool>(contents));
  EXPECT_NE(llvm::toString(contents.takeError()).find("nobody else"),
            std::string::npos);
  ::chmod(folder.c_str(), 0700);
  EXPECT_TRUE(record.find(entryOf("a").key));
}

TEST_F(TuningRecordTest, ManyWritersLeaveWholeFiles) {
  TuningRecord shared(folder);
  llvm::cantFail(shared.insert(entryOf("p0", 0)));
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      bool failed = false;
      for (int i = 0; i < 100; ++i)
        if (llvm::Error error = TuningRecord(folder).insert(
                entryOf("p" + std::to_string(i % 5), child * 1000 + i))) {
          llvm::consumeError(std::move(error));
          failed = true;
        }
      ::_exit(failed);
    }
    children.push_back(pid);
  }
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i)
      llvm::cantFail(shared.insert(entryOf("p0", i)));
  });
  for (int i = 0; i < 200; ++i) {
    std::optional<TuningEntry> found = shared.find(entryOf("p0").key);
    ASSERT_TRUE(found) << "old or new, never half";
    EXPECT_EQ(found->title, entryOf("p0").title);
  }
  writer.join();
  for (pid_t pid : children) {
    int status = 1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto contents = llvm::cantFail(shared.list());
  EXPECT_EQ(contents.entries.size(), 5u);
  EXPECT_TRUE(contents.damaged.empty());
  EXPECT_EQ(files().size(), 5u) << "no temporary file is left";
}

TEST(TuningEntry, DocumentsGoAndCome) {
  llvm::json::Array entries{toJson(entryOf("a")), toJson(entryOf("b", 0))};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{
      {"action", "tuning"}, {"entries", std::move(entries)}});
  auto parsed = parseTuningEntries(text);
  ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  EXPECT_EQ(*parsed, (std::vector<TuningEntry>{entryOf("a"), entryOf("b", 0)}));
  for (std::string bad :
       {std::string("{}"), std::string("[1]"), std::string("{\"entries\":[1]}"),
        std::string("{\"entries\":{}}"), std::string("{"),
        "{\"entries\":" + std::string(1 << 20, '[')}) {
    auto refused = parseTuningEntries(bad);
    EXPECT_FALSE(static_cast<bool>(refused));
    EXPECT_NE(llvm::toString(refused.takeError()), "");
  }
}
