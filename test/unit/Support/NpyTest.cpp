//===- NpyTest.cpp - tests of .npy files ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/Npy.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace fusec;

namespace {

/// A .npy file with the given header text and data.
std::string file(std::string header, const std::string &data, int major = 1) {
  std::string out("\x93NUMPY", 6);
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    out += static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

std::string errorOf(llvm::StringRef contents,
                    std::optional<DType> as = std::nullopt) {
  auto tensor = parseNpy(contents, as);
  if (tensor)
    return "";
  return llvm::toString(tensor.takeError());
}

const DType kAll[] = {DType::F64, DType::F32, DType::F16,    DType::BF16,
                      DType::I64, DType::I32, DType::F8E4M3, DType::F8E5M2,
                      DType::I16, DType::I8,  DType::I4,     DType::U64,
                      DType::U32, DType::U16, DType::U8,     DType::U4,
                      DType::Bool};

TEST(Npy, EveryTypeAndShapeSurvivesARoundTrip) {
  for (DType type : kAll)
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {0}, {1}, {7}, {2, 3, 5}, {4, 0, 3}}) {
      auto tensor = HostTensor::create(type, shape);
      ASSERT_TRUE(bool(tensor));
      for (int64_t i = 0; i < tensor->elements(); ++i)
        tensor->setI64(i, i % 7);
      std::string text = formatNpy(*tensor);
      EXPECT_EQ((text.size() - tensor->bytes->size()) % 64, 0u);
      auto back = parseNpy(text, type);
      ASSERT_TRUE(bool(back)) << name(type).str();
      EXPECT_EQ(back->dtype, type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(llvm::ArrayRef<std::byte>(*back->bytes),
                llvm::ArrayRef<std::byte>(*tensor->bytes));
    }
}

TEST(Npy, AcceptsEveryFormatVersion) {
  for (int major : {1, 2, 3}) {
    auto t = parseNpy(file("{'descr':'|u1','fortran_order':False,"
                           "'shape':(2,)}\n",
                           "ab", major));
    ASSERT_TRUE(bool(t));
    EXPECT_EQ(t->getI64(1), 'b');
  }
}

TEST(Npy, TurnsFortranOrderIntoRows) {
  std::string header =
      "{'shape': (2, 3, 2), 'fortran_order': True, 'descr': '|i1'}";
  std::string data;
  // Element (i, j, k) is 100i + 10j + k, stored with i fastest.
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i)
        data += static_cast<char>(100 * i + 10 * j + k);
  auto t = parseNpy(file(header, data));
  ASSERT_TRUE(bool(t));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k)
        EXPECT_EQ(t->getI64((i * 3 + j) * 2 + k), 100 * i + 10 * j + k);
}

TEST(Npy, TypesWithoutANameNeedAHint) {
  std::string text =
      file("{'descr':'<u2','fortran_order':False,'shape':()}", "\x80\x3f");
  auto plain = parseNpy(text);
  ASSERT_TRUE(bool(plain));
  EXPECT_EQ(plain->dtype, DType::U16);
  auto hinted = parseNpy(text, DType::BF16);
  ASSERT_TRUE(bool(hinted));
  EXPECT_EQ(hinted->getF64(0), 1.0);
  std::string opaque =
      file("{'descr':'<V2','fortran_order':False,'shape':()}", "\x80\x3f");
  EXPECT_EQ(errorOf(opaque), "unsupported descr '<V2'");
  EXPECT_EQ(errorOf(opaque, DType::BF16), "");
  EXPECT_EQ(errorOf(text, DType::F32), "unsupported descr '<u2' for f32");
}

TEST(Npy, NormalisesBoolsAndChecksFourBitValues) {
  auto t = parseNpy(
      file("{'descr':'|b1','fortran_order':False,'shape':(2,)}", "\x02\xff"));
  ASSERT_TRUE(bool(t));
  EXPECT_EQ(t->getBits(0), 1u);
  EXPECT_EQ(t->getBits(1), 1u);
  EXPECT_EQ(errorOf(file("{'descr':'|i1','fortran_order':False,'shape':(1,)}",
                         "\x08"),
                    DType::I4),
            "element 0 is 8, outside i4");
}

