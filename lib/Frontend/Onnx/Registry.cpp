//===- Registry.cpp - the imports of all operators ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec::onnx::importer;

Registry::Registry() {
  addActivations(*this);
  addControl(*this);
  addConvolution(*this);
  addElementwise(*this);
  addGather(*this);
  addMatMul(*this);
  addNormalization(*this);
  addPooling(*this);
  addQuantization(*this);
  addReductions(*this);
  addResize(*this);
  addShape(*this);
  addSlicing(*this);
}

const Registry &Registry::get() {
  static const Registry registry;
  return registry;
}

ImportFunction Registry::find(llvm::StringRef name) const {
  return functions.lookup(name);
}

std::vector<llvm::StringRef> Registry::names() const {
  std::vector<llvm::StringRef> out;
  for (const auto &entry : functions)
    out.push_back(entry.getKey());
  llvm::sort(out);
  return out;
}
