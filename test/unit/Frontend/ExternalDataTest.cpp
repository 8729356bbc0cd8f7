//===- ExternalDataTest.cpp - tests of files beside a model ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxWriter.h"
#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Support/File.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

/// A folder "model" with data files, and a secret beside it.
class ExternalData : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec-external", root));
    folder = (root + "/model").str();
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
    ASSERT_EQ(::mkdir((folder + "/sub").c_str(), 0700), 0);
    write(root.str().str() + "/secret", "SECRETSECRET");
    write(folder + "/data", "0123456789abcdef");
    write(folder + "/sub/data", "fedcba9876543210");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  void write(const std::string &path, const std::string &text) {
    ASSERT_FALSE(bool(writeFile(path, text)));
  }

  std::string read(const std::string &location, uint64_t offset = 0,
                   std::optional<uint64_t> length = std::nullopt,
                   bool hardLinks = false) {
    auto bytes =
        readExternalData(folder, location, offset, length, 1 << 20, hardLinks);
    if (!bytes)
      return "error: " + llvm::toString(bytes.takeError());
    return std::string(reinterpret_cast<const char *>(bytes->data()),
                       bytes->size());
  }

  bool refused(const std::string &location) {
    return read(location).find("error: ") == 0;
  }

  /// Decodes a u8[4] tensor with these external entries.
  std::string decode(const std::vector<std::pair<std::string, std::string>> &kv,
                     bool withFolder = true) {
    Proto proto = tensorProto({4}, 2).integer(14, 1);
    for (const auto &[key, value] : kv)
      proto.message(13, Proto().text(1, key).text(2, value));
    auto file = parseTensor(llvm::MemoryBuffer::getMemBufferCopy(proto.bytes));
    EXPECT_TRUE(bool(file));
    TensorDataOptions options;
    options.folder = withFolder ? folder : "";
    auto tensor = decodeTensor(file->tensor, options);
    if (!tensor)
      return "error: " + llvm::toString(tensor.takeError());
    return std::string(reinterpret_cast<const char *>(tensor->data()), 4);
  }

  llvm::SmallString<128> root;
  std::string folder;
};

TEST_F(ExternalData, ReadsInsideTheFolder) {
  EXPECT_EQ(read("data"), "0123456789abcdef");
  EXPECT_EQ(read("data", 4, 3), "456");
  EXPECT_EQ(read("./sub//data", 14), "10");
  EXPECT_EQ(read("data", 16), "");
  EXPECT_EQ(read("data", 16, 0), "");
}

TEST_F(ExternalData, RefusesPathsThatLeaveTheFolder) {
  const std::string bad[] = {"../secret",
                             "sub/../../secret",
                             "sub/../data",
                             "..",
                             "/etc/passwd",
                             root.str().str() + "/secret",
                             "..\\secret",
                             "sub\\data",
                             "",
                             ".",
                             "./",
                             "/",
                             "./.",
                             std::string("data\0x", 6),
                             std::string("\0", 1),
                             "sub/..",
                             "a/../../x",
                             "none",
                             "data/x",
                             "sub"};
  for (const std::string &location : bad)
    EXPECT_TRUE(refused(location)) << location;
  std::string deep;
  for (int i = 0; i < 1000; ++i)
    deep += "x/";
  EXPECT_TRUE(refused(deep));
  EXPECT_TRUE(refused(std::string(100000, 'x')));
}

TEST_F(ExternalData, FollowsNoSymbolicLink) {
  ASSERT_EQ(::symlink("../secret", (folder + "/leaf").c_str()), 0);
  ASSERT_EQ(::symlink("data", (folder + "/inner").c_str()), 0);
  ASSERT_EQ(::symlink("..", (folder + "/up").c_str()), 0);
  ASSERT_EQ(::symlink("sub", (folder + "/dir").c_str()), 0);
  for (const char *location : {"leaf", "inner", "up/secret", "dir/data"})
    EXPECT_TRUE(refused(location)) << location;
}

TEST_F(ExternalData, RefusesHardLinksUnlessAllowed) {
  std::string secret = root.str().str() + "/secret";
  ASSERT_EQ(::link(secret.c_str(), (folder + "/hard").c_str()), 0);
  EXPECT_TRUE(refused("hard"));
  EXPECT_EQ(read("hard", 0, 6, true), "SECRET");
}

