//===- ConstantStore.cpp - large constants, shared ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

void ConstantStore::add(const std::shared_ptr<const Bytes> &bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (known.size() >= sweepAt) {
    SmallVector<const void *> gone;
    for (auto &[data, owner] : known)
      if (owner.expired())
        gone.push_back(data);
    for (const void *data : gone)
      known.erase(data);
    sweepAt = std::max<size_t>(1024, 2 * known.size());
  }
  known[bytes->data()] = bytes;
}

std::shared_ptr<const Bytes> ConstantStore::find(const void *data) {
  std::lock_guard<std::mutex> lock(mutex);
  return known.lookup(data).lock();
}

static ConstantStore *storeOf(MLIRContext *context) {
  Dialect *dialect = context->getLoadedDialect<GraphDialect>();
  return dialect ? dialect->getRegisteredInterface<ConstantStore>() : nullptr;
}

/// The largest power of two up to 16 that the address is a multiple of: parts
/// of a file begin anywhere.
static size_t alignmentOf(const void *data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  return size_t(1) << std::min(4, llvm::countr_zero(address | 16));
}

DenseResourceElementsAttr
graph::makeResource(RankedTensorType type, StringRef name,
                    std::shared_ptr<const Bytes> bytes, Sharing sharing) {
  if (ConstantStore *store = storeOf(type.getContext());
      store && sharing == Sharing::Yes)
    store->add(bytes);
  ArrayRef<char> raw(reinterpret_cast<const char *>(bytes->data()),
                     bytes->size());
  AsmResourceBlob blob(
      raw, alignmentOf(raw.data()),
      [bytes](void *, size_t, size_t) mutable { bytes.reset(); },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

std::shared_ptr<const Bytes> graph::sharedBytes(ElementsAttr attribute) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  ConstantStore *store = blob ? storeOf(attribute.getContext()) : nullptr;
  if (!store)
    return nullptr;
  std::shared_ptr<const Bytes> bytes = store->find(blob->getData().data());
  return bytes && bytes->size() == blob->getData().size() ? bytes : nullptr;
}
