//===- NetBounds.h - bounds for deep graphs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_VERIFY_NETBOUNDS_H
#define FUSEC_VERIFY_NETBOUNDS_H

#include "fusec/Reference/Bounds.h"
#include "fusec/Session/Model.h"

namespace fusec::verify {

/// The bounds of reference/Bounds.h, which are worst cases, cut down to what
/// roundings do that go both ways: each float element to
///   middle +- ((1e-4 + 2u) |middle| + (1e-5 + u) M + 8 E)
/// where u and M are as in docs/semantics.md and E is the largest rounding
/// error of the output in three evaluations on inputs that differ in their last
/// place: rounded after every op against f64 without. Costs about ten reference
/// evaluations. `float8Sums` as for evaluateBounds; where they matter, the
/// worst cases stay.
llvm::Expected<std::vector<reference::Bounds>>
boundsOfNet(session::Model &model, llvm::ArrayRef<HostTensor> inputs,
            bool float8Sums = true);

} // namespace fusec::verify

#endif // FUSEC_VERIFY_NETBOUNDS_H
