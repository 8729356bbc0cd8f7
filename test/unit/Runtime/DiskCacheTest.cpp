//===- DiskCacheTest.cpp - the kernel cache on disk -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule of the cache, attacked: damage, links, pipes, foreign folders, full
// disks, limits, other writers. No NVRTC is needed.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "CacheFolder.h"
#include "RuntimeTestUtils.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fusec::runtime;
namespace fs = llvm::sys::fs;

// What the cache reads files with, instead of the system's function of that
// name: a file system may give fewer bytes than asked for.
static size_t mostBytesAtOnce = SIZE_MAX;
static bool askedBeyondTheEnd = false;
extern "C" ssize_t pread(int file, void *to, size_t bytes, off_t offset) {
  struct stat info;
  askedBeyondTheEnd |= ::fstat(file, &info) == 0 &&
                       offset + bytes > static_cast<size_t>(info.st_size);
  return syscall(SYS_pread64, file, to, std::min(bytes, mostBytesAtOnce),
                 offset);
}

namespace {
KernelKey keyOf(uint8_t i) {
  KernelKey key = {};
  key[0] = i;
  key[31] = 255 - i;
  return key;
}

StoredModule moduleOf(std::initializer_list<uint8_t> keys, size_t bytes = 100) {
  auto module = std::make_shared<CompiledModule>();
  module->ptx = "ptx of " + std::to_string(*keys.begin());
  module->cubin = std::vector<char>(bytes, char(*keys.begin()));
  module->log = "a warning\n";
  StoredModule stored{module, {}};
  for (uint8_t key : keys) {
    StoredKernel kernel{keyOf(key), "k" + std::to_string(key), 128, 2, {}};
    kernel.resources.registers = 40;
    kernel.resources.spillLoadBytes = key;
    stored.kernels.push_back(kernel);
  }
  return stored;
}

class DiskCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(fs::createUniqueDirectory("fusec-cache-test", path));
    base = path.str().str();
    folder = base + "/made/cache";
  }
  void TearDown() override { fs::remove_directories(base); }

  DiskCache cache(uint64_t maxBytes = 1 << 20) {
    DiskCacheOptions options{folder, maxBytes, [this](const std::string &text) {
                               warnings.push_back(text);
                             }};
    return DiskCache(options);
  }
  std::string file(uint8_t key) const {
    return folder + "/" +
           llvm::toHex(llvm::ArrayRef(keyOf(key)), /*LowerCase=*/true) +
           ".fusec";
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; it != end && !error;
         it.increment(error))
      found.push_back(it->path());
    return found;
  }

  std::string base, folder;
  std::vector<std::string> warnings;
};
} // namespace

TEST(CacheEntry, ComesBackAsItWas) {
  StoredModule stored = moduleOf({1, 2, 3});
  std::string bytes = encodeModule(stored);
  auto read = decodeModule(bytes);
  ASSERT_TRUE(!!read);
  EXPECT_EQ(read->module->ptx, stored.module->ptx);
  EXPECT_EQ(read->module->cubin, stored.module->cubin);
  EXPECT_EQ(read->module->log, stored.module->log);
  ASSERT_EQ(read->kernels.size(), 3u);
  const StoredKernel &kernel = read->kernels[2];
  EXPECT_EQ(kernel.key, keyOf(3));
  EXPECT_EQ(kernel.entry, "k3");
  EXPECT_EQ(kernel.threads, 128u);
  EXPECT_EQ(kernel.cluster, 2u);
  EXPECT_EQ(kernel.resources.registers, 40u);
  EXPECT_EQ(kernel.resources.spillLoadBytes, 3u);
  EXPECT_FALSE(kernel.resources.localBytes.has_value());
  EXPECT_EQ(encodeModule(*read), bytes);
}

TEST(CacheEntry, EveryFlippedBitAndEveryTruncationIsSeen) {
  std::string good = encodeModule(moduleOf({1, 2}));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1 << (i % 8);
    EXPECT_NE(text(decodeModule(bad)), "") << "byte " << i;
    EXPECT_NE(text(decodeModule(llvm::StringRef(good).take_front(i))), "");
  }
  EXPECT_NE(text(decodeModule(good + "x")), "");
  EXPECT_NE(text(decodeModule("")), "");
}

