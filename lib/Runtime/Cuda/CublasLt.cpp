//===- CublasLt.cpp - products by cuBLASLt --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt has columns contiguous: a result with rows of n is an n x m matrix
// there, so its A is our rhs and its B our lhs,
//
//   D (n x m) = op(A) (n x k) * op(B) (k x m),
//
// where A is transposed if the rhs lies along k, and B if the lhs does not. Its
// epilogues add a bias to each row of that, so along n, and C is our addend.
//===----------------------------------------------------------------------===//
#include "CublasLt.h"

#include <algorithm>
#include <mutex>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::cublas;
using llvm::Error;
using llvm::Expected;

static std::optional<int> typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return kF32;
  case DType::F16:
    return kF16;
  case DType::BF16:
    return kBF16;
  case DType::F8E4M3:
    return kE4M3;
  case DType::F8E5M2:
    return kE5M2;
  case DType::I8:
    return kI8;
  case DType::I32:
    return kI32;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// Owns a descriptor of any kind.
class Owned {
public:
  explicit Owned(Status (*destroy)(Descriptor)) : destroy(destroy) {}
  Owned(const Owned &) = delete;
  ~Owned() {
    if (handle)
      destroy(handle);
  }
  Descriptor handle = nullptr;

private:
  Status (*destroy)(Descriptor);
};

/// A product in the library's terms.
struct CublasProduct : LoadedProduct {
  explicit CublasProduct(std::shared_ptr<const Library> library)
      : library(std::move(library)), operation(this->library->operationDestroy),
        a(this->library->layoutDestroy), b(this->library->layoutDestroy),
        c(this->library->layoutDestroy), d(this->library->layoutDestroy) {}
  Error describe(const MatrixProduct &product);
  Error setBias(const void *bias) const { return set(kDescBias, bias); }
  /// The layout of what is added. The result's own where that is the same: the
  /// library may ask which it is where both are in one place.
  Descriptor addend() const { return c.handle ? c.handle : d.handle; }

  std::shared_ptr<const Library> library;
  Owned operation, a, b, c, d;
  bool isInteger = false, hasAddend = false, hasBias = false;
  /// The bias is part of the operation: held from setting it to its use.
  mutable std::mutex biasMutex;
  Algorithm algorithm = {};
  size_t workspaceBytes = 0;

private:
  Error describeEpilogue(const MatrixProduct &product);
  template <typename T>
  Error set(int attribute, T value) const {
    return library->check(library->operationSet(operation.handle, attribute,
                                                &value, sizeof(value)),
                          "cublasLtMatmulDescSetAttribute");
  }
  Error describeMatrix(Owned &layout, const MatrixProduct::Matrix &matrix,
                       int64_t contiguous, int64_t other, int64_t batch);
};
} // namespace