TEST(Npy, EveryTruncationIsAnError) {
  auto tensor = HostTensor::create(DType::F32, {3, 2});
  ASSERT_TRUE(bool(tensor));
  std::string text = formatNpy(*tensor);
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(errorOf(llvm::StringRef(text).take_front(size)), "") << size;
  EXPECT_NE(errorOf(text + "x"), "");
}

TEST(Npy, EveryFlippedHeaderByteIsHandled) {
  auto tensor = HostTensor::create(DType::F32, {3, 2});
  ASSERT_TRUE(bool(tensor));
  std::string text = formatNpy(*tensor);
  size_t accepted = 0;
  for (size_t at = 0; at < 128; ++at)
    for (int flip = 1; flip < 256; flip <<= 1) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      auto result = parseNpy(changed);
      if (result) {
        ++accepted;
        EXPECT_EQ(result->bytes->size(), 24u);
      } else {
        llvm::consumeError(result.takeError());
      }
    }
  // Some flips keep a valid header (quote style, spaces, '<f4' to '<i4', ...).
  EXPECT_LT(accepted, 200u);
}

TEST(Npy, RefusesHostileHeaders) {
  auto header = [](std::string shape, std::string descr = "<f4") {
    return file("{'descr':'" + descr +
                    "','fortran_order':False,'shape':" + shape + "}",
                "");
  };
  const std::string bad[] = {
      "",
      "not a file",
      header("(-1,)"),
      header("(4294967296,4294967296)"),
      header("(0,4611686018427387904,4)"),
      header("(99999999999999999999,)"),
      header("(3)"),
      header("(3,,)"),
      header("(3 4)"),
      header("(1099511627776,)"),
      header("()", "O"),
      header("()", "|O"),
      header("()", "<c8"),
      header("()", ">f4"),
      header("()", ""),
      header("()", "<f4,"),
      file("", ""),
      file("{", ""),
      file("{}", ""),
      file("{'descr':'<f4','fortran_order':False}", ""),
      file("{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':()}",
           "1234"),
      file("{'descr':[('a','<f4')],'fortran_order':False,'shape':()}", "1234"),
      file("{'descr':'<f4','fortran_order':0,'shape':()}", "1234"),
      file("{'descr':'<f4','fortran_order':False,'shape':()} junk", "1234"),
      file("{'descr':'<f4','fortran_order':False,'shape':()}", "1234", 4),
      file("{'descr':'<f4','fortran_order':False,'shape':()}", "1234", 0),
      std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
  };
  for (const std::string &text : bad)
    EXPECT_NE(errorOf(text), "") << text;
  std::string ranks = "(";
  for (int i = 0; i < 65; ++i)
    ranks += "1,";
  EXPECT_NE(
      errorOf(file(
          "{'descr':'|u1','fortran_order':False,'shape':" + ranks + ")}", "x")),
      "");
}

TEST(Npy, ReadsAndWritesFiles) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec-npy", folder));
  std::string path = (folder + "/t.npy").str();
  auto tensor = HostTensor::create(DType::I32, {2});
  ASSERT_TRUE(bool(tensor));
  tensor->setI64(1, -9);
  ASSERT_FALSE(bool(writeNpy(path, *tensor)));
  auto back = readNpy(path);
  ASSERT_TRUE(bool(back));
  EXPECT_EQ(back->getI64(1), -9);

  // A FIFO or a folder must neither hang nor be read.
  std::string fifo = (folder + "/fifo").str();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (std::string odd : {fifo, folder.str().str(), (folder + "/none").str()}) {
    auto result = readNpy(odd);
    ASSERT_FALSE(bool(result));
    EXPECT_NE(llvm::toString(result.takeError()).find(odd), std::string::npos);
  }
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
