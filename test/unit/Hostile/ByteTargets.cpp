//===- ByteTargets.cpp - bytes that become no graph -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "../Frontend/OnnxWriter.h"
#include "HostileTargets.h"

#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "fusec/Runtime/Cuda/TuningRecord.h"
#include "fusec/Support/Npy.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace fusec;
using namespace fusec::hostile;
using namespace fusec::test;
using llvm::StringRef;

void fusec::hostile::fail(const char *what) {
  llvm::errs() << "fuzz: " << what << '\n';
  std::abort();
}

//===----------------------------------------------------------------------===//
// ONNX, the reader alone
//===----------------------------------------------------------------------===//

static void runReader(StringRef bytes) {
  auto file = onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(bytes));
  if (!isGood(file))
    return;
  onnx::TensorDataOptions options;
  options.maxBytes = kMaxTensorBytes;
  for (const onnx::Tensor &tensor : file->graph.initializers) {
    auto values = onnx::decodeTensor(tensor, options);
    isGood(values);
  }
}

std::string fusec::hostile::graphSeed(std::vector<Proto> nodes,
                                      std::vector<Proto> initializers) {
  GraphSpec graph;
  graph.nodes = std::move(nodes);
  graph.initializers = std::move(initializers);
  graph.inputs = {valueInfo("x", 1, {2, 3})};
  graph.outputs = {Proto().text(1, "y")};
  return model(graph.proto()).bytes;
}

static Proto integers(const char *name, std::vector<int64_t> values) {
  return rawTensor<int64_t>({int64_t(values.size())}, 7, values, name);
}

std::vector<std::string> fusec::hostile::modelSeeds() {
  std::vector<std::string> seeds;
  seeds.push_back(
      graphSeed({node("Relu", {"x"}, {"a"}),
                 node("Softmax", {"a"}, {"b"}, {intAttr("axis", 1)}),
                 node("Add", {"a", "b"}, {"y"})}));
  seeds.push_back(graphSeed({node("Reshape", {"x", "s"}, {"y"})},
                            {integers("s", {3, -1})}));
  seeds.push_back(graphSeed({node("Slice", {"x", "s", "e", "a", "t"}, {"y"})},
                            {integers("s", {0, 2}), integers("e", {2, -9}),
                             integers("a", {0, 1}), integers("t", {1, -1})}));
  seeds.push_back(graphSeed(
      {node("Pad", {"x", "p"}, {"y"}, {stringAttr("mode", "reflect")})},
      {integers("p", {0, 1, 1, 0})}));
  seeds.push_back(
      graphSeed({node("Unsqueeze", {"x", "a"}, {"u"}),
                 node("AveragePool", {"u"}, {"y"},
                      {intsAttr("kernel_shape", {2}), intsAttr("pads", {1, 1}),
                       intAttr("ceil_mode", 1), intsAttr("strides", {2})})},
                {integers("a", {0})}));
  seeds.push_back(graphSeed(
      {node("Gather", {"x", "i"}, {"g"}),
       node("ScatterND", {"x", "j", "g"}, {"y"})},
      {integers("i", {1, 0}), rawTensor<int64_t>({2, 1}, 7, {0, 1}, "j")}));
  seeds.push_back(graphSeed({node("Einsum", {"x", "x"}, {"y"},
                                  {stringAttr("equation", "ij,kj->ik")})}));
  seeds.push_back(graphSeed(
      {node("Resize", {"x", "", "f"}, {"y"}, {stringAttr("mode", "linear")})},
      {rawTensor<float>({2}, 1, {2, 1.5f}, "f")}));
  GraphSpec body;
  body.nodes = {node("Add", {"v", "v"}, {"w"}), node("Identity", {"c"}, {"d"})};
  body.inputs = {valueInfo("i", 7, {}), valueInfo("c", 9, {}),
                 valueInfo("v", 1, {2, 3})};
  body.outputs = {Proto().text(1, "d"), Proto().text(1, "w")};
  seeds.push_back(graphSeed(
      {node("Loop", {"n", "", "x"}, {"y"}, {graphAttr("body", body.proto())})},
      {rawTensor<int64_t>({}, 7, {3}, "n")}));
  GraphSpec called = {};
  called.nodes = {node("F", {"x"}, {"y"}, {}, "local")};
  called.inputs = {valueInfo("x", 1, {2, 3})};
  called.outputs = {Proto().text(1, "y")};
  seeds.push_back(
      model(called.proto(), 21,
            {function("F", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})})})
          .bytes);
  return seeds;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static void runNpy(StringRef bytes) {
  auto tensor = parseNpy(bytes, std::nullopt, kMaxTensorBytes);
  if (!isGood(tensor))
    return;
  // What is written of it reads back as the same.
  auto again = parseNpy(formatNpy(*tensor), tensor->dtype, kMaxTensorBytes);
  if (!isGood(again) || again->shape != tensor->shape ||
      *again->bytes != *tensor->bytes)
    fail("an array does not read back");
}

