//===- EmitJoint.cpp - several thread programs in one kernel --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Side by side: a block looks its part up by its position in the grid and calls
// that part's function. In turn: the blocks of a cluster share out the blocks
// that a program would have, and meet before the next one. All threads of a
// block take the same branch, so barriers inside a function are met by the
// whole block.
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include "fusec/Embedded/Select.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

namespace {

/// The text of one thread program as a function.
struct Body {
  std::string parameters, text;
  std::string fields;    // of the part's entry in the table
  std::string arguments; // from the entry `t`
  int64_t arenaBytes = 0;
  bool usesGrid = false;
  SmallVector<unsigned> programs;
};

class JointEmitter {
public:
  JointEmitter(ArrayRef<simt::KernelOp> kernels, unsigned chainBlocks)
      : kernels(kernels), chainBlocks(chainBlocks) {}
  FailureOr<JointKernel> run();

private:
  FailureOr<Body> emitBody(simt::KernelOp kernel);
  std::string functions();
  std::string choose();
  std::string dispatch();

  ArrayRef<simt::KernelOp> kernels;
  unsigned chainBlocks;
  bool usesSelect = false;
  bool overlaps = false;
  llvm::MapVector<StringRef, Body> bodies; // by text
};

} // namespace

/// Of one width, so that texts of different counts have one length.
static std::string count(size_t number) {
  std::string digits = llvm::utohexstr(number, /*LowerCase=*/true);
  return "0x" + std::string(4 - std::min<size_t>(4, digits.size()), '0') +
         digits;
}

FailureOr<Body> JointEmitter::emitBody(simt::KernelOp kernel) {
  Body body;
  bool hasShared = false;
  auto walk = kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<simt::BlockIdOp>(op))
      body.usesGrid |= id.getDimension() > 0;
    hasShared |= isa<simt::SharedOp>(op);
    auto shared = dyn_cast<simt::SharedOp>(op);
    if (!isa<simt::ContractOp>(op) && !(shared && shared.getDynamic()))
      return WalkResult::advance();
    op->emitOpError("cannot share a launch");
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  llvm::raw_string_ostream os(body.text);
  Emitter emitter(os, kernel.getWideOffsets());
  emitter.waited = true;
  emitter.blockIds[0] = "block";
  if (body.usesGrid)
    emitter.blockIds = {"(block % gx)", "(block / gx % gy)",
                        "(block / gx / gy)"};
  if (hasShared)
    emitter.arena = "arena";
  auto add = [&](const std::string &parameter, const std::string &argument) {
    body.parameters += (body.parameters.empty() ? "" : ", ") + parameter;
    body.arguments += (body.arguments.empty() ? "" : ", ") + argument;
  };
  if (hasShared)
    add("FUSEC_SHARED_PTR(u64) arena", "arena");
  add("const i32 block", "block");
  for (Parameter &parameter : nameParameters(emitter, kernel)) {
    // What one program of a chain writes another one reads.
    if (chainBlocks && StringRef(parameter.type).starts_with("const "))
      parameter.type.erase(0, 6);
    std::string type = parameter.isBuffer ? parameter.type : "i64 ";
    body.fields += "  " + type + parameter.name + ";\n";
    std::string cast =
        parameter.isBuffer
            ? ""
            : "(" + StringRef(parameter.type).rtrim().str() + ")";
    add((parameter.isBuffer ? "" : "const ") + parameter.type + parameter.name,
        cast + "t." + parameter.name);
  }
  if (body.usesGrid) {
    body.fields += "  i64 gx;\n  i64 gy;\n";
    add("const i32 gx", "(i32)t.gx");
    add("const i32 gy", "(i32)t.gy");
  }
  if (failed(emitter.emitBlock(kernel.getBody().front())))
    return failure();
  body.arenaBytes = emitter.arenaBytes;
  usesSelect |= emitter.usesSelect;
  return body;
}

