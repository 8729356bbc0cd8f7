//===- BugRun.cpp - one bug report, every way to run it -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BugRun.h"

#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Session/Build.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::bugs;
using session::TargetKind;

std::string Way::name() const {
  static const char *const kConstant[] = {
      "", ", all inputs constant", ", the first input constant",
      ", all inputs but the first constant"};
  return session::name(target).str() + (fuse ? " fused" : " unfused") +
         (exact ? ", exact" : "") + kConstant[constant] +
         (expose ? ", all values exposed" : "");
}

static bool isConstant(const Way &way, size_t input) {
  return way.constant == 1 || (way.constant == 2 && input == 0) ||
         (way.constant == 3 && input != 0);
}

static llvm::Expected<session::Model> import(const BugCase &bug,
                                             const Way &way) {
  auto file = onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(
      way.expose ? bug.exposedBytes : bug.bytes));
  if (!file)
    return file.takeError();
  onnx::ImportOptions options;
  for (size_t i = 0; i < bug.inputs.size(); ++i)
    if (isConstant(way, i))
      options.boundInputs[bug.inputs[i].first] = bug.inputs[i].second;
  return session::importModel(*file, options, bug.id);
}

static llvm::Expected<runtime::Program>
compile(const BugCase &bug, const Way &way, session::Model &model) {
  driver::CompileOptions options;
  options.fuse = way.fuse;
  options.numerics = way.exact ? NumericsMode::Exact : NumericsMode::Default;
  if (way.target == TargetKind::Reference)
    return session::referenceProgram(std::move(model));
  auto compiled = way.target == TargetKind::Host
                      ? session::compileForHost(model, options)
                      : session::compileModel(model, options, {});
  if (!compiled)
    return compiled.takeError();
  if (bug.kernels && way.fuse && way.target == TargetKind::Emulator &&
      !way.constant && !way.expose)
    EXPECT_EQ(compiled->compilation.kernels.size(), *bug.kernels)
        << bug.id << " " << bug.variant;
  return std::move(compiled->compilation.program);
}

static std::shared_ptr<runtime::Device> deviceOf(TargetKind kind) {
  static std::map<TargetKind, std::shared_ptr<runtime::Device>> devices;
  auto [entry, isNew] = devices.try_emplace(kind);
  if (isNew)
    entry->second = llvm::cantFail(session::openTarget(kind)).device;
  return entry->second;
}

llvm::Expected<Results> fusec::bugs::runBug(const BugCase &bug,
                                            const Way &way) {
  llvm::Expected<session::Model> model = import(bug, way);
  if (!model)
    return model.takeError();
  llvm::Expected<runtime::Program> program = compile(bug, way, *model);
  if (!program)
    return program.takeError();
  std::vector<runtime::TensorSpec> specs = program->outputs;
  auto executable =
      runtime::Executable::create(std::move(*program), deviceOf(way.target));
  if (!executable)
    return executable.takeError();
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (size_t i = 0; i < bug.inputs.size(); ++i)
    if (!isConstant(way, i))
      bytes.push_back(*bug.inputs[i].second.bytes);
  auto outputs = runtime::runWithHostData(*executable, bytes);
  if (!outputs)
    return outputs.takeError();
  Results results;
  for (auto [spec, data] : llvm::zip_equal(specs, *outputs)) {
    llvm::Expected<HostTensor> tensor =
        HostTensor::create(spec.dtype, spec.shape);
    if (!tensor)
      return tensor.takeError();
    tensor->bytes = std::make_shared<Bytes>(std::move(data));
    results.emplace(spec.name, std::move(*tensor));
  }
  return results;
}

static std::string shapeText(const HostTensor &tensor) {
  std::string text = name(tensor.dtype).str() + "[";
  for (auto [i, dim] : llvm::enumerate(tensor.shape))
    text += (i ? "," : "") + std::to_string(dim);
  return text + "]";
}

static bool sameElement(const HostTensor &expected, const HostTensor &found,
                        int64_t i, double relative, double absolute) {
  if (!isFloat(expected.dtype))
    return expected.getBits(i) == found.getBits(i);
  double want = expected.getF64(i), got = found.getF64(i);
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(want) ? std::isnan(got) : want == got;
  if (want == 0 && got == 0)
    return absolute > 0 || std::signbit(want) == std::signbit(got);
  return std::fabs(got - want) <= relative * std::fabs(want) + absolute;
}

