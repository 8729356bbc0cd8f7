//===- Error.hpp - errors, results and handles ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_API_ERROR_HPP
#define FUSEC_API_ERROR_HPP

#include "fusec-c/fusec.h"

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fusec {

/// What kind of thing went wrong; see fusec_code.
enum class Code : int32_t {
  Ok = FUSEC_OK,
  InvalidArgument = FUSEC_INVALID_ARGUMENT,
  InvalidGraph = FUSEC_INVALID_GRAPH,
  Unsupported = FUSEC_UNSUPPORTED,
  NoDevice = FUSEC_NO_DEVICE,
  Failed = FUSEC_FAILED,
  OutOfMemory = FUSEC_OUT_OF_MEMORY,
};

/// Success, or why a call failed. The compiler warns where one is dropped.
///
///   if (fusec::Error error = context.run(in, out))
///     return log(error.message());
class [[nodiscard]] Error {
public:
  /// Success.
  Error() = default;
  /// Takes an error of the C API; null is success.
  explicit Error(fusec_error *error) : handle(error) {}

  /// True if something went wrong.
  explicit operator bool() const { return handle != nullptr; }
  Code code() const {
    return static_cast<Code>(fusec_error_code(handle.get()));
  }
  /// Lower case, what was expected and found; empty for success. Lives as long
  /// as the error.
  const char *message() const { return fusec_error_message(handle.get()); }
  /// Gives the C error up.
  fusec_error *release() { return handle.release(); }

private:
  struct Free {
    void operator()(fusec_error *error) const { fusec_error_free(error); }
  };
  std::unique_ptr<fusec_error, Free> handle;
};

/// A value or the error that kept it from being made.
///
///   fusec::Expected<fusec::Graph> graph = fusec::Graph::fromFile(context, p);
///   if (!graph)
///     return log(graph.error().message());
///   use(*graph);
template <class T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : result(std::move(value)) {}
  Expected(Error error) : failure(std::move(error)) {
    assert(failure && "expected an error, found success");
  }

  /// True if there is a value.
  explicit operator bool() const { return result.has_value(); }
  /// The value; there must be one.
  T &operator*() {
    assert(result && "no value: look at error()");
    return *result;
  }
  const T &operator*() const {
    assert(result && "no value: look at error()");
    return *result;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }
  /// Success if there is a value.
  const Error &error() const { return failure; }
  /// Gives the error up, to return it.
  Error takeError() { return std::move(failure); }

private:
  std::optional<T> result;
  Error failure;
};

namespace detail {
/// Owns a handle of the C API.
template <class T, void (*Free)(T *)>
struct HandleFree {
  void operator()(T *handle) const { Free(handle); }
};
template <class T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, HandleFree<T, Free>>;
} // namespace detail

/// "0.1.0" of the library, which may be newer than these headers.
inline std::string_view version() { return fusec_version_string(); }

/// How much is logged.
enum class LogLevel : int32_t {
  Off = FUSEC_LOG_OFF,
  Warning = FUSEC_LOG_WARNING,
  Info = FUSEC_LOG_INFO,
};

/// Options of a context; see fusec_context_options.
struct ContextOptions {
  /// Receives messages with `logUser`, from any thread; null: none.
  fusec_log_callback log = nullptr;
  void *logUser = nullptr;
  LogLevel logLevel = LogLevel::Warning;
  /// Folder of compiled GPU kernels; empty: the user's.
  std::string cacheDirectory = {};
  /// 0 means 1 GiB.
  uint64_t cacheBytes = 0;
  /// False: no kernels are kept on disk.
  bool cache = true;
};

/// Settings and logging that graphs, devices and executables share; see
/// fusec_context. Thread-safe; there is no global state. Move-only.
class Context {
public:
  static Expected<Context> create(const ContextOptions &options = {}) {
    fusec_context_options raw = fusec_context_options_default();
    raw.log = options.log;
    raw.log_user = options.logUser;
    raw.log_level = static_cast<fusec_log_level>(options.logLevel);
    if (!options.cacheDirectory.empty())
      raw.cache_directory = options.cacheDirectory.c_str();
    raw.cache_bytes = options.cacheBytes;
    raw.cache_off = !options.cache;
    fusec_context *context = nullptr;
    if (Error error{fusec_context_create(&raw, &context)})
      return error;
    return Context(context);
  }
  /// Takes a C handle.
  explicit Context(fusec_context *context) : handle(context) {}
  /// The C handle, still owned by this.
  fusec_context *get() const { return handle.get(); }

private:
  detail::Handle<fusec_context, fusec_context_free> handle;
};

} // namespace fusec

#endif // FUSEC_API_ERROR_HPP
