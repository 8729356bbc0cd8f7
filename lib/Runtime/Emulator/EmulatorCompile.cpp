//===- EmulatorCompile.cpp - from text to a loaded library ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One compiler call makes a shared object of the prelude and all kernels, each
// in its own namespace. The files are gone once the object is open.
//===----------------------------------------------------------------------===//
#include "EmulatorCompile.h"

#include "fusec/Embedded/PreludeEmulator.h"
#include "fusec/Embedded/PreludeEmulatorSm90.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

namespace {
/// A folder that goes away with its contents.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> make() {
    TemporaryFolder folder;
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory("fusec-emulator", folder.path))
      return llvm::createStringError(
          code, "cannot make a temporary folder for the emulator");
    return folder;
  }
  TemporaryFolder(TemporaryFolder &&other) : path(std::move(other.path)) {
    other.path.clear();
  }
  ~TemporaryFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> result = path;
    llvm::sys::path::append(result, name);
    return std::string(result);
  }

private:
  TemporaryFolder() = default;
  llvm::SmallString<128> path;
};
} // namespace

static llvm::Expected<std::string> findCompiler(llvm::StringRef wanted) {
  if (!wanted.empty()) {
    if (llvm::sys::fs::can_execute(wanted))
      return wanted.str();
    if (auto path = llvm::sys::findProgramByName(wanted))
      return *path;
    return llvm::createStringError("the emulator's compiler '" + wanted +
                                   "' was not found");
  }
  for (const char *name : {"clang++-22", "clang++", "g++", "c++"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "the emulator needs a C++17 compiler: expected clang++-22, clang++, g++ "
      "or c++ on PATH");
}

static llvm::Error writeSource(llvm::StringRef path,
                               llvm::ArrayRef<EmulatorKernel> kernels,
                               const EmulatorCompileOptions &options) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return llvm::createStringError(code, "cannot write the emulator's source");
  os << "#line 1 \"prelude_emulator.h\"\n" << fusec::embedded::kPreludeEmulator;
  if (options.sm90)
    os << "\n#line 1 \"prelude_emulator_sm90.h\"\n"
       << fusec::embedded::kPreludeEmulatorSm90;
  if (!options.preamble.empty())
    os << "\n#line 1 \"preamble\"\n" << options.preamble;
  llvm::StringSet<> seen;
  unsigned number = 0;
  for (const EmulatorKernel &kernel : kernels) {
    if (!seen.insert(kernel.entry).second)
      return llvm::createStringError("two kernels are named '" + kernel.entry +
                                     "'");
    os << "\nnamespace fusec_kernel_" << number++ << " {\n#line 1 \""
       << kernel.entry << "\"\n"
       << kernel.source << "\n}\n";
  }
  os.close();
  if (os.has_error())
    return llvm::createStringError(os.error(),
                                   "cannot write the emulator's source");
  return llvm::Error::success();
}

static llvm::Error runCompiler(llvm::StringRef compiler,
                               const TemporaryFolder &folder,
                               const EmulatorCompileOptions &options) {
  std::string source = folder.file("kernels.cpp"),
              object = folder.file("kernels.so"), log = folder.file("log");
  std::string level = "-O" + std::to_string(std::min(options.optLevel, 3u));
  std::string alignment =
      "-DFUSEC_ALIGNMENT=" + std::to_string(options.alignment);
  std::string rolled = "-UFUSEC_ROLLED", unit = "-UFUSEC_ROLLED_UNIT",
              first = "-UFUSEC_ROLLED_FIRST";
  if (options.rolledColumns) {
    rolled = "-DFUSEC_ROLLED=" + std::to_string(options.rolledColumns);
    unit = "-DFUSEC_ROLLED_UNIT=" + std::to_string(options.rolledUnit);
    if (options.rolledFirst)
      first = "-DFUSEC_ROLLED_FIRST=" + std::to_string(options.rolledFirst);
  }
  std::string checks =
      options.checks ? "-DFUSEC_EMU_CHECKS=1" : "-DFUSEC_EMU_CHECKS=0";
  // Contraction is the text's decision, as with -fmad=false. Elements of
  // buffers are read through whatever type the kernel names.
  llvm::SmallVector<llvm::StringRef, 25> args = {compiler,
                                                 "-std=c++17",
                                                 level,
                                                 checks,
                                                 alignment,
                                                 rolled,
                                                 unit,
                                                 first,
                                                 "-w",
                                                 "-fPIC",
                                                 "-shared",
                                                 "-nostdlib",
                                                 "-fno-exceptions",
                                                 "-fno-rtti",
                                                 "-fno-strict-aliasing",
                                                 "-fwrapv",
                                                 "-ffp-contract=off",
                                                 "-fvisibility=hidden",
                                                 "-o",
                                                 object,
                                                 source,
                                                 "-lm",
                                                 "-lc"};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log, log};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(compiler, args, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status == 0)
    return llvm::Error::success();
  if (!message.empty())
    return llvm::createStringError("cannot run '" + compiler + "': " + message);
  auto text = llvm::MemoryBuffer::getFile(log);
  return llvm::createStringError(
      "'" + compiler + "' failed on the kernel text:\n" +
      (text ? (*text)->getBuffer() : llvm::StringRef("no log")));
}

llvm::Expected<void *>
emulator::compileAndLoad(llvm::ArrayRef<EmulatorKernel> kernels,
                         const EmulatorCompileOptions &options) {
  llvm::Expected<std::string> compiler = findCompiler(options.compiler);
  if (!compiler)
    return compiler.takeError();
  llvm::Expected<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder)
    return folder.takeError();
  if (llvm::Error error =
          writeSource(folder->file("kernels.cpp"), kernels, options))
    return std::move(error);
  if (llvm::Error error = runCompiler(*compiler, *folder, options))
    return std::move(error);
  void *library =
      dlopen(folder->file("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return llvm::createStringError(
        llvm::Twine("cannot load emulated kernels: ") + dlerror());
  return library;
}
