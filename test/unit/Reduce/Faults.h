//===- Faults.h - wrong lowerings, planted ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fault changes a copy of a graph as a faulty lowering would change what it
// computes; the changed graph is then run in place of the right one. Nothing of
// it is in the tool.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_REDUCE_FAULTS_H
#define FUSEC_TEST_UNIT_REDUCE_FAULTS_H

#include "fusec/Fuzz/Generate.h"
#include "fusec/Reference/Bounds.h"

namespace fusec::test {

struct Fault {
  llvm::StringRef name;
  /// Changes the function; it may do so at no place.
  void (*plant)(mlir::func::FuncOp function);
};

/// Faults that compilers had: dropped masks, swapped operands, lost roundings.
llvm::ArrayRef<Fault> allFaults();

/// True if the graph with the fault gives a result out of `bounds`, those of
/// the graph without.
bool isSeen(const fuzz::Case &subject,
            llvm::ArrayRef<reference::Bounds> bounds, const Fault &fault);
/// The same, and computes the bounds.
bool isSeen(const fuzz::Case &subject, const Fault &fault);
/// Bounds of the results of a graph; none if there is an error.
std::vector<reference::Bounds> boundsOf(const fuzz::Case &subject);

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_REDUCE_FAULTS_H
