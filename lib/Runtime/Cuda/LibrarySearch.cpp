//===- LibrarySearch.cpp - where CUDA's libraries may be ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LibrarySearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace fusec::runtime;
namespace fs = llvm::sys::fs;

// Folders directly inside `parent` whose names start with `prefix`, sorted
// from the highest name down.
static std::vector<std::string> subfolders(const std::string &parent,
                                           llvm::StringRef prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; it != end && !error;
       it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with(prefix))
      found.push_back(it->path());
  llvm::sort(found, std::greater<>());
  return found;
}

// Where a CUDA toolkit may be: what the environment says, then /usr/local.
static std::vector<std::string> toolkits() {
  std::vector<std::string> found;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(name); value && *value)
      found.push_back(value);
  llvm::append_range(found, subfolders("/usr/local", "cuda"));
  found.push_back("/opt/cuda");
  return found;
}

static std::vector<std::string>
foldersToSearch(llvm::ArrayRef<std::string> directories, bool systemPlaces) {
  std::vector<std::string> folders;
  if (systemPlaces)
    for (const std::string &toolkit : toolkits())
      for (const char *place : {"/lib64", "/targets/x86_64-linux/lib", "/lib"})
        folders.push_back(toolkit + place);
  for (const std::string &folder : directories) {
    folders.push_back(folder);
    for (const std::string &package : subfolders(folder + "/nvidia", ""))
      folders.push_back(package + "/lib");
  }
  return folders;
}

std::vector<std::string>
fusec::runtime::librariesToTry(llvm::ArrayRef<std::string> files,
                               llvm::ArrayRef<std::string> directories,
                               bool systemPlaces) {
  std::vector<std::string> folders = foldersToSearch(directories, systemPlaces);
  std::vector<std::string> names;
  for (const std::string &file : files) {
    if (systemPlaces)
      names.push_back(file);
    for (const std::string &folder : folders)
      if (fs::exists(folder + "/" + file))
        names.push_back(folder + "/" + file);
  }
  return names;
}
