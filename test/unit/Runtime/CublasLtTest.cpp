//===- CublasLtTest.cpp - products by cuBLASLt, without a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the fake driver and a fake cuBLASLt that computes. Kernels are really
// compiled, so NVRTC is needed.
//===----------------------------------------------------------------------===//
#include "FakeCublasLt.h"
#include "FakeCudaDriver.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Runtime/Executable.h"

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;

namespace {
// Before anything opens the driver.
[[maybe_unused]] const int chosen =
    setenv("FUSEC_CUDA_DRIVER", FUSEC_FAKE_CUDA_DRIVER, 1) +
    setenv("FUSEC_CACHE", "off", 1);

class CublasLtTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << llvm::toString(opened.takeError());
    setenv("FUSEC_CUBLASLT", FUSEC_FAKE_CUBLASLT, 1);
    fakeReset();
    fakeCublasLtReset();
    fake.argCount = 3;
    device = llvm::cantFail(createCudaDevice());
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(library.handles, 0);
    EXPECT_EQ(library.descriptors, 0);
    EXPECT_EQ(fake.allocations, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_TRUE(fake.illegal.empty());
    EXPECT_TRUE(fakeContexts()->empty());
  }
  /// What a new device says where the library is `path`.
  std::string problemWith(const char *path) {
    setenv("FUSEC_CUBLASLT", path, 1);
    auto other = llvm::cantFail(createCudaDevice());
    return text(other->vendorAlgorithms(product(), 8));
  }
  /// f32 of batch x m x k by batch x n x k, with gaps.
  static MatrixProduct product(bool lhsAlong = true, bool rhsAlong = true,
                               int64_t batch = 1) {
    MatrixProduct product;
    product.batch = batch;
    product.m = 3;
    product.n = 4;
    product.k = 5;
    product.lhs = {0, DType::F32, lhsAlong, 7, batch == 1 ? 0 : 40};
    product.rhs = {1, DType::F32, rhsAlong, 6, batch == 1 ? 0 : 32};
    product.result = {2, DType::F32, false, 5, batch == 1 ? 0 : 16};
    return product;
  }
  /// One kernel that takes the buffers of `product`, and the call, between
  /// `others` launches on each side.
  Program programOf(const MatrixProduct &product, size_t others = 0) {
    VendorAlgorithm algorithm =
        llvm::cantFail(device->vendorAlgorithms(product, 1)).front();
    Program program;
    program.inputs = {{"lhs", DType::F32, {*product.lhsReach()}},
                      {"rhs", DType::F32, {*product.rhsReach()}}};
    program.outputs = {{"out", DType::F32, {*product.resultReach()}}};
    program.kernels = {
        {"own",
         "extern \"C\" __global__ void __launch_bounds__(64) own("
         "const float *a, const float *b, float *c) { c[0] = a[0] + b[0]; }\n",
         64}};
    Launch plain{0, {1, 1, 1}, 0, {input(0), input(1), output(0)}};
    Launch vendor = plain;
    addVendorCall(program, vendor, product, algorithm);
    program.steps.assign(others, plain);
    program.steps.push_back(vendor);
    program.steps.insert(program.steps.end(), others, plain);
    llvm::cantFail(planWorkspace(program));
    return program;
  }

  FakeCuda &fake = *fakeCuda();
  FakeCublasLt &library = *fakeCublasLt();
  std::shared_ptr<Device> device;
};

/// Memory of a device that holds 0, 1, 2, ... -3 in turn.
struct Numbers {
  Numbers(std::shared_ptr<Device> device, int64_t count)
      : memory(llvm::cantFail(Buffer::allocate(device, 4 * count + 16))) {
    for (int64_t i = 0; i < count; ++i)
      data()[i] = float(i % 7 - 3);
  }
  float *data() { return static_cast<float *>(memory.data()); }
  Buffer memory;
};

float expected(const MatrixProduct &product, const float *lhs, const float *rhs,
               int64_t b, int64_t m, int64_t n) {
  float sum = 0;
  auto at = [&](const MatrixProduct::Matrix &matrix, int64_t outer, int64_t k) {
    return b * matrix.batchPitch + (matrix.alongSum ? outer * matrix.pitch + k
                                                    : k * matrix.pitch + outer);
  };
  for (int64_t k = 0; k < product.k; ++k)
    sum += lhs[at(product.lhs, m, k)] * rhs[at(product.rhs, n, k)];
  return sum;
}
} // namespace

