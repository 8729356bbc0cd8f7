//===- LibFuzzerMain.cpp - one target under libFuzzer ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FUSEC_FUZZ_TARGET in the environment names the target; with FUSEC_FUZZ_SEEDS
// its seeds are written to that folder and the process ends.
//===----------------------------------------------------------------------===//
#include "HostileTargets.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <cstdlib>

using namespace fusec::hostile;

static const Target *target;

static const Target *findTarget(llvm::StringRef name) {
  for (const Target &known : byteTargets())
    if (name == known.name)
      return &known;
#ifdef FUSEC_FUZZ_GRAPHS
  for (const Target &known : graphTargets())
    if (name == known.name)
      return &known;
#endif
  return nullptr;
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  const char *name = std::getenv("FUSEC_FUZZ_TARGET");
  target = name ? findTarget(name) : nullptr;
  if (!target) {
    llvm::errs() << "FUSEC_FUZZ_TARGET: expected a target, found '"
                 << (name ? name : "") << "'\n";
    std::exit(2);
  }
  if (const char *folder = std::getenv("FUSEC_FUZZ_SEEDS")) {
    unsigned number = 0;
    for (const std::string &seed : target->seeds()) {
      std::error_code code;
      llvm::raw_fd_ostream os(
          std::string(folder) + "/seed" + std::to_string(number++), code);
      os << seed;
    }
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  target->run({reinterpret_cast<const char *>(data), size});
  return 0;
}
