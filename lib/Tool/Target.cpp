//===- Target.cpp - what --target and --arch name -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Target.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

llvm::Expected<TargetInfo> fusec::tool::targetInfo(llvm::StringRef arch) {
  if (arch.empty())
    return TargetInfo::h200();
  if (std::optional<TargetInfo> info = TargetInfo::get(arch))
    return *info;
  return toolError(ExitCode::Usage, "unknown architecture " + quoted(arch),
                   "--help lists those of --arch");
}

llvm::Expected<Target>
fusec::tool::openTarget(llvm::StringRef name, llvm::StringRef arch,
                        std::shared_ptr<runtime::DiskCache> cache, bool quiet) {
  session::OpenOptions options;
  options.cache = std::move(cache);
  if (!arch.empty()) {
    llvm::Expected<TargetInfo> info = targetInfo(arch);
    if (!info)
      return info.takeError();
    options.machine = *info;
  }
  options.onNoGpu = [quiet](llvm::StringRef why) {
    if (!quiet)
      llvm::errs() << "fusec: note: no GPU (" << why
                   << "); running on the host\n";
  };
  llvm::Expected<Target> target = [&]() -> llvm::Expected<Target> {
    if (name.empty())
      return session::openDefaultTarget(options);
    std::optional<TargetKind> kind = session::parseTargetKind(name);
    if (!kind)
      return toolError(ExitCode::Usage, "unknown target " + quoted(name),
                       "--help lists those of --target");
    return session::openTarget(*kind, options);
  }();
  if (!target)
    return withCode(ExitCode::NoDevice, target.takeError(),
                    "'fusec devices' shows what is there; "
                    "--target=host, emulator and reference need no GPU");
  return target;
}