static std::vector<std::string> npySeeds() {
  std::vector<std::string> seeds;
  for (DType type :
       {DType::F32, DType::F16, DType::I64, DType::Bool, DType::U8})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}}) {
      seeds.push_back(
          formatNpy(llvm::cantFail(HostTensor::create(type, shape))));
      std::string fortran = seeds.back();
      size_t at = fortran.find("False");
      fortran.replace(at, 5, "True ");
      seeds.push_back(fortran);
    }
  return seeds;
}

static void runTensor(StringRef bytes) {
  auto file = onnx::parseTensor(llvm::MemoryBuffer::getMemBufferCopy(bytes));
  if (!isGood(file))
    return;
  onnx::TensorDataOptions options;
  options.maxBytes = kMaxTensorBytes;
  auto tensor = onnx::decodeTensor(file->tensor, options);
  if (!isGood(tensor))
    return;
  auto count = elementCount(tensor->shape);
  if (!isGood(count) || *count != tensor->elements())
    fail("a tensor has another number of elements than its shape");
}

static std::vector<std::string> tensorSeeds() {
  std::vector<std::string> seeds = {
      rawTensor<float>({2}, 1, {1, 2}).bytes,
      rawTensor<int64_t>({1, 2}, 7, {1, -2}).bytes,
      rawTensor<char>({3}, 9, {0, 1, 1}).bytes,
      rawTensor<char>({3}, 22, {0x12, 0x03}).bytes,
      tensorProto({2}, 6).packed(5, {1, -1}).bytes,
      tensorProto({2}, 10).packed(5, {0x3c00, 0x7c00}).bytes,
      tensorProto({2}, 7).packed(7, {1, INT64_MIN}).bytes,
      tensorProto({2}, 13).packed(11, {1, -1}).bytes,
      tensorProto({2}, 1).fixed<float>(4, {1, 2}).bytes,
      tensorProto({2}, 11).fixed<double>(10, {1, 2}).bytes,
      tensorProto({1}, 8).text(6, "a string").bytes};
  Proto external = tensorProto({2}, 1);
  external.message(13, Proto().text(1, "location").text(2, "data.bin"));
  external.message(13, Proto().text(1, "offset").text(2, "4"));
  external.integer(14, 1);
  seeds.push_back(external.bytes);
  return seeds;
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

namespace {
/// A folder with data and traps, and a secret beside it.
struct DataFolder {
  std::string base, folder;

  DataFolder() {
    llvm::SmallString<128> path;
    if (llvm::sys::fs::createUniqueDirectory("fusec-fuzz", path))
      fail("no folder for external data");
    base = path.str().str();
    folder = base + "/model";
    namespace fs = llvm::sys::fs;
    if (fs::create_directory(folder) || fs::create_directory(folder + "/sub"))
      fail("no folder for external data");
    write(base + "/secret", "SECRET");
    write(folder + "/data.bin", std::string(64, 'd'));
    write(folder + "/sub/data.bin", std::string(16, 'd'));
    if (fs::create_link("../secret", folder + "/link") ||
        fs::create_link("..", folder + "/up"))
      fail("no links");
  }
  ~DataFolder() { llvm::sys::fs::remove_directories(base); }

  static void write(const std::string &path, const std::string &text) {
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << text;
  }
};
} // namespace

/// 8 bytes of offset, 8 of length, a flag for "to the end", the location.
static void runExternal(StringRef bytes) {
  static DataFolder data;
  if (bytes.size() < 17)
    return;
  uint64_t offset = llvm::support::endian::read64le(bytes.data());
  uint64_t length = llvm::support::endian::read64le(bytes.data() + 8);
  auto given = bytes[16] & 1 ? std::optional<uint64_t>(length) : std::nullopt;
  auto found = onnx::readExternalData(data.folder, bytes.drop_front(17), offset,
                                      given, kMaxTensorBytes);
  if (!isGood(found))
    return;
  if (given && found->size() != *given)
    fail("external data have another length than asked for");
  for (std::byte byte : *found)
    if (byte != std::byte('d'))
      fail("external data come from outside the folder");
}

static std::vector<std::string> externalSeeds() {
  std::vector<std::string> seeds;
  for (const char *location :
       {"data.bin", "sub/data.bin", "../secret", "sub/../../secret", "link",
        "up/secret", "/etc/passwd", ".", "", "sub", "./data.bin",
        "sub/../data.bin", "..\\secret"})
    for (uint64_t length : {uint64_t(4), uint64_t(64), ~uint64_t(0)}) {
      std::string seed(17, '\0');
      llvm::support::endian::write64le(&seed[0], length == 4 ? 60 : 0);
      llvm::support::endian::write64le(&seed[8], length);
      seed[16] = 1;
      seeds.push_back(seed + location);
    }
  return seeds;
}

//===----------------------------------------------------------------------===//
// Cache entries
//===----------------------------------------------------------------------===//

/// The bytes as they are, and with the length and the digest that fit them, so
/// that what stands behind the check of the digest is tried too.
static void runCache(StringRef bytes) {
  using runtime::decodeModule;
  for (bool sealed : {false, true}) {
    std::string file = bytes.str();
    if (sealed) {
      if (file.size() < 56)
        return;
      llvm::support::endian::write64le(&file[16], file.size());
      llvm::SHA256 hash;
      hash.update(StringRef(file).take_front(24));
      hash.update(StringRef(file).drop_front(56));
      auto digest = hash.final();
      std::copy(digest.begin(), digest.end(), file.begin() + 24);
    }
    auto stored = decodeModule(file);
    if (!isGood(stored))
      continue;
    // Numbers of unknown resources are the only bits that may differ.
    auto again = decodeModule(runtime::encodeModule(*stored));
    if (!isGood(again) || again->module->cubin != stored->module->cubin ||
        again->kernels.size() != stored->kernels.size())
      fail("a cache entry does not read back");
  }
}

static std::vector<std::string> cacheSeeds() {
  std::vector<std::string> seeds;
  for (unsigned kernels : {0, 1, 3}) {
    auto module = std::make_shared<runtime::CompiledModule>();
    module->ptx = "ptx";
    module->cubin = std::vector<char>(20, 'c');
    runtime::StoredModule stored{module, {}};
    for (unsigned i = 0; i < kernels; ++i) {
      runtime::StoredKernel kernel;
      kernel.key[0] = static_cast<uint8_t>(i);
      kernel.entry = "k" + std::to_string(i);
      kernel.resources.registers = 40;
      stored.kernels.push_back(kernel);
    }
    seeds.push_back(runtime::encodeModule(stored));
  }
  return seeds;
}

//===----------------------------------------------------------------------===//
// Tuning records
//===----------------------------------------------------------------------===//

static void checkTuning(const runtime::TuningEntry &entry) {
  auto again = runtime::decodeTuning(runtime::encodeTuning(entry));
  if (!isGood(again) || !(*again == entry))
    fail("an entry of a tuning record does not read back");
}

/// The bytes as a file, also with the digest that fits them, and what stands
/// behind the digest as somebody's export.
static void runTuning(StringRef bytes) {
  constexpr size_t kMagicBytes = 8, kHeaderBytes = kMagicBytes + 32;
  runtime::isOtherTuningLayout(bytes);
  std::string file = bytes.str();
  if (file.size() >= kHeaderBytes) {
    llvm::SHA256 hash;
    hash.update(StringRef(file).take_front(kMagicBytes));
    hash.update(StringRef(file).drop_front(kHeaderBytes));
    auto digest = hash.final();
    std::copy(digest.begin(), digest.end(), file.begin() + kMagicBytes);
  }
  for (StringRef text : {bytes, StringRef(file)}) {
    auto entry = runtime::decodeTuning(text);
    if (isGood(entry))
      checkTuning(*entry);
  }
  StringRef body = bytes.substr(kHeaderBytes);
  for (const std::string &text :
       {bytes.str(), "{\"entries\": [" + body.str() + "]}"}) {
    auto entries = runtime::parseTuningEntries(text);
    if (isGood(entries))
      llvm::for_each(*entries, checkTuning);
  }
}

static std::vector<std::string> tuningSeeds() {
  runtime::TuningEntry entry;
  entry.key = {"0123abcd", "H200", 90, 132, "fusec 0.1.0"};
  entry.title = "BF16 4096 x 1024, k 1024";
  entry.choice = "GemmWgmmaConfig<GemmKind::BF16, 2, 128, 6, 8, 1, 2>";
  entry.model = entry.choice;
  entry.microseconds = 44.125;
  entry.modelMicroseconds = 1.0 / 3;
  entry.timed = 10;
  entry.date = 1796000000;
  std::vector<std::string> seeds = {runtime::encodeTuning(entry)};
  entry.title = "\"quoted\" \n \x01 \xc3\xa9";
  entry.date = INT64_MAX;
  entry.microseconds = 1e300;
  seeds.push_back(runtime::encodeTuning(entry));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{
      {"entries",
       llvm::json::Array{runtime::toJson(entry), runtime::toJson(entry)}}});
  seeds.push_back(text);
  return seeds;
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Target> fusec::hostile::byteTargets() {
  static const Target kTargets[] = {{"reader", runReader, modelSeeds},
                                    {"external", runExternal, externalSeeds},
                                    {"cache", runCache, cacheSeeds},
                                    {"npy", runNpy, npySeeds},
                                    {"tensor", runTensor, tensorSeeds},
                                    {"tuning", runTuning, tuningSeeds}};
  return kTargets;
}
