//===- CacheFolder.cpp - files of the disk cache --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CacheFolder.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

static constexpr llvm::StringLiteral kTemporaryPrefix = ".tmp-";
// Nothing that a compiler makes is larger.
static constexpr off_t kMaxFileBytes = off_t(1) << 30;
static constexpr int64_t kStaleNanoseconds = 3600 * int64_t(1'000'000'000);

static std::error_code systemCode(int code) {
  return {code, std::generic_category()};
}

static bool isOurs(const struct stat &info) {
  return info.st_uid == ::geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

// A file system of a network may be busy, or lose a file between two calls.
template <typename Call>
static auto retry(Call call) {
  auto result = call();
  for (int i = 0; i < 3 && result < 0 && (errno == EINTR || errno == ESTALE);
       ++i)
    result = call();
  return result;
}

namespace {
struct FileHandle {
  explicit FileHandle(int fd) : fd(fd) {}
  FileHandle(const FileHandle &) = delete;
  ~FileHandle() {
    if (fd >= 0)
      ::close(fd);
  }
  int fd;
};
} // namespace

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

// Makes every missing folder of `path`. What exists is looked at later.
static void makeFolders(const std::string &path) {
  for (size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

Expected<CacheFolder> CacheFolder::open(const std::string &path, bool create) {
  std::string trimmed = llvm::StringRef(path).rtrim('/').str();
  if (create)
    makeFolders(trimmed);
  int fd = retry([&] {
    return ::open(trimmed.c_str(),
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  });
  if (fd < 0)
    // A link is reported as one or as not being a folder.
    return llvm::createStringError(systemCode(errno),
                                   "cannot open the folder: %s",
                                   systemCode(errno).message().c_str());
  CacheFolder folder(fd);
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return llvm::createStringError(systemCode(errno),
                                   systemCode(errno).message());
  if (!isOurs(info))
    return llvm::createStringError(
        systemCode(EPERM),
        "expected a folder that this user owns and nobody else may write to");
  return folder;
}

CacheFolder::CacheFolder(CacheFolder &&other) noexcept
    : fd(std::exchange(other.fd, -1)) {}
CacheFolder::~CacheFolder() {
  if (fd >= 0)
    ::close(fd);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

CacheFolder::Read CacheFolder::read(const std::string &name,
                                    std::string &contents) const {
  // Without O_NONBLOCK a planted pipe would stop us.
  FileHandle file(retry([&] {
    return ::openat(fd, name.c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  }));
  if (file.fd < 0)
    return errno == ELOOP ? Read::Refused : Read::Missing;
  struct stat info;
  if (::fstat(file.fd, &info) != 0)
    return Read::Missing;
  if (!S_ISREG(info.st_mode) || !isOurs(info) || info.st_size > kMaxFileBytes)
    return Read::Refused;
  contents.resize(info.st_size);
  size_t done = 0;
  while (done < contents.size()) {
    ssize_t count = retry([&] {
      return ::pread(file.fd, &contents[done], contents.size() - done, done);
    });
    if (count < 0)
      return Read::Missing;
    if (count == 0)
      break; // a file that got shorter does not verify
    done += count;
  }
  contents.resize(done);
  return Read::Ok;
}

void CacheFolder::touch(const std::string &name) const {
  struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  ::utimensat(fd, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

// A name that no other process and no other thread takes.
static std::string temporaryName() {
  static std::atomic<uint64_t> counter{0};
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return (kTemporaryPrefix + std::to_string(::getpid()) + "-" +
          std::to_string(now.tv_sec) + std::to_string(now.tv_nsec) + "-" +
          std::to_string(counter++))
      .str();
}

static int writeAll(int fd, llvm::StringRef contents) {
  while (!contents.empty()) {
    ssize_t count =
        retry([&] { return ::write(fd, contents.data(), contents.size()); });
    if (count < 0)
      return errno;
    contents = contents.drop_front(count);
  }
  return retry([&] { return ::fsync(fd); }) == 0 ? 0 : errno;
}

std::optional<std::string> CacheFolder::writeTemporary(llvm::StringRef contents,
                                                       int &error) const {
  std::string name = temporaryName();
  FileHandle file(::openat(fd, name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0600));
  error = file.fd < 0 ? errno : writeAll(file.fd, contents);
  if (error == 0)
    return name;
  if (file.fd >= 0)
    ::unlinkat(fd, name.c_str(), 0);
  return std::nullopt;
}

// Gives the file a further name. Not by a plain link, which would fail where
// the name exists.
int CacheFolder::giveName(const std::string &temporary,
                          const std::string &name) const {
  std::string step = temporaryName();
  if (::linkat(fd, temporary.c_str(), fd, step.c_str(), 0) != 0)
    return errno;
  int error = ::renameat(fd, step.c_str(), fd, name.c_str()) == 0 ? 0 : errno;
  // Renaming onto a link of the same file leaves both.
  ::unlinkat(fd, step.c_str(), 0);
  return error;
}

Error CacheFolder::write(llvm::ArrayRef<std::string> names,
                         llvm::StringRef contents) const {
  int error = 0;
  std::optional<std::string> temporary = writeTemporary(contents, error);
  for (size_t i = 0; temporary && error == 0 && i + 1 < names.size(); ++i) {
    error = giveName(*temporary, names[i]);
    if (error == 0)
      continue;
    // A file system without links: a file of its own.
    std::optional<std::string> copy = writeTemporary(contents, error);
    if (copy && ::renameat(fd, copy->c_str(), fd, names[i].c_str()) != 0) {
      error = errno;
      ::unlinkat(fd, copy->c_str(), 0);
    }
  }
  if (temporary && error == 0 && !names.empty() &&
      ::renameat(fd, temporary->c_str(), fd, names.back().c_str()) != 0)
    error = errno;
  if (temporary)
    ::unlinkat(fd, temporary->c_str(), 0);
  if (error)
    return llvm::createStringError(systemCode(error),
                                   systemCode(error).message());
  return Error::success();
}

void CacheFolder::remove(const std::string &name) const {
  ::unlinkat(fd, name.c_str(), 0);
}

//===----------------------------------------------------------------------===//
// Listing
//===----------------------------------------------------------------------===//

static int64_t modified(const struct stat &info) {
  return int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// Calls `visit` with each name; a folder that vanishes has none.
template <typename Visit>
static void forEachName(int fd, Visit visit) {
  // A second description: reading positions are not shared between threads.
  int copy = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!dir) {
    if (copy >= 0)
      ::close(copy);
    return;
  }
  while (struct dirent *entry = ::readdir(dir))
    visit(std::string(entry->d_name));
  ::closedir(dir);
}

std::vector<CacheFolder::File> CacheFolder::list(llvm::StringRef suffix) const {
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::map<std::pair<dev_t, ino_t>, File> files;
  forEachName(fd, [&](const std::string &name) {
    bool temporary = llvm::StringRef(name).starts_with(kTemporaryPrefix);
    if (!temporary && !llvm::StringRef(name).ends_with(suffix))
      return;
    struct stat info;
    if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return;
    if (temporary) {
      if (now.tv_sec * int64_t(1'000'000'000) - modified(info) >
          kStaleNanoseconds)
        remove(name);
      return;
    }
    File &file = files[{info.st_dev, info.st_ino}];
    file.names.push_back(name);
    file.bytes = info.st_size;
    file.time = modified(info);
  });
  std::vector<File> sorted;
  for (auto &[node, file] : files) {
    llvm::sort(file.names);
    sorted.push_back(std::move(file));
  }
  llvm::sort(sorted, [](const File &a, const File &b) {
    return std::tie(a.time, a.names) < std::tie(b.time, b.names);
  });
  return sorted;
}

void CacheFolder::removeTemporaries() const {
  forEachName(fd, [&](const std::string &name) {
    if (llvm::StringRef(name).starts_with(kTemporaryPrefix))
      remove(name);
  });
}
