//===- Status.h - errors and structs across the C API -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every function of the API is made with: errors from llvm::Error, the
// guard that lets no exception out, checks of null, and the reading and writing
// of structs that carry their size.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_STATUS_H
#define FUSEC_LIB_API_STATUS_H

#include "fusec-c/fusec.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstring>
#include <string>

struct fusec_error {
  fusec_code code;
  std::string message;
};

namespace fusec::api {

/// An error; never null (a static one if memory is refused).
fusec_error *makeError(fusec_code code, const llvm::Twine &message);

/// Null for success. The class of a SessionError gives the code, `invalid` for
/// one about the caller's input; other errors get `otherwise`.
fusec_error *toError(llvm::Error error, fusec_code otherwise,
                     fusec_code invalid = FUSEC_INVALID_ARGUMENT);

/// Runs the body of an API function; refused memory becomes an error.
fusec_error *guard(llvm::function_ref<fusec_error *()> body);

/// Unlocks and abandons the graph that this thread holds, if any (GraphLock).
void abandonLockedGraph();

/// INVALID_ARGUMENT if `pointer` is null.
fusec_error *requireNotNull(const void *pointer, const char *what);

/// A new zero-terminated copy for fusec_string_free.
char *copyString(llvm::StringRef text);

/// Copies the caller's struct, which may be null, older or newer than ours.
/// `firstBytes` is the size of its first version.
template <class T>
fusec_error *readStruct(const T *from, size_t firstBytes, const char *name,
                        T &to) {
  to = T();
  if (!from)
    return nullptr;
  constexpr size_t kLargest = 4096;
  size_t bytes = from->size;
  if (bytes < firstBytes || bytes > kLargest)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     llvm::Twine(name) + ".size: expected " +
                         llvm::Twine(sizeof(T)) + ", found " +
                         llvm::Twine(bytes));
  std::memcpy(&to, from, std::min(bytes, sizeof(T)));
  const char *raw = reinterpret_cast<const char *>(from);
  for (size_t i = sizeof(T); i < bytes; ++i)
    if (raw[i])
      return makeError(FUSEC_UNSUPPORTED,
                       llvm::Twine(name) +
                           ": an option is set that this version of the "
                           "library does not know");
  return nullptr;
}

/// Copies `from` to the caller's struct as far as the caller knows it.
template <class T>
fusec_error *writeStruct(T from, size_t firstBytes, const char *name, T *to) {
  if (fusec_error *error = requireNotNull(to, name))
    return error;
  T known;
  if (fusec_error *error = readStruct(to, firstBytes, name, known))
    return error;
  from.size = to->size;
  std::memcpy(to, &from, std::min(to->size, sizeof(T)));
  return nullptr;
}

/// The end of a member: the size of a struct's version that ends with it.
#define FUSEC_END_OF(T, member) (offsetof(T, member) + sizeof(T::member))

} // namespace fusec::api

#endif // FUSEC_LIB_API_STATUS_H
