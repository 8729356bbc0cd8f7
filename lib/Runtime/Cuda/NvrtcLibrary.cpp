//===- NvrtcLibrary.cpp - finding and opening NVRTC -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates are tried from the newest major version down, so that the newest
// library wins wherever it lies:
//
//   1. libnvrtc.so.N as the loader finds it,
//   2. libnvrtc.so.N in the toolkits that CUDA_HOME and CUDA_PATH name and
//      those under /usr/local and in /opt/cuda,
//   3. libnvrtc.so.N in the caller's folders and their nvidia/*/lib,
//
// then the unversioned name. FUSEC_NVRTC, if set, is the only candidate.
//===----------------------------------------------------------------------===//
#include "NvrtcLibrary.h"
#include "LibrarySearch.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
namespace fs = llvm::sys::fs;

// The first version whose interface suffices, and one well beyond today's.
static constexpr unsigned kOldestMajor = 11;
static constexpr unsigned kNewestMajor = 20;

// Names to try, best first. Files that do not exist are left out.
static std::vector<std::string> candidates(const NvrtcSearch &search) {
  if (const char *forced = std::getenv("FUSEC_NVRTC"); forced && *forced)
    return {forced};
  std::vector<std::string> files;
  unsigned newest =
      search.maxMajor ? std::min(search.maxMajor, kNewestMajor) : kNewestMajor;
  for (unsigned major = newest; major >= kOldestMajor; --major)
    files.push_back("libnvrtc.so." + std::to_string(major));
  // Version 11 and some distributions number by minor version as well.
  files.push_back("libnvrtc.so.11.2");
  files.push_back("libnvrtc.so");
  return librariesToTry(files, search.directories, search.systemPlaces);
}

static Error findFunctions(Nvrtc::Impl &impl) {
  const char *missing = nullptr;
  auto need = [&](auto &function, const char *name) {
    if (!impl.shared.find(function, {name}) && !missing)
      missing = name;
  };
  need(impl.getErrorString, "nvrtcGetErrorString");
  need(impl.version, "nvrtcVersion");
  need(impl.getNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  need(impl.getSupportedArchs, "nvrtcGetSupportedArchs");
  need(impl.createProgram, "nvrtcCreateProgram");
  need(impl.destroyProgram, "nvrtcDestroyProgram");
  need(impl.compileProgram, "nvrtcCompileProgram");
  need(impl.getPTXSize, "nvrtcGetPTXSize");
  need(impl.getPTX, "nvrtcGetPTX");
  need(impl.getCUBINSize, "nvrtcGetCUBINSize");
  need(impl.getCUBIN, "nvrtcGetCUBIN");
  need(impl.getProgramLogSize, "nvrtcGetProgramLogSize");
  need(impl.getProgramLog, "nvrtcGetProgramLog");
  if (!missing)
    return Error::success();
  return llvm::createStringError("function '%s' is missing", missing);
}

static Error readVersion(Nvrtc::Impl &impl, unsigned maxMajor) {
  if (NvrtcResult code = impl.version(&impl.major, &impl.minor))
    return llvm::createStringError("nvrtcVersion failed with code %d", code);
  // The unversioned name may stand for any version.
  if (maxMajor && impl.major > static_cast<int>(maxMajor))
    return llvm::createStringError("version %d is newer than %u", impl.major,
                                   maxMajor);
  int count = 0;
  if (NvrtcResult code = impl.getNumSupportedArchs(&count); code || count < 1)
    return llvm::createStringError(
        "nvrtcGetNumSupportedArchs failed with code %d", code);
  impl.architectures.resize(count);
  if (NvrtcResult code = impl.getSupportedArchs(impl.architectures.data()))
    return llvm::createStringError("nvrtcGetSupportedArchs failed with code %d",
                                   code);
  return Error::success();
}

// The loader knows the path of the file, also where a bare name was given.
static std::string readIdentity(const Nvrtc::Impl &impl) {
  Dl_info info;
  fs::file_status status;
  if (!::dladdr(reinterpret_cast<void *>(impl.version), &info) ||
      !info.dli_fname || fs::status(info.dli_fname, status))
    return "";
  return std::to_string(status.getSize()) + "@" +
         std::to_string(
             status.getLastModificationTime().time_since_epoch().count());
}

static Error openOne(Nvrtc::Impl &impl, const std::string &name,
                     unsigned maxMajor) {
  Expected<SharedLibrary> library = SharedLibrary::open(name);
  if (!library)
    return library.takeError();
  impl.shared = *library;
  impl.path = name;
  if (Error error = findFunctions(impl))
    return error;
  impl.identity = readIdentity(impl);
  return readVersion(impl, maxMajor);
}

Nvrtc::Nvrtc(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Nvrtc::~Nvrtc() = default;
int Nvrtc::majorVersion() const { return impl->major; }
int Nvrtc::minorVersion() const { return impl->minor; }
const std::string &Nvrtc::path() const { return impl->path; }
llvm::ArrayRef<int> Nvrtc::architectures() const { return impl->architectures; }

Expected<std::shared_ptr<const Nvrtc>> Nvrtc::open(const NvrtcSearch &search,
                                                   std::string *tried) {
  std::string reasons, last;
  std::vector<std::string> names = candidates(search);
  for (const std::string &name : names) {
    auto impl = std::make_unique<Impl>();
    Error error = openOne(*impl, name, search.maxMajor);
    if (!error)
      return std::shared_ptr<const Nvrtc>(new Nvrtc(std::move(impl)));
    last = name + ": " + llvm::toString(std::move(error));
    reasons += "\n  " + last;
  }
  if (tried)
    *tried = reasons;
  if (const char *forced = std::getenv("FUSEC_NVRTC"); forced && *forced)
    return llvm::createStringError(
        "cannot open NVRTC, which FUSEC_NVRTC names: %s", last.c_str());
  return llvm::createStringError(
      "cannot open NVRTC; set FUSEC_NVRTC to the path of libnvrtc.so, or "
      "install it with a CUDA toolkit (fusec devices lists where it was looked "
      "for)");
}
