//===- Target.cpp - what --target and --arch name -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Target.h"
#include "Arguments.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

static llvm::Expected<TargetKind> parseTarget(llvm::StringRef text) {
  if (std::optional<TargetKind> kind = session::parseTargetKind(text))
    return *kind;
  std::string remedy;
  if (auto name = nearest(text, session::targetNames()))
    remedy = ("did you mean --target=" + *name + "?").str();
  return toolError(ExitCode::Usage,
                   "unknown target " + quoted(text) +
                       ": expected cuda, host, emulator or reference",
                   remedy);
}

llvm::Expected<TargetInfo> fusec::tool::targetInfo(llvm::StringRef arch) {
  if (arch.empty())
    return TargetInfo::h200();
  if (std::optional<TargetInfo> info = TargetInfo::get(arch))
    return *info;
  return toolError(ExitCode::Usage, "unknown architecture " + quoted(arch) +
                                        ": expected sm_90a or sm_80");
}

llvm::Expected<Target>
fusec::tool::openTarget(llvm::StringRef name, llvm::StringRef arch,
                        std::shared_ptr<runtime::DiskCache> cache) {
  session::OpenOptions options;
  options.cache = std::move(cache);
  if (!arch.empty()) {
    llvm::Expected<TargetInfo> info = targetInfo(arch);
    if (!info)
      return info.takeError();
    options.machine = *info;
  }
  options.onNoGpu = [](llvm::StringRef why) {
    llvm::errs() << "fusec: note: no GPU (" << why
                 << "); running on the host\n";
  };
  llvm::Expected<Target> target = [&]() -> llvm::Expected<Target> {
    if (name.empty())
      return session::openDefaultTarget(options);
    llvm::Expected<TargetKind> kind = parseTarget(name);
    if (!kind)
      return kind.takeError();
    return session::openTarget(*kind, options);
  }();
  if (!target)
    return withCode(ExitCode::NoDevice, target.takeError(),
                    "'fusec devices' shows what is there; "
                    "--target=host, emulator and reference need no GPU");
  return target;
}
