//===- Report.cpp - results for people and programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "Random.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Object;

Object fusec::tool::toJson(const runtime::TensorSpec &spec) {
  return Object{{"name", jsonText(spec.name)},
                {"dtype", fusec::name(spec.dtype)},
                {"shape", llvm::json::Array(spec.shape)}};
}

std::string fusec::tool::bytesText(double bytes) {
  const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit)
    bytes /= 1000;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

std::string fusec::tool::toText(const FusionSummary &summary) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "launches: " << summary.opsBefore << " (one per op) -> "
     << summary.launches << " fused, of " << summary.kernels
     << " different kernels\n"
     << "bytes:    " << bytesText(summary.bytesBefore) << " -> "
     << bytesText(summary.bytesAfter) << " moved, "
     << bytesText(summary.workspaceBytes) << " workspace\n";
  return text;
}

static std::string elementText(const HostTensor &tensor, int64_t i) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isFloat(tensor.dtype))
    os << llvm::format("%.6g", tensor.getF64(i));
  else if (tensor.dtype == DType::U64)
    os << static_cast<uint64_t>(tensor.getI64(i));
  else
    os << tensor.getI64(i);
  return text;
}

std::string fusec::tool::elementsText(const HostTensor &tensor, int64_t count) {
  std::string text;
  int64_t n = tensor.elements();
  for (int64_t i = 0; i < std::min(n, count); ++i)
    text += (i ? " " : "") + elementText(tensor, i);
  if (n > count)
    text += " ...";
  return text;
}

void fusec::tool::printOutput(llvm::raw_ostream &os,
                              const runtime::TensorSpec &spec,
                              const HostTensor &tensor) {
  os << "output " << quoted(spec.name) << ": "
     << describe(spec.dtype, spec.shape) << "\n  " << elementsText(tensor, 10)
     << "\n  sum " << llvm::format("%.9g", sumOf(tensor)) << ", checksum "
     << llvm::format_hex(checksum(*tensor.bytes), 18) << '\n';
}

/// JSON has no NaN and no infinity.
static llvm::json::Value jsonNumber(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Object fusec::tool::toJson(const runtime::TensorSpec &spec,
                           const HostTensor &tensor) {
  Object object = toJson(spec);
  object["sum"] = jsonNumber(sumOf(tensor));
  object["checksum"] = llvm::utohexstr(checksum(*tensor.bytes), true, 16);
  return object;
}

void fusec::tool::printJson(Object object) {
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(object)))
               << '\n';
}