std::string JointEmitter::functions() {
  std::string text;
  for (auto [i, entry] : llvm::enumerate(bodies)) {
    const Body &body = entry.second;
    text += llvm::formatv("struct $_{0} {{\n{1}};\n"
                          "FUSEC_DEVICE void $_f{0}({2}) {{\n{3}}\n",
                          i, body.fields, body.parameters, body.text);
  }
  std::string programs = count(kernels.size());
  text += "struct $_table {\n";
  if (!chainBlocks)
    text += "  i32 first[" + programs + "];\n";
  else
    text += "  i32 entry[" + programs + "];\n  i32 blocks[" + programs +
            "];\n  i32 meets[" + programs + "];\n";
  for (auto [i, entry] : llvm::enumerate(bodies))
    text += llvm::formatv("  $_{0} t{0}[{1}];\n", i,
                          count(entry.second.programs.size()));
  return text + "};\n";
}

/// Calls the function of entry `part` for its block `block`.
std::string JointEmitter::choose() {
  std::string text;
  size_t first = 0;
  for (auto [i, entry] : llvm::enumerate(bodies)) {
    const Body &body = entry.second;
    size_t end = first + body.programs.size();
    text += i ? " else " : "  ";
    if (i + 1 < bodies.size())
      text += "if (part < " + count(end) + ") ";
    text += llvm::formatv("{{\n    const $_{0} &t = table.t{0}[part - {1}];\n"
                          "    $_f{0}({2});\n  }",
                          i, count(first), body.arguments);
    first = end;
  }
  return text + "\n";
}

std::string JointEmitter::dispatch() {
  std::string text;
  int64_t arena = 0;
  for (const auto &entry : bodies)
    arena = std::max(arena, entry.second.arenaBytes);
  if (arena)
    text += llvm::formatv("  FUSEC_SHARED(u64, arena, {0});\n", arena / 8);
  if (overlaps)
    text += "  grid_wait();\n";
  if (!chainBlocks)
    return text +
           "  const i32 part = part_of(table.first, cta_x());\n"
           "  const i32 block = cta_x() - table.first[part];\n" +
           choose();
  std::string blocks = std::to_string(chainBlocks);
  return text + "  for (i32 step = 0; step < " + count(kernels.size()) +
         "; ++step) {\n  const i32 part = table.entry[step];\n"
         "  for (i32 block = cluster_rank(); block < table.blocks[step]; "
         "block += " +
         blocks + ") {\n" + choose() + (arena ? "  bar();\n" : "") +
         "  }\n  if (table.meets[step]) cluster_sync();\n  }\n";
}

FailureOr<JointKernel> JointEmitter::run() {
  JointKernel result;
  result.chainBlocks = chainBlocks;
  std::vector<std::string> texts(kernels.size());
  for (unsigned i = 0; i < kernels.size(); ++i) {
    simt::KernelOp kernel = kernels[i], first = kernels.front();
    if (kernel.getThreads() != first.getThreads())
      return kernel.emitOpError("cannot share a launch: its number of threads "
                                "is another");
    FailureOr<Body> body = emitBody(kernel);
    if (failed(body))
      return failure();
    texts[i] = body->parameters + "\n" + body->text;
    result.usesGrid.push_back(body->usesGrid);
    bodies.try_emplace(texts[i], std::move(*body))
        .first->second.programs.push_back(i);
  }
  for (const auto &entry : bodies)
    llvm::append_range(result.order, entry.second.programs);
  overlaps = llvm::all_of(kernels, [](simt::KernelOp kernel) {
    return !kernel.getBody().front().getOps<simt::GridWaitOp>().empty();
  });
  std::string before = (usesSelect ? embedded::kSelect : "") + functions();
  simt::KernelOp first = kernels.front();
  std::string launch = std::to_string(first.getThreads());
  if (chainBlocks)
    launch += ", 1, " + std::to_string(chainBlocks);
  std::string rest = llvm::formatv(
      ", {0})(FUSEC_TABLE($_table, table)) {{\n{1}}\n", launch, dispatch());
  result.kernel = makeKernel(
      before, chainBlocks ? "FUSEC_KERNEL_CLUSTER(" : "FUSEC_KERNEL(", rest,
      first);
  result.kernel.overlaps = overlaps;
  if (chainBlocks) {
    result.kernel.cluster = chainBlocks;
    result.kernel.usesSm90 = true;
  }
  return result;
}

FailureOr<JointKernel> cuda::emitJointKernel(ArrayRef<simt::KernelOp> kernels) {
  return JointEmitter(kernels, 0).run();
}

FailureOr<JointKernel> cuda::emitChainKernel(ArrayRef<simt::KernelOp> kernels,
                                             unsigned blocks) {
  return JointEmitter(kernels, blocks).run();
}
