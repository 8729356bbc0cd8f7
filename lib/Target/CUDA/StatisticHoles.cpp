//===- StatisticHoles.cpp - the holes of reductions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StatisticHoles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

/// "{a, b}": a state made of texts.
static std::string stateOf(size_t count,
                           llvm::function_ref<std::string(size_t)> text) {
  std::string all = "{";
  for (size_t i = 0; i < count; ++i)
    all += (i ? ", " : "") + text(i);
  return all + "}";
}

/// "return {..};" of `values`.
static void writeReturn(Emitter &emitter, ValueRange values) {
  emitter.line() << "return " << stateOf(values.size(), [&](size_t i) {
    return emitter.use(values[i]);
  }) << ";\n";
}

std::string cuda::statisticResult(ArrayRef<StatisticHoles> axes) {
  return !axes.empty() && !axes.front().areColumns ? "Row" : "void";
}

std::string cuda::statisticParameter(ArrayRef<StatisticHoles> axes,
                                     int64_t columns) {
  if (axes.empty() || !axes.back().areColumns)
    return "";
  return ", Column (&columns)[" + std::to_string(columns) + "]";
}

void cuda::writeStatistics(Emitter &emitter, ArrayRef<StatisticHoles> axes,
                           int64_t columns) {
  for (const StatisticHoles &axis : llvm::reverse(axes)) {
    if (!axis.areColumns) {
      writeReturn(emitter, axis.yields);
      continue;
    }
    emitter.line() << "FUSEC_UNROLL\n";
    emitter.line() << "for (i32 i = 0; i < " << columns << "; ++i)\n";
    emitter.line() << "  columns[i] = "
                   << stateOf(axis.yields.size(),
                              [&](size_t i) {
                                return emitter.use(axis.yields[i]) + "[i]";
                              })
                   << ";\n";
  }
}

LogicalResult cuda::writeStatisticHoles(
    const StatisticHoles &axis, llvm::raw_ostream &os,
    llvm::function_ref<Emitter()> function,
    llvm::function_ref<void(Emitter &, Value, const char *)> bind) {
  size_t count = axis.states.size();
  const char *state = axis.areColumns ? "Column" : "Row";
  auto begin = [&](const std::string &result, const char *name,
                   const char *parameters) {
    os << "  FUSEC_METHOD " << result << " " << name << "(" << parameters
       << ") const {";
  };
  std::string two =
                  std::string("const ") + state + " &x, const " + state + " &y",
              one = std::string("const ") + state + " &x";
  auto field = [](const char *of, size_t i) { return of + std::to_string(i); };

  Emitter names = function();
  SmallVector<std::string> types;
  os << "  struct " << state << " {";
  for (auto [i, buffer] : llvm::enumerate(axis.states)) {
    types.push_back(
        names.typeName(cast<MemRefType>(buffer.getType()).getElementType()));
    os << " " << types.back() << " s" << i << ";";
  }
  os << " };\n";

  begin(state, "none", state);
  os << "\n";
  Emitter none = function();
  if (failed(none.emitBlock(axis.none->front())))
    return failure();
  writeReturn(none, axis.none->front().getTerminator()->getOperands());
  os << "  }\n";

  begin(state, "join", two.c_str());
  os << "\n";
  Emitter join = function();
  Block &joining = axis.join->front();
  for (auto [i, arg] : llvm::enumerate(joining.getArguments()))
    join.setText(arg, field(i < count ? "x.s" : "y.s", i % count));
  if (failed(join.emitBlock(joining)))
    return failure();
  writeReturn(join, joining.getTerminator()->getOperands());
  os << "  }\n";

  begin(state, "exchange", (one + ", i32 by").c_str());
  os << " return " << stateOf(count, [&](size_t i) {
    return "shfl_xor(" + field("x.s", i) + ", by)";
  }) << "; }\n";
  begin("void", "keep", ("i64 at, " + one).c_str());
  for (auto [i, buffer] : llvm::enumerate(axis.states))
    os << " st1(" << names.use(buffer) << ", at, x.s" << i << ");";
  os << " }\n";
  begin(state, "kept", (std::string("i64 at, ") + state).c_str());
  os << " return " << stateOf(count, [&](size_t i) {
    return "ld1(" + names.use(axis.states[i]) + ", at)";
  }) << "; }\n";
  begin("i32", "draw", (std::string("i32 at, i32 count, ") + state).c_str());
  os << " return (i32)ticket(" << names.use(axis.counters)
     << ", at, (u32)count); }\n";

  begin("void", "finish", ("i32 b, i32 at, " + one).c_str());
  os << "\n";
  Emitter finish = function();
  Block &finishing = axis.finish->front();
  bind(finish, finishing.getArgument(0), "b");
  bind(finish, finishing.getArgument(1), "at");
  for (size_t i = 0; i < count; ++i) {
    finish.line() << "const " << types[i] << " s" << i << "[1] = {x.s" << i
                  << "};\n";
    finish.setText(finishing.getArgument(2 + i), field("s", i));
  }
  if (failed(finish.emitBlock(finishing)))
    return failure();
  os << "  }\n";
  return success();
}
