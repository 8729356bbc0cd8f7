//===- HostileTargets.h - what reads hostile bytes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each kind of bytes that fusec reads from others, with seeds.
// libFuzzer drives them (scripts/fuzz-inputs), and so does a short
// deterministic mutator in HostileTest.cpp. A target returns whatever the bytes
// are; what must never happen is a crash, a hang, or an answer that contradicts
// itself.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_HOSTILE_HOSTILETARGETS_H
#define FUSEC_TEST_UNIT_HOSTILE_HOSTILETARGETS_H

#include "../Frontend/OnnxWriter.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace fusec::hostile {

struct Target {
  const char *name;
  void (*run)(llvm::StringRef bytes);
  std::vector<std::string> (*seeds)();
};

/// "reader", "external", "cache", "npy", "tensor", "tuning": no MLIR.
llvm::ArrayRef<Target> byteTargets();
/// "onnx", "mlir": imported or parsed, simplified and evaluated.
llvm::ArrayRef<Target> graphTargets();

/// Tensors stay below this.
constexpr int64_t kMaxTensorBytes = 1 << 16;

/// Ends the process: a target's answer contradicts itself.
[[noreturn]] void fail(const char *what);

/// Drops an error.
template <class T>
bool isGood(llvm::Expected<T> &value) {
  if (!value)
    llvm::consumeError(value.takeError());
  return bool(value);
}

/// A ModelProto: x: f32[2,3] through the given nodes to y.
std::string graphSeed(std::vector<test::Proto> nodes,
                      std::vector<test::Proto> initializers = {});
std::vector<std::string> modelSeeds();

} // namespace fusec::hostile

#endif // FUSEC_TEST_UNIT_HOSTILE_HOSTILETARGETS_H