void fusec::bugs::expectEqual(const HostTensor &expected,
                              const HostTensor &found, double relative,
                              double absolute, const std::string &what) {
  if (shapeText(expected) != shapeText(found)) {
    ADD_FAILURE() << what << ": expected " << shapeText(expected) << ", found "
                  << shapeText(found);
    return;
  }
  int failures = 0;
  for (int64_t i = 0, e = expected.elements(); i < e && failures < 3; ++i)
    if (!sameElement(expected, found, i, relative, absolute)) {
      ++failures;
      auto print = [&](const HostTensor &t) {
        return isFloat(t.dtype)       ? ::testing::PrintToString(t.getF64(i))
               : isSignedInt(t.dtype) ? std::to_string(t.getI64(i))
                                      : std::to_string(t.getBits(i));
      };
      ADD_FAILURE() << what << ": element " << i << " is " << print(found)
                    << ", expected " << print(expected);
    }
}

/// What separates results of one op on two targets: the last places of f32
/// functions, roundings of narrow types.
static double spread(const BugCase &bug, DType type) {
  return std::max(bug.relative, type == DType::F64   ? 1e-14
                                : type == DType::F32 ? 2e-7
                                                     : 0);
}

static void checkWay(const BugCase &bug, const Way &way,
                     const Results &expected) {
  std::string what = bug.id + " (" + bug.variant + ") on " + way.name();
  llvm::Expected<Results> found = runBug(bug, way);
  if (!found) {
    ADD_FAILURE() << what << ": " << llvm::toString(found.takeError());
    return;
  }
  for (const auto &[name, tensor] : expected) {
    auto it = found->find(name);
    if (it == found->end())
      ADD_FAILURE() << what << ": no output " << name;
    else
      expectEqual(tensor, it->second, spread(bug, tensor.dtype), bug.absolute,
                  what + ", output " + name);
  }
}

/// The graph must be refused everywhere with the message.
static void checkRefused(const BugCase &bug) {
  for (TargetKind target : {TargetKind::Reference, TargetKind::Host}) {
    Way way;
    way.target = target;
    llvm::Expected<Results> found = runBug(bug, way);
    if (found) {
      ADD_FAILURE() << bug.id << " (" << bug.variant << ") on " << way.name()
                    << ": expected '" << bug.refusal << "', found a result";
      continue;
    }
    std::string message = llvm::toString(found.takeError());
    EXPECT_NE(message.find(bug.refusal), std::string::npos)
        << bug.id << " (" << bug.variant << "): " << message;
  }
}

void fusec::bugs::checkBug(const BugCase &bug) {
  if (!bug.refusal.empty())
    return checkRefused(bug);
  Way reference;
  reference.target = TargetKind::Reference;
  llvm::Expected<Results> own = runBug(bug, reference);
  if (!own) {
    ADD_FAILURE() << bug.id << " (" << bug.variant
                  << ") on the reference: " << llvm::toString(own.takeError());
    return;
  }
  // Numbers by hand come first; the evaluator itself is held to them too.
  Results expected = *own;
  for (const Expectation &expectation : bug.outputs)
    if (expectation.value) {
      expectEqual(*expectation.value, expected.at(expectation.name),
                  spread(bug, expectation.value->dtype), bug.absolute,
                  bug.id + " (" + bug.variant + ") on the reference, output " +
                      expectation.name);
      expected.at(expectation.name) = *expectation.value;
    }
  std::vector<Way> ways = {{TargetKind::Host, true},
                           {TargetKind::Host, false},
                           {TargetKind::Host, true, true}};
  if (bug.fold && !bug.inputs.empty())
    for (unsigned constant : {1, 2, 3})
      if (constant == 1 || bug.inputs.size() > 1)
        ways.push_back({TargetKind::Host, true, false, constant});
  if (bug.expose)
    ways.push_back({TargetKind::Host, true, false, 0, true});
  if (bug.emulator) {
    ways.push_back({TargetKind::Emulator, true});
    if (bug.first)
      ways.push_back({TargetKind::Emulator, false});
  }
  for (const Way &way : ways)
    checkWay(bug, way, expected);
}