// Without its kernel this file would read as one of no kernels, whose PTX, log
// and cubin have the lengths that the key's bytes spell.
TEST(CacheEntry, TheNumberOfKernelsIsCoveredByTheDigest) {
  constexpr size_t kCount = 12, kHeader = 56;
  StoredModule stored = moduleOf({1});
  stored.kernels[0].key = {};
  size_t rest = encodeModule(stored).size() - kHeader - 24;
  stored.kernels[0].key[16] = rest;
  ASSERT_LT(rest, 256u);
  std::string file = encodeModule(stored);
  ASSERT_EQ(text(decodeModule(file)), "");
  ASSERT_EQ(file[kCount], 1);
  file[kCount] = 0;
  EXPECT_TRUE(contains(text(decodeModule(file)), "do not match its digest"));
}

TEST_F(DiskCacheTest, KeepsAModuleUnderAllItsKeys) {
  {
    DiskCache writer = cache();
    writer.insert(moduleOf({1, 2, 3}));
    EXPECT_EQ(writer.statistics().stored, 1u);
  }
  DiskCache reader = cache();
  for (uint8_t key : {1, 2, 3}) {
    auto found = reader.find(keyOf(key));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->module->ptx, "ptx of 1");
    EXPECT_EQ(found->kernels.size(), 3u);
  }
  EXPECT_FALSE(reader.find(keyOf(4)));
  EXPECT_EQ(reader.statistics().hits, 3u);
  EXPECT_EQ(reader.statistics().misses, 1u);
  EXPECT_EQ(names().size(), 3u); // nothing temporary is left
  auto report = llvm::cantFail(inspectCache(folder, true));
  EXPECT_EQ(report.modules, 1u);
  EXPECT_EQ(report.kernels, 3u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, FolderAndFilesArePrivate) {
  mode_t old = ::umask(0);
  cache().insert(moduleOf({1}));
  ::umask(old);
  struct stat info;
  for (const std::string &path : {folder, base + "/made"}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << path;
  }
  ASSERT_EQ(::stat(file(1).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DiskCacheTest, ReadingMakesNoFolder) {
  DiskCache reader = cache();
  EXPECT_FALSE(reader.find(keyOf(1)));
  EXPECT_FALSE(fs::exists(base + "/made"));
  EXPECT_TRUE(warnings.empty());
  // What appears later is seen.
  cache().insert(moduleOf({1}));
  EXPECT_TRUE(reader.find(keyOf(1)));
}

TEST_F(DiskCacheTest, DamageIsAMissAndIsRemoved) {
  DiskCache both = cache();
  for (int cut : {0, 1, 30, 200}) {
    both.insert(moduleOf({1}));
    ASSERT_EQ(::truncate(file(1).c_str(), cut), 0);
    EXPECT_FALSE(both.find(keyOf(1)));
    EXPECT_FALSE(fs::exists(file(1)));
  }
  EXPECT_EQ(both.statistics().damaged, 4u);
  both.insert(moduleOf({1}));
  EXPECT_TRUE(both.find(keyOf(1)));
}

TEST_F(DiskCacheTest, ReadsWhatComesInPieces) {
  cache().insert(moduleOf({1, 2}, 1000));
  mostBytesAtOnce = 7;
  askedBeyondTheEnd = false;
  auto found = cache().find(keyOf(1));
  // As if the file had lost all its bytes since its size was asked for.
  mostBytesAtOnce = 0;
  DiskCache reader = cache();
  EXPECT_FALSE(reader.find(keyOf(1)));
  mostBytesAtOnce = SIZE_MAX;
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->module->cubin, std::vector<char>(1000, 1));
  EXPECT_FALSE(askedBeyondTheEnd);
  EXPECT_FALSE(fs::exists(file(1))) << "damaged, so removed";
  EXPECT_TRUE(fs::exists(file(2)));
}

TEST_F(DiskCacheTest, AFileUnderAnotherNameIsNotServed) {
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  both.insert(moduleOf({2}));
  ASSERT_FALSE(fs::rename(file(1), file(2)));
  EXPECT_FALSE(both.find(keyOf(2)));
  auto report = llvm::cantFail(inspectCache(folder, true));
  EXPECT_EQ(report.kernels, 0u);
}

TEST_F(DiskCacheTest, LinksAndPipesAreNotOpened) {
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  std::string outside = base + "/outside";
  ASSERT_FALSE(fs::rename(file(1), outside));
  ASSERT_EQ(::symlink(outside.c_str(), file(1).c_str()), 0);
  EXPECT_FALSE(both.find(keyOf(1)));
  EXPECT_TRUE(fs::exists(outside));
  ASSERT_EQ(::mkfifo(file(2).c_str(), 0600), 0);
  EXPECT_FALSE(both.find(keyOf(2))); // and does not wait
  ASSERT_FALSE(fs::create_directory(file(3)));
  EXPECT_FALSE(both.find(keyOf(3)));
  EXPECT_EQ(both.statistics().damaged, 3u);
}

TEST_F(DiskCacheTest, FilesThatOthersMayWriteAreNotBelieved) {
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  ASSERT_EQ(::chmod(file(1).c_str(), 0666), 0);
  EXPECT_FALSE(both.find(keyOf(1)));
}

TEST_F(DiskCacheTest, RefusesAFolderThatOthersMayWrite) {
  cache().insert(moduleOf({1}));
  ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
  DiskCache both = cache();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(both.find(keyOf(1)));
    both.insert(moduleOf({2}));
  }
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "nobody else may write to"));
  EXPECT_FALSE(fs::exists(file(2)));
  EXPECT_NE(text(inspectCache(folder, false)), "");
}

