//===- FakeCublasLt.h - what the fake cuBLASLt is told ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKECUBLASLT_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKECUBLASLT_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

/// What the heuristics offer; an algorithm's words are its id and scheme.
struct FakeAlgorithm {
  uint64_t id = 1, reductionScheme = 0, workspaceBytes = 0;
  int state = 0;
};

struct FakeMatmul {
  uint64_t id;
  void *stream, *workspace;
  size_t workspaceBytes;
  int computeType, fastAccum;
};

/// The fake's whole state; one per process. Its functions hold `mutex`.
struct FakeCublasLt {
  std::mutex mutex;
  uint64_t version = 130100;
  std::vector<FakeAlgorithm> offered = {{}};
  /// Of the last search.
  uint64_t maxWorkspace = 0, reductions = 0;
  std::set<uint64_t> alignments;
  std::vector<FakeMatmul> products;
  /// The algorithm of this id gives another result, the other one fails.
  uint64_t wrongId = 0, failingId = 0;
  int handles = 0, descriptors = 0;
};

extern "C" FakeCublasLt *fakeCublasLt();
/// Everything as at the start.
extern "C" void fakeCublasLtReset();

#endif // FUSEC_TEST_UNIT_RUNTIME_FAKECUBLASLT_H
