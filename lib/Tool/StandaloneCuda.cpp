//===- StandaloneCuda.cpp - a program as one .cu file ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StandaloneCuda.h"
#include "Random.h"
#include "Target.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using runtime::BufferRef;
using runtime::Program;

/// Text of constants is 2.4 times their size.
static constexpr int64_t kMaxConstantBytes = int64_t(64) << 20;

std::string fusec::tool::kernelText(const Program &program) {
  std::string text;
  for (const runtime::Kernel &kernel : program.kernels)
    text += kernel.source + "\n";
  return text;
}

// The host side of the file. randomBits and checksum are those of
// RandomTensor.cpp and Random.cpp.
static const char kHostText[] = R"(
//===-- Host side ---------------------------------------------------------===//
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t code, const char *what) {
  if (code == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(5);
}

// An element type: kind 'f' float, 'i' signed, 'u' unsigned, 'b' bool.
struct Type {
  char kind;
  int bytes, mantissa, exponentBias;
};

static u64 randomBits(u64 seed, u64 input, u64 element) {
  u64 x = seed * 0x9e3779b97f4a7c15ull + input * 0xd1b54a32d192ed03ull +
          element * 0x8cb92ba72f3d8dd7ull + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static u64 encode(Type type, double value) { // normal numbers and zero, exact
  if (value == 0)
    return 0;
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent);
  u64 mantissa = (u64)std::ldexp(fraction * 2 - 1, type.mantissa);
  u64 sign = value < 0 ? 1ull << (8 * type.bytes - 1) : 0;
  return sign | (u64)(exponent - 1 + type.exponentBias) << type.mantissa |
         mantissa;
}

static double decode(Type type, u64 bits) {
  int width = 8 * type.bytes;
  if (type.kind == 'i')
    return (double)((i64)(bits << (64 - width)) >> (64 - width));
  if (type.kind != 'f')
    return (double)bits;
  if (type.bytes == 8) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  u64 mantissa = bits & ((1ull << type.mantissa) - 1);
  int field = (int)(bits >> type.mantissa) & ((1 << (width - 1 - type.mantissa)) - 1);
  int top = (1 << (width - 1 - type.mantissa)) - 1;
  double sign = bits >> (width - 1) ? -1 : 1;
  bool finiteOnly = type.bytes == 1 && type.mantissa == 3; // f8e4m3
  if (field == top && (!finiteOnly || mantissa == 7))
    return mantissa ? NAN : sign * INFINITY;
  if (!field)
    return sign * std::ldexp((double)mantissa, 1 - type.exponentBias - type.mantissa);
  return sign * std::ldexp((double)(mantissa | 1ull << type.mantissa),
                           field - type.exponentBias - type.mantissa);
}

static void *allocate(size_t bytes) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
  return memory;
}

