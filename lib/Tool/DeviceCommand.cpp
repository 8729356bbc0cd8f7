//===- DeviceCommand.cpp - fusec devices ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "DeviceReportText.h"
#include "Options.h"
#include "Report.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

void fusec::tool::print(llvm::raw_ostream &os,
                        const runtime::DeviceReport &report) {
  os << "driver: ";
  if (report.driverVersion)
    os << "CUDA " << report.driverVersion / 1000 << '.'
       << report.driverVersion % 1000 / 10 << '\n';
  else
    os << "none (" << report.driverError << ")\n";
  os << "NVRTC:  ";
  if (report.nvrtcMajor)
    os << report.nvrtcMajor << '.' << report.nvrtcMinor << " ("
       << report.nvrtcPath << ")\n";
  else
    os << "none (" << report.nvrtcError << ")\n";
  for (auto [i, device] : llvm::enumerate(report.devices))
    os << "GPU " << i << ":  " << device.name << ", compute capability "
       << device.computeCapability / 10 << '.' << device.computeCapability % 10
       << ", " << device.multiprocessors << " multiprocessors, "
       << bytesText(double(device.memoryBytes)) << '\n';
  os << "targets without a GPU: host, emulator, reference\n";
}

static llvm::Expected<ExitCode> devices(const Arguments &arguments) {
  runtime::DeviceReport report = runtime::deviceReport();
  if (arguments.has("json"))
    llvm::outs() << runtime::toJSON(report) << '\n';
  else
    print(llvm::outs(), report);
  if (!arguments.has("self-test"))
    return ExitCode::Ok;
  if (report.devices.empty())
    return toolError(ExitCode::NoDevice, "no GPU to test",
                     "the first lines say what is missing; --target=host and "
                     "emulator need no GPU");
  if (llvm::Error error = runtime::cudaSelfTest())
    return withCode(ExitCode::Failed, std::move(error));
  // With --json the exit code says it.
  if (!arguments.has("json"))
    llvm::outs() << "self-test passed\n";
  return ExitCode::Ok;
}

CommandSpec fusec::tool::devicesCommand() {
  return {
      "devices",
      "GPUs, driver and NVRTC of this machine",
      "[options]",
      "Shows the GPUs, the driver and NVRTC of this machine. Finds NVRTC "
      "in the loader's\npath, in /usr/local/cuda*, or where the environment "
      "variable FUSEC_NVRTC says.",
      concat<OptionSpec>(
          {{{"self-test", "", "compile and run a small program on the GPU"},
            {"json", "", "report as JSON"}},
           commonOptionSpecs()}),
      {{"fusec devices", "what is there, and what is missing"},
       {"fusec devices --self-test", "a first look at an unknown machine"}},
      0,
      0,
      {},
      devices};
}