TEST_F(DiskCacheTest, RefusesALinkInPlaceOfTheFolder) {
  ASSERT_FALSE(fs::create_directories(base + "/target"));
  ASSERT_FALSE(fs::create_directories(base + "/made"));
  ASSERT_EQ(::symlink((base + "/target").c_str(), folder.c_str()), 0);
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  EXPECT_FALSE(both.find(keyOf(1)));
  EXPECT_EQ(warnings.size(), 1u);
  std::error_code error;
  EXPECT_EQ(fs::directory_iterator(base + "/target", error),
            fs::directory_iterator());
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeCostsOneWarning) {
  std::ofstream(base + "/made") << "a file";
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  both.insert(moduleOf({2}));
  EXPECT_FALSE(both.find(keyOf(1)));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(DiskCacheTest, AReadOnlyFolderStillServes) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  cache().insert(moduleOf({1}));
  ASSERT_EQ(::chmod(folder.c_str(), 0500), 0);
  DiskCache both = cache();
  EXPECT_TRUE(both.find(keyOf(1)));
  both.insert(moduleOf({2}));
  both.insert(moduleOf({3}));
  EXPECT_EQ(warnings.size(), 1u);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
}

// A limit on file sizes stands for a full disk.
TEST_F(DiskCacheTest, AFullDiskLeavesNothingBehind) {
  cache().insert(moduleOf({1}));
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = {200, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  DiskCache both = cache();
  both.insert(moduleOf({2}, 4000));
  both.insert(moduleOf({3}, 4000));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(names().size(), 1u);
  EXPECT_TRUE(both.find(keyOf(1)));
}

TEST_F(DiskCacheTest, RemovesWhatWasUsedLongestAgo) {
  uint64_t one = encodeModule(moduleOf({1, 101}, 1000)).size();
  DiskCache both = cache(4 * one);
  for (uint8_t key : {1, 2, 3}) {
    both.insert(moduleOf({key, uint8_t(100 + key)}, 1000));
    ::usleep(20'000); // beyond the grain of file times
  }
  ASSERT_TRUE(both.find(keyOf(1)));
  ::usleep(20'000);
  both.insert(moduleOf({4, 104}, 1000));
  both.insert(moduleOf({5, 105}, 1000));
  // 2 was oldest, then 3; both names of each went.
  for (uint8_t key : {2, 102, 3, 103})
    EXPECT_FALSE(fs::exists(file(key))) << int(key);
  for (uint8_t key : {1, 101, 4, 104, 5, 105})
    EXPECT_TRUE(fs::exists(file(key))) << int(key);
}

TEST_F(DiskCacheTest, AModuleBeyondTheLimitIsNotKept) {
  DiskCache both = cache(500);
  both.insert(moduleOf({1}, 1000));
  EXPECT_FALSE(fs::exists(file(1)));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, WhatDeadWritersLeftIsRemoved) {
  DiskCache both = cache();
  both.insert(moduleOf({1}));
  std::string old = folder + "/.tmp-1-2-3", young = folder + "/.tmp-4-5-6";
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  struct timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  llvm::cantFail(inspectCache(folder, false));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  llvm::cantFail(clearCache(folder));
  EXPECT_TRUE(names().empty());
}

// Removing and replacing while others read: whole modules or none.
static int hammer(const std::string &folder, unsigned seed) {
  DiskCache both({folder, 20'000, [](const std::string &) {}});
  for (unsigned i = 0; i < 300; ++i) {
    uint8_t key = (seed * 7 + i * 13) % 8;
    if ((i + seed) % 3 == 0)
      both.insert(moduleOf({key, uint8_t((key + 1) % 8)}, 2000));
    auto found = both.find(keyOf(key));
    if (!found)
      continue;
    uint8_t first = found->kernels[0].key[0];
    if (found->module->ptx != "ptx of " + std::to_string(first) ||
        found->module->cubin != std::vector<char>(2000, char(first)))
      return 1;
    if (i % 97 == 0)
      llvm::consumeError(clearCache(folder).takeError());
  }
  return both.statistics().damaged == 0 ? 0 : 2;
}

TEST_F(DiskCacheTest, ProcessesShareAFolder) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 6; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      ::_exit(hammer(folder, i));
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  auto report = llvm::cantFail(inspectCache(folder, true));
  EXPECT_TRUE(report.damaged.empty());
}

// Bug I5: 32 writers of 20 modules, half of them killed at any moment. Whatever
// is left is whole.
TEST_F(DiskCacheTest, I5KilledWritersLeaveWholeModules) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 32; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache own({folder, 1 << 20, [](const std::string &) {}});
      for (unsigned round = 0; round < (i % 2 ? 1u : 1000u); ++round)
        for (uint8_t key = 0; key < 20; ++key)
          own.insert(moduleOf({key, uint8_t(100 + key)}, 20'000));
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (unsigned i = 0; i < 32; ++i) {
    if (i % 2 == 0) {
      ::usleep(3'000 + 977 * i);
      ::kill(children[i], SIGKILL);
    }
    ::waitpid(children[i], nullptr, 0);
  }
  DiskCache both = cache();
  for (uint8_t key = 0; key < 20; ++key)
    if (auto found = both.find(keyOf(key)))
      EXPECT_EQ(found->module->cubin, std::vector<char>(20'000, char(key)));
  EXPECT_EQ(both.statistics().damaged, 0u);
  EXPECT_GT(both.statistics().hits, 0u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, ThreadsShareACache) {
  DiskCache both = cache(20'000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        uint8_t key = (t + i) % 5;
        both.insert(moduleOf({key}, 2000));
        auto found = both.find(keyOf(key));
        wrong += found && found->module->ptx != "ptx of " + std::to_string(key);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(both.statistics().damaged, 0u);
}

TEST(CacheEnvironment, NamesTheFolder) {
  auto with = [](const char *own, const char *xdg, const char *home) {
    auto set = [](const char *name, const char *value) {
      value ? ::setenv(name, value, 1) : ::unsetenv(name);
    };
    set("FUSEC_CACHE_DIR", own);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    return DiskCache::standardDirectory();
  };
  EXPECT_EQ(with("/a", "/b", "/c"), "/a");
  EXPECT_EQ(with(nullptr, "/b", "/c"), "/b/fusec");
  EXPECT_EQ(with("", "", "/c"), "/c/.cache/fusec");
  EXPECT_EQ(with(nullptr, "relative", "/c"), "/c/.cache/fusec");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}
