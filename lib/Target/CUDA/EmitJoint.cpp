//===- EmitJoint.cpp - several thread programs in one kernel --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Side by side: a block looks its part up by its position in the grid and calls
// that part's function. In turn: the blocks of a cluster share out the blocks
// that a program would have, and meet before the next one; or they have what
// programs hand on in shared memory (device/chain.cuh), do short programs each
// for itself and wait for what others send. All threads of a block take the
// same branch, so barriers inside a function are met by the whole block.
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
  std::string reads;     // of these fields, where they are read ahead
  std::string arguments; // from the entry `t`
  int64_t arenaBytes = 0;
  unsigned sends = 0; // values
  bool usesGrid = false;
  SmallVector<unsigned> programs;
};

class JointEmitter {
public:
  JointEmitter(ArrayRef<simt::KernelOp> kernels, ArrayRef<RowBuffers> rows,
               const ChainForm &chain)
      : kernels(kernels), rows(rows), chain(chain) {}
  FailureOr<JointKernel> run();

private:
  FailureOr<Body> emitBody(unsigned program);
  void addParameter(Body &body, const Parameter &parameter, ChainAccess access);
  std::string tableStart();
  std::string functions();
  std::string call(const Body &body, unsigned index, size_t first);
  std::string choose();
  std::string dispatch();
  std::string dispatchKept();

