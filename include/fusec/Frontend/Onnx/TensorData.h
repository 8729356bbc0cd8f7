//===- TensorData.h - the values of an ONNX tensor --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes a TensorProto, wherever its values are: raw bytes, typed lists, or a
// file beside the model. Paths of such files are untrusted: they must be
// relative, free of "..", and reach a regular file without following any
// symbolic link.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FRONTEND_ONNX_TENSORDATA_H
#define FUSEC_FRONTEND_ONNX_TENSORDATA_H

#include "fusec/Frontend/Onnx/Model.h"
#include "fusec/Support/HostTensor.h"

namespace fusec::onnx {

/// Where external data may come from and how large a tensor may be.
struct TensorDataOptions {
  /// The model's folder; empty refuses external data.
  std::string folder;
  int64_t maxBytes = kDefaultMaxTensorBytes;
  /// Accept external files with several hard links.
  bool allowHardLinks = false;
  /// Keeps the file's bytes: large raw data is then looked at, not copied, and
  /// the tensor holds on to this.
  std::shared_ptr<const void> owner = {};
};

/// The element type for an ONNX data type; an error for types that fusec does
/// not have (strings, complex numbers, FNUZ floats, ...).
llvm::Expected<DType> toDType(DataType type);

/// True for the types of the format, whether fusec has them or not.
bool isDataType(DataType type);

/// The ONNX name of a data type ("FLOAT16"), or "data type 99".
std::string dataTypeName(DataType type);

/// Decodes `tensor`. Fails on unsupported types, on payloads that are missing,
/// ambiguous, of the wrong kind or of the wrong length, on values outside
/// their type, and on every breach of the rules for external data. Errors name
/// the tensor.
llvm::Expected<HostTensor> decodeTensor(const Tensor &tensor,
                                        const TensorDataOptions &options = {});

/// Reads `length` bytes (nothing: to the end) at `offset` of the file
/// `location` inside `folder` under the rules above, at most `maxBytes`.
llvm::Expected<std::vector<std::byte>>
readExternalData(llvm::StringRef folder, llvm::StringRef location,
                 uint64_t offset, std::optional<uint64_t> length,
                 uint64_t maxBytes, bool allowHardLinks = false);

} // namespace fusec::onnx

#endif // FUSEC_FRONTEND_ONNX_TENSORDATA_H
