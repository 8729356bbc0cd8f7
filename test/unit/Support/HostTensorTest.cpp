//===- HostTensorTest.cpp - tests of host tensors -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/HostTensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace fusec;

namespace {

HostTensor make(DType type, std::vector<int64_t> shape) {
  auto tensor = HostTensor::create(type, shape);
  EXPECT_TRUE(bool(tensor));
  return std::move(*tensor);
}

TEST(HostTensor, StartsAsZeros) {
  HostTensor t = make(DType::BF16, {3, 5});
  EXPECT_EQ(t.elements(), 15);
  EXPECT_EQ(t.bytes->size(), 30u);
  for (int64_t i = 0; i < 15; ++i)
    EXPECT_EQ(t.getBits(i), 0u);
  EXPECT_EQ(make(DType::F32, {}).elements(), 1);
  EXPECT_EQ(make(DType::F32, {4, 0}).elements(), 0);
}

TEST(HostTensor, RefusesHostileShapes) {
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{-1}, {int64_t(1) << 40}, {int64_t(1) << 62, 4}}) {
    auto t = HostTensor::create(DType::F64, shape);
    EXPECT_FALSE(bool(t));
    llvm::consumeError(t.takeError());
  }
}

TEST(HostTensor, StoresFloatsInEveryType) {
  struct Case {
    DType type;
    double in, out;
  };
  const Case cases[] = {
      {DType::F64, 0.1, 0.1},        {DType::F32, 0.1, double(0.1f)},
      {DType::F16, 2049, 2048},      {DType::BF16, 257, 256},
      {DType::F8E4M3, 17, 16},       {DType::F8E5M2, 9, 8},
      {DType::I64, -1.9, -1},        {DType::I32, 3e9, 2147483647},
      {DType::I16, -4e4, -32768},    {DType::I8, 200, 127},
      {DType::I4, -100, -8},         {DType::U64, 1e19, 1e19},
      {DType::U32, 5e9, 4294967295}, {DType::U16, -3, 0},
      {DType::U8, 255.9, 255},       {DType::U4, 99, 15},
      {DType::Bool, 0.25, 1},        {DType::Bool, NAN, 1},
      {DType::I32, NAN, 0},
  };
  for (const Case &c : cases) {
    HostTensor t = make(c.type, {3});
    t.setF64(1, c.in);
    EXPECT_EQ(t.getF64(1), c.out) << name(c.type).str();
    EXPECT_EQ(t.getBits(0), 0u);
    EXPECT_EQ(t.getBits(2), 0u);
  }
}

TEST(HostTensor, StoresIntegersInEveryType) {
  struct Case {
    DType type;
    int64_t in, out;
  };
  const Case cases[] = {
      {DType::I64, INT64_MIN, INT64_MIN},
      {DType::I32, 1LL << 31, INT32_MIN},
      {DType::I16, 65535, -1},
      {DType::I8, 128, -128},
      {DType::I4, 9, -7},
      {DType::U64, -1, -1},
      {DType::U32, -1, 4294967295},
      {DType::U16, 65536 + 7, 7},
      {DType::U8, -1, 255},
      {DType::U4, 18, 2},
      {DType::Bool, 256, 1},
      {DType::F32, (1 << 24) + 1, 1 << 24},
      {DType::F16, 2051, 2052},
      {DType::F64, -5, -5},
  };
  for (const Case &c : cases) {
    HostTensor t = make(c.type, {2});
    t.setI64(1, c.in);
    EXPECT_EQ(t.getI64(1), c.out) << name(c.type).str();
  }
}

TEST(HostTensor, UnsignedValuesKeepTheirSize) {
  HostTensor t = make(DType::U64, {1});
  t.setU64(0, UINT64_MAX);
  EXPECT_EQ(t.getF64(0), 0x1p64);
  HostTensor f = make(DType::F32, {1});
  f.setU64(0, UINT64_MAX);
  EXPECT_EQ(f.getF64(0), 0x1p64);
}

TEST(HostTensor, CloneOwnsItsBytes) {
  HostTensor t = make(DType::I32, {2});
  HostTensor shared = t, own = t.clone();
  t.setI64(0, 7);
  EXPECT_EQ(shared.getI64(0), 7);
  EXPECT_EQ(own.getI64(0), 0);
}

} // namespace
