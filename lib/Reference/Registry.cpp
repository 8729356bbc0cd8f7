//===- Registry.cpp - all kernels of the evaluator ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Kernel.h"

using namespace fusec::reference;

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry all;
    registerBinaryKernels(all);
    registerCompositeKernels(all);
    registerContractionKernels(all);
    registerControlKernels(all);
    registerConvertKernels(all);
    registerGatherKernels(all);
    registerMovementKernels(all);
    registerReductionKernels(all);
    registerScatterKernels(all);
    registerUnaryKernels(all);
    return all;
  }();
  return registry;
}
