//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads .npy of format 1 to 3 in C or Fortran order (little endian) and writes
// format 1 in C order.
//
// NumPy has no name for bf16, the 8-bit floats and the 4-bit integers. They are
// written as the plain integers of their storage: bf16 as '<u2', f8 as '|u1',
// i4 as '|i1' and u4 as '|u1' (one value a byte). A reader that wants them back
// says so with `as`.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_NPY_H
#define FUSEC_SUPPORT_NPY_H

#include "fusec/Support/HostTensor.h"

#include <optional>
#include <string>

namespace fusec {

/// Parses the bytes of a .npy file. With `as`, the file's type must be `as` or
/// the storage integer (or the opaque 'V' type of the same size) of `as`.
/// Anything malformed, big-endian, of an unknown type, longer or shorter than
/// its header says, or above `maxBytes` is an error.
llvm::Expected<HostTensor> parseNpy(llvm::StringRef contents,
                                    std::optional<DType> as = std::nullopt,
                                    int64_t maxBytes = kDefaultMaxTensorBytes);

/// `parseNpy` on a file; errors name the path.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path,
                                   std::optional<DType> as = std::nullopt,
                                   int64_t maxBytes = kDefaultMaxTensorBytes);

/// The bytes of a .npy file that holds `tensor`.
std::string formatNpy(const HostTensor &tensor);

/// Writes `formatNpy(tensor)` to `path`.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace fusec

#endif // FUSEC_SUPPORT_NPY_H