static void *upload(const void *data, size_t bytes) {
  void *memory = allocate(bytes);
  check(cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  return memory;
}

static void *randomInput(Type type, size_t elements, u64 seed, u64 input) {
  std::vector<unsigned char> bytes(elements * type.bytes);
  int p = type.mantissa < 23 ? type.mantissa : 23;
  for (size_t i = 0; i < elements; ++i) {
    u64 bits = randomBits(seed, input, i);
    u64 value = type.kind == 'b' ? bits & 1 : bits & 7;
    if (type.kind == 'f') {
      i64 n = (i64)(bits >> (63 - p)) - (1ll << p);
      value = encode(type, std::ldexp((double)n, -p));
    }
    std::memcpy(&bytes[i * type.bytes], &value, type.bytes);
  }
  return upload(bytes.data(), bytes.size());
}

static void report(int output, Type type, const void *memory, size_t elements) {
  std::vector<unsigned char> bytes(elements * type.bytes);
  check(cudaMemcpy(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  double sum = 0;
  u64 hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < elements; ++i) {
    u64 bits = 0;
    std::memcpy(&bits, &bytes[i * type.bytes], type.bytes);
    sum += decode(type, bits);
  }
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3ull;
  std::printf("output %d: sum %.9g, checksum 0x%016llx\n", output, sum, hash);
}

template <class T>
[[maybe_unused]] static void put(unsigned char *field, T value) {
  std::memcpy(field, &value, sizeof(T));
}

// A tensor map of the copy engine, made by the driver.
struct alignas(64) HostTensorMap {
  u64 opaque[16];
};
[[maybe_unused]] static HostTensorMap
tensorMap(int type, void *address, const std::vector<u64> &dims,
          std::vector<u64> strides, const std::vector<unsigned> &box,
          const std::vector<unsigned> &steps, int swizzle, int promotion,
          int fill) {
  using Encode = int (*)(HostTensorMap *, int, unsigned, void *, const u64 *,
                         const u64 *, const unsigned *, const unsigned *, int,
                         int, int, int);
  void *encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode,
                                         12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  HostTensorMap map;
  strides.push_back(0);
  if (!encode ||
      reinterpret_cast<Encode>(encode)(
          &map, type, (unsigned)dims.size(), address, dims.data(),
          strides.data(), box.data(), steps.data(), 0, swizzle, promotion, fill))
    check(cudaErrorInvalidValue, "cuTensorMapEncodeTiled");
  return map;
}

static void launch(const void *kernel, dim3 grid, unsigned threads,
                   unsigned cluster, bool together, size_t shared,
                   void **args) {
  if (shared)
    check(cudaFuncSetAttribute(kernel,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)shared),
          "cudaFuncSetAttribute");
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (cluster > 1) {
    cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (cluster > 8)
      check(cudaFuncSetAttribute(
                kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "cudaFuncSetAttribute");
  }
  if (together) {
    cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  check(cudaLaunchKernelExC(&config, kernel, args), "launch");
}
)";

/// A Type of kHostText.
static std::string typeText(DType type) {
  struct Format {
    int mantissa, bias;
  } format = {0, 0};
  switch (type) {
  case DType::F64:
    format = {52, 1023};
    break;
  case DType::F32:
    format = {23, 127};
    break;
  case DType::F16:
    format = {10, 15};
    break;
  case DType::BF16:
    format = {7, 127};
    break;
  case DType::F8E4M3:
    format = {3, 7};
    break;
  case DType::F8E5M2:
    format = {2, 15};
    break;
  default:
    break;
  }
  const char *kind = isFloat(type)         ? "f"
                     : isSignedInt(type)   ? "i"
                     : isUnsignedInt(type) ? "u"
                                           : "b";
  return llvm::formatv("Type{{'{0}', {1}, {2}, {3}}", kind, byteSize(type),
                       format.mantissa, format.bias)
      .str();
}

static const char *arrayOf(runtime::Space space) {
  switch (space) {
  case runtime::Space::Input:
    return "inputs";
  case runtime::Space::Output:
    return "outputs";
  case runtime::Space::Constant:
    return "constants";
  case runtime::Space::Temporary:
    return "temporaries";
  }
  llvm_unreachable("a space");
}

static std::string refText(BufferRef ref) {
  return (llvm::Twine(arrayOf(ref.space)) + "[" + llvm::Twine(ref.index) + "]")
      .str();
}

static llvm::Error writeConstants(llvm::raw_ostream &os,
                                  const Program &program) {
  int64_t total = 0;
  for (const runtime::Constant &constant : program.constants)
    total += constant.bytes->size();
  if (total > kMaxConstantBytes)
    return toolError(ExitCode::Unsupported,
                     "a .cu file holds at most 64 MiB of constants, found " +
                         llvm::Twine(total) + " bytes");
  for (auto [i, constant] : llvm::enumerate(program.constants)) {
    os << "static const u64 constant" << i << "[] = {";
    llvm::ArrayRef<std::byte> bytes = *constant.bytes;
    for (size_t at = 0; at < bytes.size() || at == 0; at += 8) {
      uint64_t word = 0;
      if (at < bytes.size())
        std::memcpy(&word, &bytes[at], std::min<size_t>(8, bytes.size() - at));
      os << (at % 32 ? " " : "\n  ") << "0x" << llvm::utohexstr(word, true)
         << "u,";
    }
    os << "\n};\n";
  }
  return llvm::Error::success();
}

/// Declares and fills the bytes of the table that is argument `position`.
static void writeTable(llvm::raw_ostream &os, const runtime::TableArg &table,
                       size_t position) {
  os << "    alignas(8) unsigned char n" << position << "[" << table.bytes()
     << "] = {};\n";
  table.forEachField(
      [&](const runtime::TableArg::Field &field, uint32_t offset) {
        os << "    put(n" << position << " + " << offset << ", ";
        if (const auto *ref = std::get_if<BufferRef>(&field)) {
          os << refText(*ref) << ");\n";
          return;
        }
        const auto &scalar = std::get<runtime::ScalarArg>(field);
        os << "(" << (scalar.bytes == 4 ? "i32" : "i64") << ")" << scalar.value
           << ");\n";
      });
}

template <class T>
static std::string listText(llvm::ArrayRef<T> items) {
  std::string text = "{";
  for (T item : items)
    text += (text.size() > 1 ? ", " : "") + std::to_string(item);
  return text + "}";
}

/// Declares the tensor map that is argument `position`.
static void writeMap(llvm::raw_ostream &os, const runtime::TensorMapArg &map,
                     size_t position) {
  std::vector<uint32_t> steps = map.steps;
  steps.resize(map.dims.size(), 1);
  runtime::TensorMapCodes codes = runtime::tensorMapCodes(map);
  os << "    HostTensorMap n" << position << " = tensorMap(" << codes.type
     << ", (char *)" << refText(map.buffer) << " + " << map.byteOffset << ", "
     << listText<int64_t>(map.dims) << ", " << listText<int64_t>(map.strides)
     << ", " << listText<uint32_t>(map.box) << ", " << listText<uint32_t>(steps)
     << ", " << codes.swizzle << ", " << codes.promotion << ", " << codes.fill
     << ");\n";
}

static void writeLaunch(llvm::raw_ostream &os, const Program &program,
                        const runtime::Launch &launch) {
  if (llvm::is_contained(launch.grid, 0u))
    return;
  const runtime::Kernel &kernel = program.kernels[launch.kernel];
  os << "  {\n";
  std::string list;
  for (auto [i, arg] : llvm::enumerate(launch.args)) {
    list += (i ? ", " : "");
    if (const auto *ref = std::get_if<BufferRef>(&arg)) {
      list += "&" + refText(*ref);
      continue;
    }
    if (const auto *table = std::get_if<runtime::TableArg>(&arg)) {
      writeTable(os, *table, i);
      list += "n" + std::to_string(i);
      continue;
    }
    if (const auto *map = std::get_if<runtime::TensorMapArg>(&arg)) {
      writeMap(os, *map, i);
      list += "&n" + std::to_string(i);
      continue;
    }
    const auto &scalar = std::get<runtime::ScalarArg>(arg);
    os << "    " << (scalar.bytes == 4 ? "i32" : "i64") << " n" << i << " = "
       << scalar.value << ";\n";
    list += "&n" + std::to_string(i);
  }
  os << "    void *args[] = {" << list << "};\n    launch((const void *)"
     << kernel.entry << ", dim3(" << launch.grid[0] << ", " << launch.grid[1]
     << ", " << launch.grid[2] << "), " << kernel.threads << ", "
     << kernel.cluster << ", " << (kernel.cooperative ? "true" : "false")
     << ", " << launch.dynamicSharedBytes << ", args);\n  }\n";
}

static llvm::Error writeSteps(llvm::raw_ostream &os, const Program &program) {
  for (const runtime::Step &step : program.steps) {
    if (const auto *launch = std::get_if<runtime::Launch>(&step)) {
      writeLaunch(os, program, *launch);
    } else if (const auto *fill = std::get_if<runtime::Fill>(&step)) {
      os << "  check(cudaMemset(" << refText(fill->buffer) << ", 0, "
         << bufferBytes(program, fill->buffer) << "), \"cudaMemset\");\n";
    } else if (const auto *copy = std::get_if<runtime::Copy>(&step)) {
      os << "  check(cudaMemcpy(" << refText(copy->to) << ", "
         << refText(copy->from) << ", " << bufferBytes(program, copy->from)
         << ", cudaMemcpyDeviceToDevice), \"cudaMemcpy\");\n";
    } else {
      return toolError(ExitCode::Unsupported,
                       "a .cu file holds no calls on the host");
    }
  }
  return llvm::Error::success();
}

/// "  void *name[n + 1] = {...};", never empty.
static void writeArray(llvm::raw_ostream &os, llvm::StringRef name,
                       llvm::ArrayRef<std::string> items) {
  os << "  [[maybe_unused]] void *" << name << "[] = {";
  for (const std::string &item : items)
    os << "\n      " << item << ",";
  os << "\n      nullptr};\n";
}

llvm::Expected<std::string>
fusec::tool::standaloneCuda(const Program &program,
                            llvm::StringRef architecture) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// Made by fusec. Build and run:\n//   nvcc -std=c++17 -fmad=false "
        "-arch="
     // Without the name of the machine.
     << architecture.split(' ').first
     << " -o program program.cu && ./program [SEED]\n"
     << devicePrelude()
     << (llvm::any_of(
             program.kernels,
             [](const runtime::Kernel &kernel) { return kernel.usesSm90; })
             ? embedded::kPreludeSm90
             : "")
     << (llvm::any_of(
             program.kernels,
             [](const runtime::Kernel &kernel) { return kernel.usesSkeleton; })
             ? embedded::kGemmSkeleton
             : "")
     << "\n//===-- Kernels "
        "-----------------------------------------------------------===//\n"
     << kernelText(program) << kHostText << '\n';
  if (llvm::Error error = writeConstants(os, program))
    return error;
  os << "\nint main(int argc, char **argv) {\n"
        "  [[maybe_unused]] u64 seed = argc > 1 ? std::strtoull(argv[1], "
        "nullptr, 10) : 0;\n"
        "  [[maybe_unused]] char *workspace = (char *)allocate("
     << program.workspaceBytes << ");\n";
  if (program.keptBytes)
    os << "  char *kept = (char *)allocate(" << program.keptBytes
       << ");\n  check(cudaMemset(kept, 0, " << program.keptBytes
       << "), \"cudaMemset\");\n";
  std::vector<std::string> inputs, outputs, constants, temporaries;
  for (auto [i, spec] : llvm::enumerate(program.inputs))
    inputs.push_back(llvm::formatv("randomInput({0}, {1}, seed, {2})",
                                   typeText(spec.dtype), spec.elements(), i));
  for (const runtime::TensorSpec &spec : program.outputs)
    outputs.push_back(llvm::formatv("allocate({0})", spec.bytes()));
  for (auto [i, constant] : llvm::enumerate(program.constants))
    constants.push_back(
        llvm::formatv("upload(constant{0}, {1})", i, constant.bytes->size()));
  for (const runtime::Temporary &temporary : program.temporaries)
    temporaries.push_back(llvm::formatv(
        "{0} + {1}", temporary.kept ? "kept" : "workspace", temporary.offset));
  writeArray(os, "inputs", inputs);
  writeArray(os, "outputs", outputs);
  writeArray(os, "constants", constants);
  writeArray(os, "temporaries", temporaries);
  if (llvm::Error error = writeSteps(os, program))
    return error;
  os << "  check(cudaDeviceSynchronize(), \"cudaDeviceSynchronize\");\n";
  for (auto [i, spec] : llvm::enumerate(program.outputs))
    os << "  report(" << i << ", " << typeText(spec.dtype) << ", outputs[" << i
       << "], " << spec.elements() << ");\n";
  os << "}\n";
  return text;
}
