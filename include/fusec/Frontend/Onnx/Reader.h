//===- Reader.h - bounded reader of ONNX files ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns untrusted bytes into the structs of Model.h. Whatever the bytes are,
// the result is a model or an error that names the byte offset and the path of
// the message ("graph.node[3].attribute[0]"): no exception leaves the reader,
// recursion is bounded, and memory is bounded by the limits below.
// All functions are thread safe.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FRONTEND_ONNX_READER_H
#define FUSEC_FRONTEND_ONNX_READER_H

#include "fusec/Frontend/Onnx/Model.h"
#include "fusec/Support/Numeric.h"
#include "llvm/Support/Error.h"

namespace fusec::onnx {

/// Caps on what a file may ask for. The defaults take every model that the
/// format's usual producers write.
struct ReadLimits {
  /// Bytes of the file itself, external data apart.
  uint64_t maxFileBytes = uint64_t(4) << 30;
  /// Nodes in all graphs and functions together.
  size_t maxNodes = size_t(1) << 20;
  /// Messages of any kind together: each takes a few hundred bytes of memory
  /// but may take only two bytes of file.
  size_t maxMessages = size_t(1) << 23;
  /// Dimensions of a tensor or a declared shape.
  size_t maxRank = kMaxRank;
  size_t maxAttributesPerNode = 1024;
  /// Inputs, outputs and other strings in one list.
  size_t maxListLength = size_t(1) << 20;
  /// Bytes of one name, type, domain, key or location.
  size_t maxNameBytes = size_t(1) << 16;
  /// Messages inside each other.
  unsigned maxDepth = 100;
};

/// Reads an ONNX file. External data is not touched here, only located
/// relative to the file's folder.
llvm::Expected<Model> readModel(llvm::StringRef path,
                                const ReadLimits &limits = {});

/// Parses a model from memory. `folder` is where external data may be read
/// from; empty refuses external data.
llvm::Expected<Model> parseModel(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                 llvm::StringRef folder = "",
                                 const ReadLimits &limits = {});

/// A single TensorProto, as in the .pb files of test data sets, with the bytes
/// that it points into.
struct TensorFile {
  std::shared_ptr<const llvm::MemoryBuffer> buffer;
  Tensor tensor;
};

/// Reads a TensorProto file.
llvm::Expected<TensorFile> readTensorFile(llvm::StringRef path,
                                          const ReadLimits &limits = {});

/// Parses a TensorProto from memory.
llvm::Expected<TensorFile>
parseTensor(std::unique_ptr<llvm::MemoryBuffer> buffer,
            const ReadLimits &limits = {});

} // namespace fusec::onnx

#endif // FUSEC_FRONTEND_ONNX_READER_H
