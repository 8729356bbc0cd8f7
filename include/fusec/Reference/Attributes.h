//===- Attributes.h - constants as host tensors -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REFERENCE_ATTRIBUTES_H
#define FUSEC_REFERENCE_ATTRIBUTES_H

#include "fusec/Support/HostTensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Error.h"

namespace fusec::reference {

/// The elements of a dense or dense_resource attribute. Fails on other kinds
/// of attributes, on element types that fusec does not have, on a resource
/// whose size does not fit its type, and above `maxBytes`.
llvm::Expected<HostTensor>
toHostTensor(mlir::ElementsAttr attribute,
             int64_t maxBytes = kDefaultMaxTensorBytes);

/// The bytes of such an attribute, row-major as memory has them: shared with the
/// attribute where it lets them be shared, else a copy.
llvm::Expected<std::shared_ptr<const Bytes>>
toBytes(mlir::ElementsAttr attribute);

/// `tensor` as a dense attribute of its shape and element type; a splat if all
/// elements have equal bits.
mlir::DenseElementsAttr toAttribute(const HostTensor &tensor,
                                    mlir::MLIRContext *context);

} // namespace fusec::reference

#endif // FUSEC_REFERENCE_ATTRIBUTES_H
