//===- RowHoles.cpp - the holes of reductions of rows ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowHoles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

/// "{a, b}": a state made of texts.
static std::string
stateOf(size_t count,
        llvm::function_ref<std::string(const std::string &)> text) {
  std::string all = "{";
  for (size_t i = 0; i < count; ++i)
    all += (i ? ", " : "") + text(std::to_string(i));
  return all + "}";
}

/// "return {..};" of what `block` yields.
static void writeReturn(Emitter &emitter, Block &block) {
  ValueRange yields = block.getTerminator()->getOperands();
  emitter.line() << "return " << stateOf(yields.size(), [&](std::string i) {
    return emitter.use(yields[std::stoul(i)]);
  }) << ";\n";
}

void cuda::writeRowYield(Emitter &emitter, Block &epilogue) {
  writeReturn(emitter, epilogue);
}

LogicalResult cuda::writeRowHoles(
    simt::ContractOp op, llvm::raw_ostream &os,
    llvm::function_ref<Emitter()> function,
    llvm::function_ref<void(Emitter &, Value, const char *)> bind) {
  size_t count = op.getStates().size();
  Emitter names = function();
  SmallVector<std::string> types;
  os << "  struct Row {";
  for (auto [i, buffer] : llvm::enumerate(op.getStates())) {
    types.push_back(
        names.typeName(cast<MemRefType>(buffer.getType()).getElementType()));
    os << " " << types.back() << " s" << i << ";";
  }
  os << " };\n  FUSEC_METHOD Row none() const {\n";
  Emitter none = function();
  if (failed(none.emitBlock(op.getNone().front())))
    return failure();
  writeReturn(none, op.getNone().front());

  os << "  }\n  FUSEC_METHOD Row join(const Row &x, const Row &y) const {\n";
  Emitter join = function();
  Block &joining = op.getJoin().front();
  for (auto [i, arg] : llvm::enumerate(joining.getArguments()))
    join.setText(arg, (i < count ? "x.s" : "y.s") + std::to_string(i % count));
  if (failed(join.emitBlock(joining)))
    return failure();
  writeReturn(join, joining);

  os << "  }\n  FUSEC_METHOD Row exchange(const Row &x, i32 by) const { return "
     << stateOf(count,
                [](std::string i) { return "shfl_xor(x.s" + i + ", by)"; })
     << "; }\n  FUSEC_METHOD void keep(i64 at, const Row &x) const {";
  for (auto [i, buffer] : llvm::enumerate(op.getStates()))
    os << " st1(" << names.use(buffer) << ", at, x.s" << i << ");";
  os << " }\n  FUSEC_METHOD Row kept(i64 at) const { return "
     << stateOf(count,
                [&](std::string i) {
                  return "ld1(" + names.use(op.getStates()[std::stoul(i)]) +
                         ", at)";
                })
     << "; }\n  FUSEC_METHOD i32 draw(i32 at, i32 count) const { return "
        "(i32)ticket("
     << names.use(op.getCounters()) << ", at, (u32)count); }\n"
     << "  FUSEC_METHOD void finish(i32 b, i32 m, const Row &x) const {\n";
  Emitter finish = function();
  Block &finishing = op.getFinish().front();
  bind(finish, finishing.getArgument(0), "b");
  bind(finish, finishing.getArgument(1), "m");
  for (size_t i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    finish.line() << "const " << types[i] << " s" << number << "[1] = {x.s"
                  << number << "};\n";
    finish.setText(finishing.getArgument(2 + i), "s" + number);
  }
  if (failed(finish.emitBlock(finishing)))
    return failure();
  os << "  }\n";
  return success();
}
