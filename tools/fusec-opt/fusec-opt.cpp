//===- fusec-opt.cpp - run passes on MLIR text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tool/Tool.h"

#ifdef FUSEC_WITH_TEST_PASSES
namespace fusec::test {
void registerTestBuildElements();
void registerTestLowering();
} // namespace fusec::test
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
#ifdef FUSEC_WITH_TEST_PASSES
  fusec::test::registerTestBuildElements();
  fusec::test::registerTestLowering();
#endif
  return fusec::tool::optMain(argc, argv, registry);
}
