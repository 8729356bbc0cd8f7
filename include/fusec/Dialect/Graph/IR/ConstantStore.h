//===- ConstantStore.h - large constants, shared ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's resources own memory, but nobody else can share it. Constants that are
// made here are found again with their owner, so that a program keeps the bytes
// of a weight without a copy and beyond the life of the context.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_CONSTANTSTORE_H
#define FUSEC_DIALECT_GRAPH_IR_CONSTANTSTORE_H

#include "fusec/Support/Bytes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/DenseMap.h"

#include <mutex>

namespace fusec::graph {

/// Which bytes the resources of a context have. An interface of the graph
/// dialect; thread-safe.
class ConstantStore : public mlir::DialectInterface::Base<ConstantStore> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConstantStore)
  explicit ConstantStore(mlir::Dialect *dialect) : Base(dialect) {}

  void add(const std::shared_ptr<const Bytes> &bytes);
  /// The bytes that begin at `data`, if they are still alive.
  std::shared_ptr<const Bytes> find(const void *data);

private:
  std::mutex mutex;
  llvm::DenseMap<const void *, std::weak_ptr<const Bytes>> known;
  size_t sweepAt = 1024;
};

/// Whether programs may keep the bytes of a resource beyond the context.
enum class Sharing : uint8_t { Yes, No };

/// A resource of `type` (with elements of whole bytes, of which there are as
/// many as the type says) on `bytes`, which are not copied.
mlir::DenseResourceElementsAttr makeResource(mlir::RankedTensorType type,
                                             llvm::StringRef name,
                                             std::shared_ptr<const Bytes> bytes,
                                             Sharing sharing = Sharing::Yes);

/// The bytes of a resource that `makeResource` made to be shared; null for
/// others.
std::shared_ptr<const Bytes> sharedBytes(mlir::ElementsAttr attribute);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_CONSTANTSTORE_H
