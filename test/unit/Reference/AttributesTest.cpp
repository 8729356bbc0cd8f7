//===- AttributesTest.cpp - constants as host tensors ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Attributes.h"
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using namespace fusec::reference::test;

TEST(Attributes, RoundTripOfEveryType) {
  MLIRContext context;
  std::vector<DType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  types.push_back(DType::Bool);
  for (DType dtype : types) {
    HostTensor x = specialValues(dtype);
    auto back = toHostTensor(toAttribute(x, &context));
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    EXPECT_EQ(llvm::ArrayRef<std::byte>(*back->bytes),
              llvm::ArrayRef<std::byte>(*x.bytes))
        << name(dtype).str();
    EXPECT_EQ(back->shape, x.shape);
  }
}

TEST(Attributes, SplatsAndEmpties) {
  MLIRContext context;
  DenseElementsAttr splat =
      toAttribute(reals(DType::F16, {2, 3}, {7, 7, 7, 7, 7, 7}), &context);
  EXPECT_TRUE(splat.isSplat());
  EXPECT_EQ(asReals(*toHostTensor(splat)), (std::vector<double>(6, 7.0)));
  // Zeros of both signs are not one value.
  EXPECT_FALSE(
      toAttribute(reals(DType::F32, {2}, {0.0, -0.0}), &context).isSplat());
  DenseElementsAttr empty =
      toAttribute(wholes(DType::U8, {0, 4}, {}), &context);
  auto back = toHostTensor(empty);
  ASSERT_TRUE(static_cast<bool>(back));
  EXPECT_EQ(back->shape, (std::vector<int64_t>{0, 4}));
}

TEST(Attributes, Resources) {
  MLIRContext context;
  Builder builder(&context);
  auto type = RankedTensorType::get(
      {3}, builder.getIntegerType(16, /*isSigned=*/false));
  uint16_t values[] = {1, 65535, 7};
  auto make = [&](StringRef name, size_t bytes) {
    return DenseResourceElementsAttr::get(
        type, name,
        HeapAsmResourceBlob::allocateAndCopyWithAlign(
            ArrayRef<char>(reinterpret_cast<char *>(values), bytes), 8));
  };
  auto tensor = toHostTensor(make("good", 6));
  ASSERT_TRUE(static_cast<bool>(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(asWholes(*tensor), (std::vector<int64_t>{1, 65535, 7}));
  EXPECT_EQ(llvm::toString(toHostTensor(make("short", 4)).takeError()),
            "the constant's resource must have 6 bytes, found 4");
}

TEST(Attributes, RefusesOtherTypes) {
  MLIRContext context;
  Builder builder(&context);
  auto index =
      DenseElementsAttr::get(RankedTensorType::get({1}, builder.getIndexType()),
                             builder.getIndexAttr(1));
  EXPECT_EQ(llvm::toString(toHostTensor(index).takeError()),
            "the constant is no tensor of a fusec element type");
  auto big = DenseElementsAttr::get(
      RankedTensorType::get({1 << 20}, builder.getF32Type()), 1.0f);
  auto capped = toHostTensor(big, /*maxBytes=*/1024);
  EXPECT_FALSE(static_cast<bool>(capped));
  llvm::consumeError(capped.takeError());
}

TEST(Attributes, ConstantsEvaluate) {
  Graph graph("func.func @f() -> tensor<3xi4> {\n"
              "  %0 = graph.constant dense<[-8, 7, -1]> : tensor<3xi4>\n"
              "  return %0 : tensor<3xi4>\n}\n");
  auto results = run(graph, {});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(asWholes(results[0]), (std::vector<int64_t>{-8, 7, -1}));
}

// Large constants reach programs without a copy; others are copied.
TEST(Attributes, BytesAreShared) {
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  auto type =
      mlir::RankedTensorType::get({300}, mlir::Float32Type::get(&context));
  auto bytes = std::make_shared<Bytes>(1200, std::byte(7));
  std::weak_ptr<Bytes> alive = bytes;
  {
    auto shared = toBytes(graph::makeResource(type, "w", bytes));
    ASSERT_TRUE(static_cast<bool>(shared));
    EXPECT_EQ((*shared)->data(), bytes->data());
    auto copied =
        toBytes(graph::makeResource(type, "w", bytes, graph::Sharing::No));
    ASSERT_TRUE(static_cast<bool>(copied));
    // The store knows these bytes from the first resource.
    EXPECT_EQ((*copied)->size(), 1200u);
    auto own = std::make_shared<Bytes>(1200, std::byte(9));
    auto apart =
        toBytes(graph::makeResource(type, "w", own, graph::Sharing::No));
    ASSERT_TRUE(static_cast<bool>(apart));
    EXPECT_NE((*apart)->data(), own->data());
    EXPECT_EQ((*apart)->data()[1199], std::byte(9));
    auto small = mlir::DenseElementsAttr::get(type, 1.5f);
    auto dense = toBytes(small);
    ASSERT_TRUE(static_cast<bool>(dense));
    EXPECT_EQ((*dense)->size(), 1200u);
  }
  bytes.reset();
  EXPECT_FALSE(alive.expired()) << "the context's resource keeps them";
}

// The store forgets bytes that are gone, from time to time, and no others.
TEST(Attributes, TheStoreKeepsWhatIsAlive) {
  mlir::MLIRContext context;
  auto *store = context.getOrLoadDialect<graph::GraphDialect>()
                    ->getRegisteredInterface<graph::ConstantStore>();
  ASSERT_NE(store, nullptr);
  std::vector<std::shared_ptr<const Bytes>> alive;
  std::vector<const void *> gone;
  // More than the store holds before it looks through them.
  for (int i = 0; i < 3000; ++i) {
    alive.push_back(std::make_shared<Bytes>(8, std::byte(1)));
    store->add(alive.back());
  }
  for (int i = 0; i < 1500; ++i) {
    gone.push_back(alive.back()->data());
    alive.pop_back();
  }
  for (const std::shared_ptr<const Bytes> &bytes : alive)
    ASSERT_EQ(store->find(bytes->data()), bytes);
  for (const void *data : gone)
    ASSERT_EQ(store->find(data), nullptr);
}

// A fact about a dimension admits the sizes from min to max, both included,
// that the divisor divides.
TEST(Attributes, FactsAdmitSizes) {
  graph::DimFact fact;
  fact.min = 8;
  fact.max = 24;
  fact.divisor = 4;
  for (int64_t size = 0; size < 40; ++size)
    EXPECT_EQ(fact.admits(size), size >= 8 && size <= 24 && size % 4 == 0)
        << size;
  fact.max = mlir::ShapedType::kDynamic;
  EXPECT_TRUE(fact.admits(4000));
  EXPECT_FALSE(fact.admits(4001));
  EXPECT_FALSE(fact.admits(4));
}

// Bytes of somebody else are copied before they are written.
TEST(Attributes, ViewsAreCopiedBeforeTheyAreWritten) {
  auto owner = std::make_shared<std::vector<std::byte>>(8, std::byte(1));
  HostTensor view{
      DType::F32,
      {2},
      std::make_shared<Bytes>(llvm::ArrayRef<std::byte>(*owner), owner)};
  EXPECT_EQ(std::as_const(view).data(), owner->data());
  view.setBits(0, 0);
  EXPECT_NE(std::as_const(view).data(), owner->data());
  EXPECT_EQ((*owner)[0], std::byte(1));
  EXPECT_EQ(view.getBits(1), 0x01010101u);
}
