//===- Ways.cpp - all ways to compute a graph, and one judge --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Verify/Ways.h"
#include "fusec/Runtime/Executable.h"

using namespace fusec;
using namespace fusec::verify;
using session::TargetKind;

std::string Way::name() const {
  std::string text = session::name(target.kind).str();
  if (!options.fuse)
    text += ", unfused";
  if (options.numerics == NumericsMode::Exact)
    text += ", exact";
  if (options.target.rowBlockBytes)
    text += ", rows of " + std::to_string(options.target.rowBlockBytes) +
            " bytes a block";
  for (const std::string &pass : options.disabledPasses)
    text += " without " + pass;
  if (placement)
    text += placement->inPlace ? ", in place" : ", tensors placed apart";
  if (target.fastCompile)
    text += ", compiled fast";
  return text;
}

std::vector<Way> verify::waysOf(const session::Target &target,
                                const driver::CompileOptions &options) {
  std::vector<Way> ways;
  ways.push_back({target, options});
  if (target.kind == TargetKind::Reference)
    return ways;
  // What the caller asks for applies to every way: some are then equal.
  auto add = [&](auto change) {
    Way way{target, options};
    change(way.options);
    if (llvm::none_of(
            ways, [&](const Way &known) { return known.name() == way.name(); }))
      ways.push_back(std::move(way));
  };
  add([](driver::CompileOptions &o) { o.fuse = false; });
  add([](driver::CompileOptions &o) { o.numerics = NumericsMode::Exact; });
  add([](driver::CompileOptions &o) {
    o.fuse = false;
    o.numerics = NumericsMode::Exact;
  });
  // Rows that otherwise only long ones are: clusters of up to 16 blocks.
  constexpr int64_t kShortRow = 64;
  if (target.kind != TargetKind::Host && options.target.maxClusterBlocks > 1)
    add([](driver::CompileOptions &o) { o.target.rowBlockBytes = kShortRow; });
  for (const driver::OptionalPass &pass : driver::optionalPasses())
    if ((target.kind != TargetKind::Host || pass.onGraphs) &&
        !llvm::is_contained(options.disabledPasses, pass.name))
      add([&](driver::CompileOptions &o) {
        o.disabledPasses.push_back(pass.name.str());
      });
  return ways;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<HostTensor>>
verify::runWay(const session::Model &model, const Way &way,
               llvm::ArrayRef<HostTensor> inputs,
               llvm::function_ref<void(const session::Compiled &)> observe,
               const driver::StageObserver &stages) {
  using session::ErrorClass;
  if (way.target.kind == TargetKind::Reference) {
    // Const: the evaluator only reads the function.
    auto results = reference::evaluate(
        const_cast<session::Model &>(model).function(), inputs);
    if (!results)
      return session::withClass(ErrorClass::Unsupported, results.takeError());
    return results;
  }
  llvm::Expected<session::Model> copy = session::cloneModel(model);
  if (!copy)
    return copy.takeError();
  llvm::Expected<session::Compiled> compiled =
      way.target.kind == TargetKind::Host
          ? compileForHost(*copy, way.options)
          : compileModel(*copy, way.options, stages);
  if (!compiled)
    return session::withClass(ErrorClass::Unsupported, compiled.takeError());
  if (observe)
    observe(*compiled);
  auto executable = runtime::Executable::create(compiled->compilation.program,
                                                way.target.device);
  if (!executable)
    return session::withClass(ErrorClass::Failed, executable.takeError());
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(*input.bytes);
  auto results = way.placement ? runPlaced(*executable, bytes, *way.placement)
                               : runtime::runWithHostData(*executable, bytes);
  if (!results)
    return session::withClass(ErrorClass::Failed, results.takeError());
  std::vector<HostTensor> tensors;
  for (auto [spec, data] : llvm::zip(model.outputs, *results))
    tensors.push_back(
        {spec.dtype, spec.shape, std::make_shared<Bytes>(std::move(data))});
  return tensors;
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

llvm::StringRef verify::name(Outcome outcome) {
  static constexpr llvm::StringRef kNames[] = {"right", "wrong", "unsupported",
                                               "failed"};
  return kNames[static_cast<size_t>(outcome)];
}

Judgement verify::judge(llvm::ArrayRef<runtime::TensorSpec> specs,
                        llvm::ArrayRef<reference::Bounds> bounds,
                        llvm::ArrayRef<HostTensor> found) {
  Judgement result;
  for (auto [spec, bound, tensor] : llvm::zip(specs, bounds, found)) {
    reference::Deviation deviation = deviationOf(bound, tensor);
    result.worst = std::max(result.worst, deviation.worst);
    result.elements += deviation.elements;
    result.wrong += deviation.wrong;
    result.unknown += deviation.unknown;
    result.exact += deviation.exact;
    if (deviation.ok() || !result.message.empty())
      continue;
    result.outcome = Outcome::Wrong;
    result.message =
        "output " + session::quoted(spec.name) + ", " + deviation.first;
  }
  return result;
}

Judgement verify::judge(llvm::Error error) {
  Judgement result;
  result.outcome = Outcome::Failed;
  llvm::handleAllErrors(
      std::move(error),
      [&](const session::SessionError &info) {
        if (info.kind == session::ErrorClass::Unsupported)
          result.outcome = Outcome::Unsupported;
        result.message = info.message;
      },
      [&](const llvm::ErrorInfoBase &info) {
        result.message = info.message();
      });
  return result;
}
