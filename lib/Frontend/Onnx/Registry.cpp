//===- Registry.cpp - the imports of all operators ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec::onnx::importer;

Registry::Registry() {
  addActivations(*this);
  addAttention(*this);
  addContrib(*this);
  addControl(*this);
  addConvolution(*this);
  addEinsum(*this);
  addElementwise(*this);
  addGather(*this);
  addLoss(*this);
  addMatMul(*this);
  addNormalization(*this);
  addPooling(*this);
  addQuantization(*this);
  addRecurrent(*this);
  addReductions(*this);
  addResize(*this);
  addSampling(*this);
  addShape(*this);
  addSlicing(*this);
  addSorting(*this);
  addSpectral(*this);
  addTraining(*this);
}

const Registry &Registry::get() {
  static const Registry registry;
  return registry;
}

ImportFunction Registry::find(llvm::StringRef domain,
                              llvm::StringRef name) const {
  return functions.lookup(domain.empty() ? name.str()
                                         : (domain + "." + name).str());
}

std::vector<llvm::StringRef> Registry::names() const {
  std::vector<llvm::StringRef> out;
  for (const auto &entry : functions)
    out.push_back(entry.getKey());
  llvm::sort(out);
  return out;
}
