//===- TensorDataTest.cpp - tests of tensor payloads ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Frontend/Onnx/TensorData.h"
#include "OnnxWriter.h"
#include "fusec/Frontend/Onnx/Reader.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

llvm::Expected<HostTensor> decode(const Proto &proto) {
  auto file = parseTensor(llvm::MemoryBuffer::getMemBufferCopy(proto.bytes));
  if (!file)
    return file.takeError();
  return decodeTensor(file->tensor);
}

std::string errorOf(const Proto &proto) {
  auto result = decode(proto);
  return result ? "" : llvm::toString(result.takeError());
}

/// The elements as f64, or nothing after a failure.
std::vector<double> valuesOf(const Proto &proto) {
  auto tensor = decode(proto);
  if (!tensor) {
    ADD_FAILURE() << llvm::toString(tensor.takeError());
    return {};
  }
  std::vector<double> out;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    out.push_back(tensor->getF64(i));
  return out;
}

using Values = std::vector<double>;

TEST(TensorData, DecodesRawBytesOfEveryType) {
  EXPECT_EQ(valuesOf(rawTensor<float>({2}, 1, {1.5f, -2})), (Values{1.5, -2}));
  EXPECT_EQ(valuesOf(rawTensor<double>({2}, 11, {1.5, -2})), (Values{1.5, -2}));
  EXPECT_EQ(valuesOf(rawTensor<uint16_t>({1}, 10, {0x3C00})), (Values{1}));
  EXPECT_EQ(valuesOf(rawTensor<uint16_t>({1}, 16, {0x3F80})), (Values{1}));
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({2}, 17, {0x38, 0x7E})),
            (Values{1, 448}));
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({1}, 19, {0x3C})), (Values{1}));
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({1}, 2, {200})), (Values{200}));
  EXPECT_EQ(valuesOf(rawTensor<int8_t>({1}, 3, {-100})), (Values{-100}));
  EXPECT_EQ(valuesOf(rawTensor<uint16_t>({1}, 4, {60000})), (Values{60000}));
  EXPECT_EQ(valuesOf(rawTensor<int16_t>({1}, 5, {-3})), (Values{-3}));
  EXPECT_EQ(valuesOf(rawTensor<int32_t>({1}, 6, {-3})), (Values{-3}));
  EXPECT_EQ(valuesOf(rawTensor<int64_t>({1}, 7, {-3})), (Values{-3}));
  EXPECT_EQ(valuesOf(rawTensor<uint32_t>({1}, 12, {4000000000u})),
            (Values{4e9}));
  EXPECT_EQ(valuesOf(rawTensor<uint64_t>({1}, 13, {uint64_t(1) << 63})),
            (Values{0x1p63}));
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({3}, 9, {0, 1, 7})), (Values{0, 1, 1}));
}

TEST(TensorData, UnpacksFourBitElementsLowHalfFirst) {
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({3}, 21, {0xF1, 0x08})),
            (Values{1, 15, 8}));
  EXPECT_EQ(valuesOf(rawTensor<uint8_t>({3}, 22, {0xF1, 0x08})),
            (Values{1, -1, -8}));
  EXPECT_EQ(valuesOf(tensorProto({3}, 22).packed(5, {0xF1, 8})),
            (Values{1, -1, -8}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 21).packed(5, {-15})), (Values{1, 15}));
  EXPECT_NE(errorOf(rawTensor<uint8_t>({3}, 22, {0xF1})), "");
  EXPECT_NE(errorOf(rawTensor<uint8_t>({2}, 22, {0xF1, 0x08})), "");
  EXPECT_NE(errorOf(tensorProto({2}, 21).packed(5, {256})), "");
}

TEST(TensorData, DecodesTypedLists) {
  EXPECT_EQ(valuesOf(tensorProto({2}, 1).fixed<float>(4, {1, 2})),
            (Values{1, 2}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 1).real(4, 3).real(4, 4)),
            (Values{3, 4}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 11).fixed<double>(10, {0.1})),
            (Values{0.1}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 7).packed(7, {-1, INT64_MIN})),
            (Values{-1, -0x1p63}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 13).packed(11, {-1})), (Values{0x1p64}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 12).packed(11, {4000000000})),
            (Values{4e9}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 6).packed(5, {-5, 5})), (Values{-5, 5}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 3).packed(5, {-128, 127})),
            (Values{-128, 127}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 2).packed(5, {255})), (Values{255}));
  EXPECT_EQ(valuesOf(tensorProto({2}, 9).packed(5, {0, 1})), (Values{0, 1}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 10).packed(5, {0xBC00})), (Values{-1}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 16).packed(5, {0xBF80})), (Values{-1}));
  EXPECT_EQ(valuesOf(tensorProto({1}, 17).packed(5, {0xB8})), (Values{-1}));
}

TEST(TensorData, EmptyTensorsAndScalars) {
  EXPECT_EQ(valuesOf(tensorProto({0, 3}, 1)), Values{});
  EXPECT_EQ(valuesOf(tensorProto({0}, 22).text(9, "")), Values{});
  EXPECT_EQ(valuesOf(rawTensor<float>({}, 1, {5})), Values{5});
}

TEST(TensorData, ValuesOutsideTheirTypeAreErrors) {
  EXPECT_NE(errorOf(tensorProto({1}, 3).packed(5, {128})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 2).packed(5, {-1})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 10).packed(5, {65536})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 12).packed(11, {int64_t(1) << 32})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 6).packed(5, {int64_t(1) << 31})), "");
}

TEST(TensorData, WrongPayloadsAreErrors) {
  EXPECT_EQ(errorOf(tensorProto({2}, 1, "w")),
            "tensor 'w': the values are missing");
  EXPECT_NE(errorOf(rawTensor<float>({3}, 1, {1, 2})), "");
  EXPECT_NE(errorOf(rawTensor<float>({1}, 1, {1, 2})), "");
  EXPECT_NE(errorOf(rawTensor<float>({0}, 1, {1})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 1).packed(5, {1})), "");
  EXPECT_NE(errorOf(rawTensor<float>({1}, 1, {1}).fixed<float>(4, {1})), "");
  EXPECT_NE(errorOf(tensorProto({1}, 8).text(6, "string")), "");
  EXPECT_NE(errorOf(rawTensor<float>({1}, 1, {1}).text(6, "s")), "");
  EXPECT_NE(errorOf(rawTensor<float>({1}, 1, {1}).message(3, Proto())), "");
  for (int type : {0, 8, 14, 15, 18, 20, 23, 99, -1})
    EXPECT_NE(errorOf(rawTensor<uint8_t>({1}, type, {1})), "") << type;
}

TEST(TensorData, HostileDimensionsAreErrors) {
  for (std::vector<int64_t> dims : {std::vector<int64_t>{-1},
                                    {0, -1},
                                    {INT64_MAX},
                                    {int64_t(1) << 32, int64_t(1) << 32},
                                    {int64_t(1) << 62, 2, 2},
                                    {0, int64_t(1) << 62, 4},
                                    {int64_t(1) << 32}})
    EXPECT_NE(errorOf(rawTensor<float>(dims, 1, {1})), "");
}

TEST(TensorData, EveryTruncationOfATensorFileIsSurvived) {
  std::string bytes = rawTensor<float>({2, 2}, 1, {1, 2, 3, 4}).bytes;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Proto cut;
    cut.bytes = bytes.substr(0, size);
    EXPECT_NE(errorOf(cut), "") << size;
  }
}

} // namespace
