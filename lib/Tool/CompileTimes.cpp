//===- CompileTimes.cpp - what NVRTC costs for each kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CompileTimes.h"
#include "llvm/ADT/STLExtras.h"
#include <sys/resource.h>

using namespace fusec;
using namespace fusec::tool;

static double userMicroseconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec) * 1e6 + double(usage.ru_utime.tv_usec);
}

/// One compilation, by a compiler that remembers nothing.
static llvm::Expected<double>
timeOnce(const std::shared_ptr<const runtime::Nvrtc> &nvrtc,
         const runtime::NvrtcOptions &options, const runtime::Kernel &kernel) {
  runtime::NvrtcCompiler compiler(nvrtc, options);
  double begin = userMicroseconds();
  auto module = compiler.compileTogether({kernel});
  double used = userMicroseconds() - begin;
  if (!module)
    return module.takeError();
  return used;
}

llvm::Expected<std::vector<double>>
fusec::tool::compileTimes(std::shared_ptr<const runtime::Nvrtc> nvrtc,
                          const runtime::NvrtcOptions &options,
                          llvm::ArrayRef<runtime::Kernel> kernels) {
  runtime::Kernel first;
  first.entry = "k";
  first.source = "extern \"C\" __global__ void k() {}";
  if (auto setUp = timeOnce(nvrtc, options, first); !setUp)
    return setUp.takeError();
  std::vector<double> medians;
  for (const runtime::Kernel &kernel : kernels) {
    std::array<double, 3> times;
    for (double &time : times) {
      llvm::Expected<double> once = timeOnce(nvrtc, options, kernel);
      if (!once)
        return once.takeError();
      time = *once;
    }
    llvm::sort(times);
    medians.push_back(times[1]);
  }
  return medians;
}