Error CublasProduct::describeMatrix(Owned &layout,
                                    const MatrixProduct::Matrix &matrix,
                                    int64_t contiguous, int64_t other,
                                    int64_t batch) {
  std::optional<int> type = typeOf(matrix.dtype);
  if (!type)
    return llvm::createStringError("cuBLASLt has no matrices of %s",
                                   name(matrix.dtype).str().c_str());
  if (Error error =
          library->check(library->layoutCreate(&layout.handle, *type,
                                               contiguous, other, matrix.pitch),
                         "cublasLtMatrixLayoutCreate"))
    return error;
  if (batch == 1)
    return Error::success();
  auto setLayout = [&](int attribute, auto value) {
    return library->check(
        library->layoutSet(layout.handle, attribute, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute");
  };
  if (Error error = setLayout(kLayoutBatchCount, int32_t(batch)))
    return error;
  return setLayout(kLayoutBatchOffset, int64_t(matrix.batchPitch));
}

static int computeTypeOf(const MatrixProduct &product) {
  if (product.result.dtype == DType::I32)
    return kCompute32I;
  if (product.lhs.dtype != DType::F32)
    return kCompute32F;
  // Wide operands meet the tensor cores' narrower type only on request.
  return product.allowTf32 ? kComputeTf32 : kCompute32FPedantic;
}

Error CublasProduct::describeEpilogue(const MatrixProduct &product) {
  uint32_t epilogue = 0;
  if (product.activation == VendorActivation::Relu)
    epilogue |= kEpilogueRelu;
  if (product.bias)
    epilogue |= kEpilogueBias;
  if (epilogue)
    if (Error error = set(kDescEpilogue, epilogue))
      return error;
  hasBias = product.bias.has_value();
  hasAddend = product.addend.has_value();
  // Heuristics look at its alignment, and nothing at what is there.
  return hasBias ? setBias(reinterpret_cast<const void *>(kBufferAlignment))
                 : Error::success();
}

Error CublasProduct::describe(const MatrixProduct &product) {
  isInteger = product.result.dtype == DType::I32;
  int compute = computeTypeOf(product);
  if (Error error =
          library->check(library->operationCreate(&operation.handle, compute,
                                                  isInteger ? kI32 : kF32),
                         "cublasLtMatmulDescCreate"))
    return error;
  bool turnsA = product.rhs.alongSum, turnsB = !product.lhs.alongSum;
  if (Error error = set(kDescTransA, turnsA ? kTransposed : kPlain))
    return error;
  if (Error error = set(kDescTransB, turnsB ? kTransposed : kPlain))
    return error;
  if (product.fastAccumulation)
    if (Error error = set(kDescFastAccum, int8_t(1)))
      return error;
  if (Error error = describeEpilogue(product))
    return error;
  auto [batch, m, n, k] =
      std::array{product.batch, product.m, product.n, product.k};
  if (Error error =
          describeMatrix(a, product.rhs, turnsA ? k : n, turnsA ? n : k, batch))
    return error;
  if (Error error =
          describeMatrix(b, product.lhs, turnsB ? m : k, turnsB ? k : m, batch))
    return error;
  if (product.addend &&
      (product.addend->pitch != product.result.pitch ||
       product.addend->batchPitch != product.result.batchPitch))
    if (Error error = describeMatrix(c, *product.addend, n, m, batch))
      return error;
  return describeMatrix(d, product.result, n, m, batch);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

// 0 where the library does not say.
static uint32_t configOf(const Library &library, const Algorithm &algorithm,
                         int attribute) {
  // Some are 16 bits wide; the machine is little-endian.
  uint32_t value = 0;
  size_t written = 0;
  for (size_t bytes : {sizeof(uint32_t), sizeof(uint16_t)}) {
    value = 0;
    if (library.algorithmGet(&algorithm, attribute, &value, bytes, &written) ==
        0)
      return value;
  }
  return 0;
}

std::string CublasLt::nameOf(const Algorithm &algorithm) const {
  auto config = [&](int attribute) {
    return std::to_string(configOf(*library, algorithm, attribute));
  };
  uint64_t version = library->version;
  std::string text = "cuBLASLt " + std::to_string(version / 10000) + "." +
                     std::to_string(version / 100 % 100) + "." +
                     std::to_string(version % 100) + " algorithm " +
                     config(kConfigId);
  for (auto [attribute, what] :
       {std::pair(kConfigTile, "tile"), std::pair(kConfigStages, "stages"),
        std::pair(kConfigCluster, "cluster"), std::pair(kConfigInner, "inner"),
        std::pair(kConfigSwizzle, "swizzle"), std::pair(kConfigSplit, "split"),
        std::pair(kConfigCustom, "option")})
    if (uint32_t value = configOf(*library, algorithm, attribute))
      text += std::string(" ") + what + " " + std::to_string(value);
  return text;
}

Error CublasLt::checkReduction(const Algorithm &algorithm) const {
  uint32_t scheme = configOf(*library, algorithm, kConfigReduction);
  if (scheme == kReductionNone || scheme == kReductionInWorkspace)
    return Error::success();
  return llvm::createStringError(
      "the algorithm adds parts of a sum in the result (reduction scheme %u)",
      scheme);
}

Expected<std::vector<VendorAlgorithm>>
CublasLt::algorithms(const MatrixProduct &product, size_t most) const {
  CublasProduct described(library);
  if (Error error = described.describe(product))
    return std::move(error);
  Owned preference(library->preferenceDestroy);
  if (Error error =
          library->check(library->preferenceCreate(&preference.handle),
                         "cublasLtMatmulPreferenceCreate"))
    return std::move(error);
  auto prefer = [&](int attribute, auto value) {
    return library->check(library->preferenceSet(preference.handle, attribute,
                                                 &value, sizeof(value)),
                          "cublasLtMatmulPreferenceSetAttribute");
  };
  if (Error error = prefer(kPreferMaxWorkspace, kMostVendorWorkspace))
    return std::move(error);
  if (Error error = prefer(kPreferReductions, kReductionInWorkspace))
    return std::move(error);
  for (int matrix : {kPreferAlignmentA, kPreferAlignmentB, kPreferAlignmentC,
                     kPreferAlignmentD})
    if (Error error = prefer(matrix, uint32_t(kBufferAlignment)))
      return std::move(error);
  std::vector<Heuristic> found(most);
  int count = 0;
  if (Error error = library->check(
          library->heuristic(
              handle, described.operation.handle, described.a.handle,
              described.b.handle, described.addend(), described.d.handle,
              preference.handle, int(most), found.data(), &count),
          "cublasLtMatmulAlgoGetHeuristic"))
    return std::move(error);
  std::vector<VendorAlgorithm> result;
  found.resize(std::clamp<size_t>(count, 0, most));
  for (const Heuristic &one : found) {
    if (one.state != 0 || one.workspaceBytes > kMostVendorWorkspace)
      continue;
    if (Error error = checkReduction(one.algorithm)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    VendorAlgorithm algorithm{nameOf(one.algorithm), library->version,
                              one.algorithm.words, one.workspaceBytes};
    // Names tell them apart in reports and records.
    if (llvm::none_of(result, [&](const VendorAlgorithm &other) {
          return other.name == algorithm.name;
        }))
      result.push_back(std::move(algorithm));
  }
  if (result.empty())
    return llvm::createStringError(
        "cuBLASLt has no algorithm for this product that gives the same bits "
        "each time");
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<LoadedProduct>>
CublasLt::load(const MatrixProduct &product,
               const VendorAlgorithm &algorithm) const {
  if (algorithm.version != library->version)
    return llvm::createStringError(
        "the product was timed with cuBLASLt %llu, found %llu",
        static_cast<unsigned long long>(algorithm.version),
        static_cast<unsigned long long>(library->version));
  auto loaded = std::make_unique<CublasProduct>(library);
  if (Error error = loaded->describe(product))
    return std::move(error);
  loaded->algorithm.words = algorithm.words;
  loaded->workspaceBytes = algorithm.workspaceBytes;
  // What comes from a record may be anything.
  if (Error error = checkReduction(loaded->algorithm))
    return std::move(error);
  Heuristic checked = {};
  if (Error error =
          library->check(library->algorithmCheck(
                             handle, loaded->operation.handle, loaded->a.handle,
                             loaded->b.handle, loaded->addend(),
                             loaded->d.handle, &loaded->algorithm, &checked),
                         "cublasLtMatmulAlgoCheck"))
    return std::move(error);
  if (checked.workspaceBytes > algorithm.workspaceBytes)
    return llvm::createStringError(
        "the algorithm needs %zu bytes of workspace, found %llu",
        checked.workspaceBytes,
        static_cast<unsigned long long>(algorithm.workspaceBytes));
  return std::unique_ptr<LoadedProduct>(std::move(loaded));
}

Error CublasLt::multiply(const ProductRequest &request, Stream stream) const {
  static constexpr float kOne = 1, kZero = 0;
  static constexpr int32_t kIntegerOne = 1, kIntegerZero = 0;
  const auto &product = static_cast<const CublasProduct &>(*request.product);
  const void *alpha = &kOne, *beta = product.hasAddend ? &kOne : &kZero;
  if (product.isInteger) {
    alpha = &kIntegerOne;
    beta = product.hasAddend ? &kIntegerOne : &kIntegerZero;
  }
  const void *addend = product.hasAddend ? request.addend : request.result;
  std::unique_lock<std::mutex> lock(product.biasMutex, std::defer_lock);
  if (product.hasBias) {
    lock.lock();
    if (Error error = product.setBias(request.bias))
      return error;
  }
  return library->check(
      library->matmul(handle, product.operation.handle, alpha, request.rhs,
                      product.a.handle, request.lhs, product.b.handle, beta,
                      addend, product.addend(), request.result,
                      product.d.handle, &product.algorithm, request.workspace,
                      product.workspaceBytes, stream),
      "cublasLtMatmul");
}

Expected<std::unique_ptr<CublasLt>> CublasLt::create(unsigned maxMajor) {
  auto library = Library::open(maxMajor);
  if (!library)
    return library.takeError();
  std::unique_ptr<CublasLt> result(new CublasLt(std::move(*library)));
  if (Error error = result->library->check(
          result->library->create(&result->handle), "cublasLtCreate"))
    return std::move(error);
  return result;
}

CublasLt::~CublasLt() {
  if (handle)
    library->destroy(handle);
}