TEST_F(CublasLtTest, SaysWhatIsMissing) {
  EXPECT_TRUE(contains(problemWith("/none/libcublasLt.so"),
                       "cannot open cuBLASLt, which FUSEC_CUBLASLT names: "
                       "/none/libcublasLt.so: "));
  EXPECT_TRUE(contains(problemWith("libm.so.6"),
                       "function 'cublasLtGetVersion' is missing"));
  for (uint64_t version : {110803u, 140000u}) {
    library.version = version;
    EXPECT_TRUE(contains(problemWith(FUSEC_FAKE_CUBLASLT),
                         "expected version 12 to 13, found"));
  }
}

TEST_F(CublasLtTest, OffersWhatIsTheSameEachTime) {
  library.offered = {{1},
                     {2, 2, 4096},
                     {3, 1},
                     {4, 4},
                     {5, 0, 0, 15},
                     {1},
                     {6, 0, kMostVendorWorkspace + 1},
                     {7},
                     {8}};
  auto found = llvm::cantFail(device->vendorAlgorithms(product(), 8));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "cuBLASLt 13.1.0 algorithm 1");
  EXPECT_EQ(found[1].name, "cuBLASLt 13.1.0 algorithm 2");
  EXPECT_EQ(found[1].workspaceBytes, 4096u);
  EXPECT_EQ(found[1].version, 130100u);
  EXPECT_EQ(found[1].words[1], 2u);
  EXPECT_EQ(found[2].name, "cuBLASLt 13.1.0 algorithm 7");
  EXPECT_EQ(library.maxWorkspace, kMostVendorWorkspace);
  EXPECT_EQ(library.reductions, 2u);
  EXPECT_EQ(library.alignments, std::set<uint64_t>{16});
  library.offered = {{1, 1}};
  EXPECT_TRUE(
      contains(text(device->vendorAlgorithms(product(), 8)),
               "no algorithm for this product that gives the same bits"));
  library.offered = {};
  EXPECT_TRUE(contains(text(device->vendorAlgorithms(product(), 8)),
                       "cublasLtMatmulAlgoGetHeuristic failed with code 15: "
                       "not supported"));
  MatrixProduct strange = product();
  strange.lhs.dtype = DType::U16;
  EXPECT_TRUE(contains(text(device->vendorAlgorithms(strange, 8)),
                       "no matrices of u16"));
}

TEST_F(CublasLtTest, MultipliesMatricesAsTheyLie) {
  for (bool lhsAlong : {false, true})
    for (bool rhsAlong : {false, true})
      for (int64_t batch : {1, 3}) {
        MatrixProduct product = this->product(lhsAlong, rhsAlong, batch);
        if (!lhsAlong)
          product.lhs.pitch = 4;
        Numbers lhs(device, *product.lhsReach());
        Numbers rhs(device, *product.rhsReach());
        Numbers out(device, *product.resultReach());
        auto program = programOf(product);
        auto loaded = llvm::cantFail(Executable::create(program, device));
        ASSERT_EQ(loaded->vendorProblem(), "");
        auto context = llvm::cantFail(ExecutionContext::create(loaded));
        ASSERT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()})),
                  "");
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t m = 0; m < product.m; ++m)
            for (int64_t n = 0; n < product.n; ++n)
              EXPECT_EQ(out.data()[b * product.result.batchPitch +
                                   m * product.result.pitch + n],
                        expected(product, lhs.data(), rhs.data(), b, m, n))
                  << lhsAlong << rhsAlong << batch << " at " << b << m << n;
        EXPECT_EQ(library.products.back().computeType, 69) << "pedantic f32";
        EXPECT_TRUE(fake.launches.empty()) << "its kernel does not run";
      }
}

TEST_F(CublasLtTest, SumsOfIntegersAreIntegers) {
  MatrixProduct product = this->product();
  product.lhs.dtype = product.rhs.dtype = DType::I8;
  product.result.dtype = DType::I32;
  auto algorithm = llvm::cantFail(device->vendorAlgorithms(product, 1)).front();
  auto loaded = llvm::cantFail(device->loadProduct(product, algorithm));
  Numbers lhs(device, 64), rhs(device, 64), out(device, 64);
  auto *a = reinterpret_cast<int8_t *>(lhs.data());
  auto *b = reinterpret_cast<int8_t *>(rhs.data());
  std::fill(a, a + 64, -128);
  std::fill(b, b + 64, 127);
  ASSERT_EQ(text(device->multiply({loaded.get(), a, b, out.data(), nullptr},
                                  nullptr)),
            "");
  int32_t first;
  std::memcpy(&first, out.data(), sizeof first);
  EXPECT_EQ(first, -128 * 127 * 5);
  EXPECT_EQ(library.products.back().computeType, 72);
  product.lhs.dtype = product.rhs.dtype = product.result.dtype = DType::F16;
  product.fastAccumulation = true;
  llvm::cantFail(device->loadProduct(product, algorithm));
  EXPECT_EQ(library.products.back().computeType, 68);
  EXPECT_EQ(library.products.back().fastAccum, 1);
}

