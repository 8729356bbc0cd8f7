//===- GraphDigest.cpp - whether graphs compute the same ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphDigest.h"
#include "fusec/Reference/Attributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace fusec;

/// 128 bits as text.
static std::string digestOf(llvm::ArrayRef<uint8_t> bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

namespace {
/// Digests of the values of a function.
class Digester {
public:
  explicit Digester(bool hasContents = true) : hasContents(hasContents) {}
  void add(Region &region, const std::string &owner);
  std::string of(ValueRange values) const {
    std::string text;
    for (Value value : values)
      text += digests.lookup(value) + ' ';
    return text;
  }

private:
  std::string describe(Operation &op);

  /// Constants are what they hold.
  bool hasContents;
  llvm::DenseMap<Value, std::string> digests;
};
} // namespace

/// What `op` is without its operands.
std::string Digester::describe(Operation &op) {
  std::string text = op.getName().getStringRef().str();
  llvm::raw_string_ostream os(text);
  auto constant = dyn_cast<graph::ConstantOp>(op);
  if (!constant || constant.getValue().isSplat())
    os << ' ' << op.getAttrDictionary();
  else if (!hasContents)
    os << " any";
  else if (auto bytes = reference::toBytes(constant.getValue()))
    os << ' '
       << digestOf(ArrayRef(reinterpret_cast<const uint8_t *>((*bytes)->data()),
                            (*bytes)->size()));
  else
    // Nobody can tell what it holds: equal to nothing else.
    os << ' ' << &op << llvm::toString(bytes.takeError());
  for (Type type : op.getResultTypes())
    os << ' ' << type;
  return text;
}

void Digester::add(Region &region, const std::string &owner) {
  for (BlockArgument argument : region.getArguments()) {
    std::string text =
        owner + " argument " + llvm::utostr(argument.getArgNumber());
    llvm::raw_string_ostream(text) << ' ' << argument.getType();
    digests[argument] = digestOf(llvm::arrayRefFromStringRef(text));
  }
  for (Operation &op : region.front()) {
    SmallVector<std::string> operands;
    for (Value operand : op.getOperands())
      operands.push_back(digests.lookup(operand));
    if (op.hasTrait<OpTrait::IsCommutative>())
      llvm::sort(operands);
    std::string text = describe(op) + ' ' + llvm::join(operands, " ");
    for (Region &inner : op.getRegions()) {
      add(inner, digestOf(llvm::arrayRefFromStringRef(text)));
      text += " region " + of(inner.front().getTerminator()->getOperands());
    }
    std::string digest = digestOf(llvm::arrayRefFromStringRef(text));
    for (OpResult result : op.getResults())
      digests[result] = digest + '#' + llvm::utostr(result.getResultNumber());
  }
}

static std::string functionDigest(func::FuncOp function, Digester digester) {
  digester.add(function.getBody(), "function");
  std::string text;
  llvm::raw_string_ostream(text) << function.getFunctionType();
  text += ' ' + digester.of(
                    function.getBody().front().getTerminator()->getOperands());
  return digestOf(llvm::arrayRefFromStringRef(text));
}

std::string driver::graphDigest(func::FuncOp function) {
  return functionDigest(function, Digester());
}

std::string driver::planDigest(func::FuncOp function) {
  return functionDigest(function, Digester(/*hasContents=*/false));
}

std::string driver::regionDigest(graph::FusionOp fusion) {
  Digester digester;
  digester.add(fusion.getBody(), "region");
  std::string text =
      digester.of(fusion.getBody().front().getTerminator()->getOperands());
  return digestOf(llvm::arrayRefFromStringRef(text));
}