  ArrayRef<simt::KernelOp> kernels;
  ArrayRef<RowBuffers> rows;
  const ChainForm &chain;
  int64_t arenaBytes = 0;
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

/// Appends to a list.
static void append(std::string &list, const llvm::Twine &text) {
  list += (list.empty() ? "" : ", ") + text.str();
}

/// A parameter of a program's function, its field in the table, and what is
/// passed for it.
void JointEmitter::addParameter(Body &body, const Parameter &parameter,
                                ChainAccess access) {
  const std::string &name = parameter.name;
  StringRef type = parameter.type;
  // What one program of a chain writes another one reads.
  if (chain.blocks)
    type.consume_front("const ");
  auto field = [&](StringRef type, StringRef suffix = "") {
    body.fields += (type + name + suffix + ";\n").str();
    std::string read = ("t." + name + suffix).str();
    if (!chain.keepsValues())
      return read;
    body.reads +=
        ("    const auto " + name + suffix + " = pinned(" + read + ");\n")
            .str();
    return (name + suffix).str();
  };
  if (access == ChainAccess::Memory) {
    std::string value =
        field(parameter.isBuffer ? ("  " + type).str() : "  i64 ");
    append(body.parameters, (parameter.isBuffer ? "" : "const ") + type + name);
    append(body.arguments,
           (parameter.isBuffer ? "" : "(" + type.rtrim() + ")") + value);
    return;
  }
  bool isSent = access != ChainAccess::Kept;
  bool isOut = access == ChainAccess::SentOut;
  const char *form = isOut ? "SentOut" : isSent ? "Sent" : "Kept";
  const char *make = isOut ? "sent_out" : isSent ? "sent" : "kept";
  std::string of = "<" + type.drop_back(2).str();
  of += (isSent ? ", " + std::to_string(chain.blocks) : "") + ">";
  std::string value = make + of + "(values, " + field("  i32 ");
  if (isSent)
    value += ", meetings, now.sends + " + std::to_string(body.sends++);
  if (isOut)
    value += ", " + field(("  " + type).str(), "m");
  append(body.parameters, form + of + " " + name);
  append(body.arguments, value + ")");
}

FailureOr<Body> JointEmitter::emitBody(unsigned program) {
  simt::KernelOp kernel = kernels[program];
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
  emitter.testsOnce = chain.keepsValues();
  emitter.blockIds[0] = "block";
  if (body.usesGrid)
    emitter.blockIds = {"(block % gx)", "(block / gx % gy)",
                        "(block / gx / gy)"};
  if (hasShared) {
    emitter.arena = "arena";
    append(body.parameters, "FUSEC_SHARED_PTR(u64) arena");
    append(body.arguments, "arena");
  }
  append(body.parameters, "const i32 block");
  append(body.arguments, "block");
  for (auto [i, parameter] : llvm::enumerate(nameParameters(
           emitter, kernel, rows.empty() ? RowBuffers() : rows[program])))
    addParameter(body, parameter,
                 parameter.isBuffer && chain.keepsValues()
                     ? chain.accesses[program][i]
                     : ChainAccess::Memory);
  if (body.usesGrid) {
    body.fields += "  i64 gx;\n  i64 gy;\n";
    for (const char *size : {"gx", "gy"}) {
      append(body.parameters, "const i32 " + llvm::Twine(size));
      append(body.arguments, "(i32)t." + llvm::Twine(size));
    }
  }
  if (!rows.empty() && !chain.keepsValues())
    emitter.pairs = findAccessPairs(kernel, rows[program].isRow);
  if (failed(emitter.emitBlock(kernel.getBody().front())))
    return failure();
  body.arenaBytes = emitter.arenaBytes;
  usesSelect |= emitter.usesSelect;
  return body;
}

/// The fields of the table before the entries of programs.
std::string JointEmitter::tableStart() {
  std::string programs = count(kernels.size());
  if (chain.keepsValues())
    return "  i32 bytes[" + count(chain.meetings) + "];\n  ChainStep step[" +
           count(kernels.size() + 1) + "];\n";
  if (chain.blocks)
    return "  i32 entry[" + programs + "];\n  i32 blocks[" + programs +
           "];\n  i32 meets[" + programs + "];\n";
  return "  i32 first[" + programs + "];\n";
}

std::string JointEmitter::functions() {
  std::string text;
  for (auto [i, entry] : llvm::enumerate(bodies)) {
    const Body &body = entry.second;
    text += llvm::formatv("struct $_{0} {{\n{1}};\n"
                          "FUSEC_DEVICE void $_f{0}({2}) {{\n{3}}\n",
                          i, body.fields, body.parameters, body.text);
  }
  text += "struct $_table {\n" + tableStart();
  for (auto [i, entry] : llvm::enumerate(bodies))
    text += llvm::formatv("  $_{0} t{0}[{1}];\n", i,
                          count(entry.second.programs.size()));
  return text + "};\n";
}

/// Calls the function of the body with number `index`, whose entries start at
/// `first`. Where values are kept: after what does not depend on other blocks.
std::string JointEmitter::call(const Body &body, unsigned index, size_t first) {
  // Of one entry the place is known: what it holds needs no registers.
  std::string at = body.programs.size() == 1 ? "0" : "part - " + count(first);
  std::string entry =
      llvm::formatv("{{\n    const $_{0} &t = table.t{0}[{1}];\n", index, at);
  std::string function = llvm::formatv("$_f{0}({1});\n", index, body.arguments);
  if (!chain.keepsValues())
    return entry + "    " + function + "  }";
  return entry + body.reads + "    meet<" + (chain.syncs ? "true" : "false") +
         ">(meetings, now, waited);\n"
         "    for (i32 block = first; block < now.blocks; block += now.stride) "
         "{\n      " +
         function +
         (body.arenaBytes ? "      bar();\n    }\n"
                          : "    }\n    if (now.stride == 1) bar();\n") +
         "  }";
}

/// Calls the function of entry `part`.
std::string JointEmitter::choose() {
  std::string text;
  size_t first = 0;
  for (auto [i, entry] : llvm::enumerate(bodies)) {
    const Body &body = entry.second;
    size_t end = first + body.programs.size();
    text += i ? " else " : "  ";
    if (i + 1 < bodies.size())
      text += "if (part < " + count(end) + ") ";
    text += call(body, i, first);
    first = end;
  }
  return text + "\n";
}

std::string JointEmitter::dispatchKept() {
  simt::KernelOp any = kernels.front();
  return llvm::formatv(
      "  FUSEC_SHARED_DYN(u64, values);\n"
      "  FUSEC_MBARRIERS(meetings, {0});\n"
      "  begin_meetings<{1}>(meetings, table.bytes);\n"
      "  i32 waited = 0;\n"
      "  ChainStep next = read_ahead(table.step[0]);\n"
      "  for (i32 step = 0; step < {2}; ++step) {{\n"
      "  const ChainStep now = next;\n"
      "  next = read_ahead(table.step[step + 1]);\n"
      "  const i32 part = now.entry;\n"
      "  const i32 first = now.stride == 1 ? 0 : cluster_rank();\n"
      "{3}  }\n",
      count(chain.meetings), any.getThreads(), count(kernels.size()), choose());
}

std::string JointEmitter::dispatch() {
  std::string text;
  for (const auto &entry : bodies)
    arenaBytes = std::max(arenaBytes, entry.second.arenaBytes);
  if (arenaBytes)
    text += llvm::formatv("  FUSEC_SHARED(u64, arena, {0});\n", arenaBytes / 8);
  if (overlaps)
    text += "  grid_wait();\n";
  if (chain.keepsValues())
    return text + dispatchKept();
  if (!chain.blocks)
    return text +
           "  const i32 part = part_of(table.first, cta_x());\n"
           "  const i32 block = cta_x() - table.first[part];\n" +
           choose();
  std::string blocks = std::to_string(chain.blocks);
  return text + "  for (i32 step = 0; step < " + count(kernels.size()) +
         "; ++step) {\n  const i32 part = table.entry[step];\n"
         "  for (i32 block = cluster_rank(); block < table.blocks[step]; "
         "block += " +
         blocks + ") {\n" + choose() + (arenaBytes ? "  bar();\n" : "") +
         "  }\n  if (table.meets[step]) cluster_sync();\n  }\n";
}

FailureOr<JointKernel> JointEmitter::run() {
  JointKernel result;
  std::vector<std::string> texts(kernels.size());
  for (unsigned i = 0; i < kernels.size(); ++i) {
    simt::KernelOp kernel = kernels[i], first = kernels.front();
    if (kernel.getThreads() != first.getThreads())
      return kernel.emitOpError("cannot share a launch: its number of threads "
                                "is another");
    FailureOr<Body> body = emitBody(i);
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
  if (chain.blocks)
    launch += ", 1, " + std::to_string(chain.blocks);
  std::string rest = llvm::formatv(
      ", {0})(FUSEC_TABLE($_table, table)) {{\n{1}}\n", launch, dispatch());
  result.kernel = makeKernel(
      before, chain.blocks ? "FUSEC_KERNEL_CLUSTER(" : "FUSEC_KERNEL(", rest,
      first);
  result.kernel.overlaps = overlaps;
  result.arenaBytes = arenaBytes;
  if (chain.blocks) {
    result.kernel.cluster = chain.blocks;
    result.kernel.usesSm90 = true;
  }
  return result;
}

FailureOr<JointKernel> cuda::emitJointKernel(ArrayRef<simt::KernelOp> kernels,
                                             ArrayRef<RowBuffers> rows) {
  return JointEmitter(kernels, rows, ChainForm()).run();
}

FailureOr<JointKernel> cuda::emitChainKernel(ArrayRef<simt::KernelOp> kernels,
                                             const ChainForm &form) {
  return JointEmitter(kernels, {}, form).run();
}
