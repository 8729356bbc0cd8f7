//===- SkeletonModule.h - kernels on the skeleton in the emulator -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FUSEC_TEST_UNIT_SKELETON_SKELETONMODULE_H
#define FUSEC_TEST_UNIT_SKELETON_SKELETONMODULE_H

#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/SkeletonTestHoles.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"
#include "gtest/gtest.h"

#include <map>

namespace fusec::test {

/// The module of kernel `name` with text `text` behind the skeleton and the
/// holes of the tests, compiled once a process; null, with a failure of the
/// test, if it does not compile. Names are unique within a process.
inline const runtime::EmulatorModule *
skeletonModule(const char *name, const std::string &text, bool sm90) {
  static std::map<std::string, std::unique_ptr<runtime::EmulatorModule>> made;
  auto [it, isNew] = made.try_emplace(name);
  if (!isNew)
    return it->second.get();
  runtime::EmulatorCompileOptions options;
  options.preamble =
      std::string(embedded::kGemmSkeleton) + embedded::kSkeletonTestHoles;
  options.sm90 = sm90;
  auto result = runtime::EmulatorModule::compile(
      {runtime::EmulatorKernel{name, text}}, options);
  if (result)
    it->second = std::move(*result);
  else
    ADD_FAILURE() << llvm::toString(result.takeError());
  return it->second.get();
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_SKELETON_SKELETONMODULE_H
