//===- ElementInterpreter.h - run what buildElement builds ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar code of a fusible op, verified and interpreted element by element
// with the folders of arith: a fold that fails (a conversion out of range, a
// division by zero) is undefined behaviour in that code and an error here.
//
// The tests of the host target implement these functions too, by running the
// op there (test/unit/Host/HostHarness.cpp), and so reuse the cases.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_REFERENCE_ELEMENTINTERPRETER_H
#define FUSEC_TEST_UNIT_REFERENCE_ELEMENTINTERPRETER_H

#include "fusec/Support/HostTensor.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fusec::reference::test {

/// All results of the fusible `op` on `operands`, each element rounded to its
/// type. `op` needs static shapes.
llvm::Expected<std::vector<HostTensor>>
interpretElements(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

/// Expects interpretElements and the reference evaluator to agree on `op`;
/// floats within `ulps`. Also builds the op's tile code and verifies it.
void expectElementsMatch(mlir::Operation *op,
                         llvm::ArrayRef<HostTensor> operands, int64_t ulps = 0);

/// The result, a scalar, of a reduction over one axis whose points are lifted
/// one by one in `order` and merged as a balanced tree: what a schedule that
/// splits the axis computes.
llvm::Expected<HostTensor> interpretMerged(mlir::Operation *op,
                                           llvm::ArrayRef<HostTensor> operands,
                                           llvm::ArrayRef<int64_t> order);

} // namespace fusec::reference::test

#endif // FUSEC_TEST_UNIT_REFERENCE_ELEMENTINTERPRETER_H