TEST_F(CublasLtTest, EpiloguesFollowTheSum) {
  VendorAlgorithm algorithm =
      llvm::cantFail(device->vendorAlgorithms(product(), 1)).front();
  Numbers lhs(device, 64), rhs(device, 64), addend(device, 64),
      bias(device, 16), out(device, 64);
  std::reverse(bias.data(), bias.data() + 16);
  for (int which = 0; which < 16; ++which) {
    MatrixProduct product = this->product();
    if (which & 1)
      product.bias = 3;
    if (which & 2)
      product.activation = VendorActivation::Relu;
    if (which & 4) {
      product.addend = product.result;
      product.addend->argument = 4;
      product.addend->pitch = which & 8 ? 6 : product.result.pitch;
    }
    auto loaded = llvm::cantFail(device->loadProduct(product, algorithm));
    // In place, too, where both lie alike.
    float *to = (which & 12) == 4 ? addend.data() : out.data();
    std::vector<float> added(addend.data(), addend.data() + 64);
    ASSERT_EQ(
        text(device->multiply({loaded.get(), lhs.data(), rhs.data(), to,
                               nullptr, which & 4 ? addend.data() : nullptr,
                               which & 1 ? bias.data() : nullptr},
                              nullptr)),
        "");
    for (int64_t m = 0; m < product.m; ++m)
      for (int64_t n = 0; n < product.n; ++n) {
        float value = expected(product, lhs.data(), rhs.data(), 0, m, n);
        if (which & 4)
          value += added[m * product.addend->pitch + n];
        if (which & 1)
          value += bias.data()[n];
        if (which & 2)
          value = std::max(value, 0.f);
        EXPECT_EQ(to[m * product.result.pitch + n], value) << which;
      }
  }
}

TEST_F(CublasLtTest, Tf32IsOnRequest) {
  MatrixProduct product = this->product();
  VendorAlgorithm algorithm =
      llvm::cantFail(device->vendorAlgorithms(product, 1)).front();
  llvm::cantFail(device->loadProduct(product, algorithm));
  EXPECT_EQ(library.products.back().computeType, 69);
  product.allowTf32 = true;
  llvm::cantFail(device->loadProduct(product, algorithm));
  EXPECT_EQ(library.products.back().computeType, 77);
}

// One call on the caller's stream, in the context's workspace, and legal while
// the stream is captured: what a first run loads was loaded with the program.
TEST_F(CublasLtTest, RunsOnTheStreamAndInCaptures) {
  library.offered = {{1, 0, 1000}};
  MatrixProduct product = this->product();
  Numbers lhs(device, 64), rhs(device, 64), out(device, 64);
  auto loaded =
      llvm::cantFail(Executable::create(programOf(product, 3), device));
  EXPECT_EQ(library.products.size(), 1u) << "a first run at loading";
  EXPECT_EQ(loaded->workspaceBytes(), 1024u);
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  auto other = llvm::cantFail(
      ExecutionContext::create(llvm::cantFail(loaded->withOwnConstants())));
  EXPECT_EQ(library.products.size(), 1u) << "what is loaded is shared";
  Stream stream = llvm::cantFail(device->createStream());
  fake.synchronizations = 0;
  ASSERT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()}, stream)),
            "");
  ASSERT_EQ(text(other->run({lhs.data(), rhs.data()}, {out.data()}, stream)),
            "");
  EXPECT_EQ(fake.synchronizations, 0);
  EXPECT_EQ(fake.launches.size(), 12u);
  ASSERT_EQ(library.products.size(), 3u);
  EXPECT_EQ(library.products[1].stream, stream);
  EXPECT_EQ(library.products[1].workspaceBytes, 1000u);
  EXPECT_NE(library.products[1].workspace, nullptr);
  EXPECT_NE(library.products[1].workspace, library.products[2].workspace)
      << "contexts do not share";
  // Launches before and after it are a graph each; again with the same
  // pointers.
  int graphs = fake.graphLaunches;
  ASSERT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()}, stream)),
            "");
  EXPECT_EQ(fake.graphLaunches, graphs + 2);
  fake.capturing = {stream};
  ASSERT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()}, stream)),
            "");
  fake.capturing = {};
  EXPECT_EQ(library.products.size(), 5u);
  // Operands that the library does not take as they are come in a copy.
  std::memmove(lhs.data() + 1, lhs.data(), 4 * *product.lhsReach());
  ASSERT_EQ(
      text(context->run({lhs.data() + 1, rhs.data()}, {out.data()}, stream)),
      "");
  EXPECT_EQ(out.data()[0],
            expected(product, lhs.data() + 1, rhs.data(), 0, 0, 0));
  // And one step alone, as a measurement has it.
  size_t before = library.products.size();
  ASSERT_EQ(
      text(context->runStep(3, {lhs.data(), rhs.data()}, {out.data()}, stream)),
      "");
  EXPECT_EQ(library.products.size(), before + 1);
  library.failingId = 1;
  EXPECT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()}, stream)),
            "step 3, cuBLASLt 13.1.0 algorithm 1: cublasLtMatmul failed with "
            "code 13: fake failure");
  device->destroyStream(stream);
}

