//===- CublasLtLibrary.cpp - opening cuBLASLt -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CublasLtLibrary.h"
#include "LibrarySearch.h"

#include <algorithm>
#include <cstdlib>

using namespace fusec::runtime;
using namespace fusec::runtime::cublas;
using llvm::Error;
using llvm::Expected;

// Those whose interface and attributes are known.
static constexpr unsigned kOldestMajor = 12, kNewestMajor = 13;

static const char *forcedPath() {
  const char *path = std::getenv("FUSEC_CUBLASLT");
  return path && *path ? path : nullptr;
}

static std::vector<std::string> candidates(unsigned maxMajor) {
  if (const char *forced = forcedPath())
    return {forced};
  std::vector<std::string> files;
  unsigned newest = maxMajor ? std::min(maxMajor, kNewestMajor) : kNewestMajor;
  for (unsigned major = newest; major >= kOldestMajor; --major)
    files.push_back("libcublasLt.so." + std::to_string(major));
  return librariesToTry(files, {}, /*systemPlaces=*/true);
}

static Error findFunctions(Library &library) {
  const char *missing = nullptr;
  auto need = [&](auto &function, const char *name) {
    if (!library.symbols.find(function, {name}) && !missing)
      missing = name;
  };
  need(library.getVersion, "cublasLtGetVersion");
  need(library.statusString, "cublasLtGetStatusString");
  need(library.create, "cublasLtCreate");
  need(library.destroy, "cublasLtDestroy");
  need(library.matmul, "cublasLtMatmul");
  need(library.operationCreate, "cublasLtMatmulDescCreate");
  need(library.operationDestroy, "cublasLtMatmulDescDestroy");
  need(library.operationSet, "cublasLtMatmulDescSetAttribute");
  need(library.layoutCreate, "cublasLtMatrixLayoutCreate");
  need(library.layoutDestroy, "cublasLtMatrixLayoutDestroy");
  need(library.layoutSet, "cublasLtMatrixLayoutSetAttribute");
  need(library.preferenceCreate, "cublasLtMatmulPreferenceCreate");
  need(library.preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  need(library.preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
  need(library.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  need(library.algorithmCheck, "cublasLtMatmulAlgoCheck");
  need(library.algorithmGet, "cublasLtMatmulAlgoConfigGetAttribute");
  if (!missing)
    return Error::success();
  return llvm::createStringError("function '%s' is missing", missing);
}

// A forced path and a link may lead to any version.
static Error readVersion(Library &library, unsigned maxMajor) {
  library.version = library.getVersion();
  uint64_t major = library.version / 10000;
  uint64_t newest = maxMajor ? std::min(maxMajor, kNewestMajor) : kNewestMajor;
  if (major >= kOldestMajor && major <= newest)
    return Error::success();
  return llvm::createStringError("expected version %u to %u, found %u",
                                 kOldestMajor, static_cast<unsigned>(newest),
                                 static_cast<unsigned>(major));
}

static Error openOne(Library &library, const std::string &name,
                     unsigned maxMajor) {
  Expected<SharedLibrary> opened = SharedLibrary::open(name);
  if (!opened)
    return opened.takeError();
  library.symbols = *opened;
  library.path = name;
  if (Error error = findFunctions(library))
    return error;
  return readVersion(library, maxMajor);
}

Expected<std::shared_ptr<const Library>> Library::open(unsigned maxMajor) {
  std::string last;
  for (const std::string &name : candidates(maxMajor)) {
    auto library = std::make_shared<Library>();
    Error error = openOne(*library, name, maxMajor);
    if (!error)
      return library;
    last = name + ": " + llvm::toString(std::move(error));
  }
  if (forcedPath())
    return llvm::createStringError(
        "cannot open cuBLASLt, which FUSEC_CUBLASLT names: %s", last.c_str());
  return llvm::createStringError(
      "cannot open cuBLASLt; set FUSEC_CUBLASLT to the path of libcublasLt.so, "
      "or install it with a CUDA toolkit");
}

Error Library::check(Status status, const char *function) const {
  if (status == 0)
    return Error::success();
  const char *text = statusString(status);
  return llvm::createStringError("%s failed with code %d%s%s", function, status,
                                 text ? ": " : "", text ? text : "");
}