TEST_F(ExternalData, ReadsRegularFilesOnly) {
  ASSERT_EQ(::mkfifo((folder + "/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(refused("fifo")); // and does not hang
  EXPECT_TRUE(refused("sub"));
  auto device = readExternalData("/dev", "zero", 0, 16, 1 << 20);
  EXPECT_FALSE(bool(device));
  llvm::consumeError(device.takeError());
}

TEST_F(ExternalData, ChecksOffsetAndLengthWithoutOverflow) {
  EXPECT_EQ(read("data", 17).find("error: "), 0u);
  EXPECT_EQ(read("data", 10, 7).find("error: "), 0u);
  EXPECT_EQ(read("data", 8, ~uint64_t(0)).find("error: "), 0u);
  EXPECT_EQ(read("data", ~uint64_t(0) - 3, 8).find("error: "), 0u);
  EXPECT_EQ(read("data", 0, uint64_t(1) << 50).find("error: "), 0u);
}

TEST_F(ExternalData, DecodesTensors) {
  EXPECT_EQ(decode({{"location", "data"}, {"length", "4"}}), "0123");
  EXPECT_EQ(decode({{"location", "data"}, {"offset", "12"}}), "cdef");
  EXPECT_EQ(decode({{"checksum", "?"},
                    {"location", "sub/data"},
                    {"unknown", "/etc/passwd"}}),
            "fedc");
}

TEST_F(ExternalData, RefusesMalformedEntries) {
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const Entries bad[] = {
      {},
      {{"offset", "0"}},
      {{"location", "data"}, {"offset", "-1"}},
      {{"location", "data"}, {"offset", ""}},
      {{"location", "data"}, {"offset", "1e3"}},
      {{"location", "data"}, {"offset", " 1"}},
      {{"location", "data"}, {"offset", "0x4"}},
      {{"location", "data"}, {"offset", "13"}},
      {{"location", "data"}, {"offset", "18446744073709551615"}},
      {{"location", "data"}, {"offset", "18446744073709551616"}},
      {{"location", "data"}, {"length", "5"}},
      {{"location", "data"}, {"length", "3"}},
      {{"location", "data"}, {"length", "-4"}},
      {{"location", "data"}, {"length", "1125899906842624"}},
      {{"location", "data"}, {"location", "data"}},
      {{"location", "data"}, {"offset", "0"}, {"offset", "4"}},
      {{"location", "../secret"}},
  };
  for (const Entries &entries : bad)
    EXPECT_EQ(decode(entries).find("error: tensor 't': "), 0u);
  EXPECT_EQ(decode({{"location", "data"}}, false),
            "error: tensor 't': external data needs a model that was read "
            "from a file");
}

TEST_F(ExternalData, LargeClaimsAskForNoMemory) {
  // 2^33 elements against a file of 16 bytes.
  Proto proto = tensorProto({int64_t(1) << 33}, 2).integer(14, 1);
  proto.message(13, Proto().text(1, "location").text(2, "data"));
  auto file = parseTensor(llvm::MemoryBuffer::getMemBufferCopy(proto.bytes));
  ASSERT_TRUE(bool(file));
  TensorDataOptions options;
  options.folder = folder;
  auto tensor = decodeTensor(file->tensor, options);
  ASSERT_FALSE(bool(tensor));
  EXPECT_NE(llvm::toString(tensor.takeError()).find("go beyond the file's 16"),
            std::string::npos);
}

TEST_F(ExternalData, ModelsKnowTheirFolder) {
  GraphSpec graph;
  Proto weight = tensorProto({4}, 2, "w").integer(14, 1);
  weight.message(13, Proto().text(1, "location").text(2, "data"));
  graph.initializers = {weight};
  write(folder + "/m.onnx", model(graph.proto()).bytes);
  auto m = readModel(folder + "/m.onnx");
  ASSERT_TRUE(bool(m)) << llvm::toString(m.takeError());
  TensorDataOptions options;
  options.folder = m->folder;
  auto tensor = decodeTensor(m->graph.initializers[0], options);
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(tensor->getI64(3), '3');
}

} // namespace