// The kernel is there wherever the library is not what it was.
TEST_F(CublasLtTest, FallsBackToTheKernel) {
  Program program = programOf(product());
  Numbers lhs(device, 64), rhs(device, 64), out(device, 64);
  auto problemOf = [&](const Program &changed, std::shared_ptr<Device> where) {
    fake.launches.clear();
    library.products.clear();
    auto loaded = llvm::cantFail(Executable::create(changed, where));
    EXPECT_EQ(loaded->product(0), nullptr);
    library.products.clear();
    auto context = llvm::cantFail(ExecutionContext::create(loaded));
    EXPECT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()})), "");
    EXPECT_TRUE(library.products.empty());
    EXPECT_EQ(fake.launches.size(), 1u);
    return loaded->vendorProblem();
  };
  auto algorithmOf = [](Program &changed) -> VendorAlgorithm & {
    return std::get<Launch>(changed.steps[0]).vendor->algorithm;
  };
  Program changed = program;
  algorithmOf(changed).version = 120903;
  EXPECT_EQ(problemOf(changed, device),
            "the product was timed with cuBLASLt 120903, found 130100");
  changed = program;
  algorithmOf(changed).words[0] = 0;
  EXPECT_TRUE(contains(problemOf(changed, device),
                       "cublasLtMatmulAlgoCheck failed with code 15"));
  changed = program;
  algorithmOf(changed).words[1] = 1;
  EXPECT_TRUE(contains(problemOf(changed, device), "reduction scheme 1"));
  changed = program;
  algorithmOf(changed).words[2] = 256;
  EXPECT_TRUE(contains(problemOf(changed, device), "needs 256 bytes"));
  library.failingId = 1;
  EXPECT_TRUE(contains(problemOf(program, device), "cublasLtMatmul failed"));
  setenv("FUSEC_CUBLASLT", "/none", 1);
  EXPECT_TRUE(contains(problemOf(program, llvm::cantFail(createCudaDevice())),
                       "cannot open cuBLASLt"));
}

// With a bias of its own each.
TEST_F(CublasLtTest, ThreadsShareWhatIsLoaded) {
  MatrixProduct product = this->product();
  product.bias = 1;
  auto loaded = llvm::cantFail(Executable::create(programOf(product), device));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Numbers lhs(device, 64), rhs(device, 64), out(device, 64);
      rhs.data()[0] = float(t);
      auto context = llvm::cantFail(ExecutionContext::create(loaded));
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(text(context->run({lhs.data(), rhs.data()}, {out.data()})),
                  "");
      EXPECT_EQ(out.data()[0],
                expected(product, lhs.data(), rhs.data(), 0, 0, 0) + t);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(library.products.size(), 81u);
}

// What a program from elsewhere may not ask for.
TEST_F(CublasLtTest, CallsAreVerified) {
  Program good = programOf(product());
  EXPECT_EQ(text(verifyProgram(good)), "");
  auto refused = [&](auto change) {
    Program program = good;
    change(*std::get<Launch>(program.steps[0]).vendor);
    return text(verifyProgram(program));
  };
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.product.k = 0; }),
                       "expected sizes of 1 to 2147483647, found 0"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.product.m = 1l << 31; }),
                       "expected sizes"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.product.m = 4; }),
                       "lhs does not fit its buffer of"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.product.rhs.pitch = 4; }),
                       "rhs does not fit"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.product.lhs.pitch = INT64_MAX; }),
               "lhs does not fit"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.product.result.batchPitch = -1; }),
               "result does not fit"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.product.rhs.argument = 3; }),
               "rhs is argument 3, which is no buffer"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.product.result.argument = 0; }),
               "input 0 is written"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.product.bias = 3; }),
                       "bias is argument 3, which is no buffer"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) {
                         c.product.n = 1;
                         c.product.addend = c.product.result;
                         c.product.addend->pitch = 1000;
                       }),
                       "addend does not fit its buffer of"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.algorithm.workspaceBytes = 512; }),
               "expected a temporary of 512 bytes"));
  EXPECT_TRUE(contains(refused([](VendorCall &c) { c.workspace = input(0); }),
                       "expected a temporary"));
  EXPECT_TRUE(
      contains(refused([](VendorCall &c) { c.workspace = temporary(9); }),
               "temporary 9 does not exist"));
}
