//===- Status.cpp - errors, text and versions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Status.h"
#include "fusec/Session/Error.h"
#include "fusec/Support/DType.h"

#include <cstdlib>
#include <new>

using namespace fusec;
using namespace fusec::api;

/// What is returned when not even an error can be allocated.
static fusec_error &outOfMemory() {
  static fusec_error error{FUSEC_OUT_OF_MEMORY, "no memory"};
  return error;
}

fusec_error *api::makeError(fusec_code code, const llvm::Twine &message) {
  auto *error = new (std::nothrow) fusec_error{code, {}};
  if (!error)
    return &outOfMemory();
  error->message = message.str();
  return error;
}

static fusec_code codeOf(session::ErrorClass kind, fusec_code invalid) {
  switch (kind) {
  case session::ErrorClass::InvalidArgument:
    return invalid;
  case session::ErrorClass::Unsupported:
    return FUSEC_UNSUPPORTED;
  case session::ErrorClass::NoDevice:
    return FUSEC_NO_DEVICE;
  case session::ErrorClass::OutOfMemory:
    return FUSEC_OUT_OF_MEMORY;
  case session::ErrorClass::Failed:
    break;
  }
  return FUSEC_FAILED;
}

fusec_error *api::toError(llvm::Error error, fusec_code otherwise,
                          fusec_code invalid) {
  if (!error)
    return nullptr;
  fusec_code code = otherwise;
  std::string message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const session::SessionError &info) {
        code = codeOf(info.kind, invalid);
        message += (message.empty() ? "" : "\n") + info.message;
      },
      [&](const llvm::ErrorInfoBase &info) {
        if (info.convertToErrorCode() ==
            std::make_error_code(std::errc::not_enough_memory))
          code = FUSEC_OUT_OF_MEMORY;
        message += (message.empty() ? "" : "\n") + info.message();
      });
  return makeError(code, message);
}

fusec_error *api::requireNotNull(const void *pointer, const char *what) {
  if (pointer)
    return nullptr;
  return makeError(FUSEC_INVALID_ARGUMENT,
                   llvm::Twine(what) + ": expected a pointer, found null");
}

char *api::copyString(llvm::StringRef text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

//===----------------------------------------------------------------------===//
// The API
//===----------------------------------------------------------------------===//

fusec_code fusec_error_code(const fusec_error *error) {
  return error ? error->code : FUSEC_OK;
}
const char *fusec_error_message(const fusec_error *error) {
  return error ? error->message.c_str() : "";
}
void fusec_error_free(fusec_error *error) {
  if (error != &outOfMemory())
    delete error;
}
void fusec_string_free(char *text) { std::free(text); }

uint32_t fusec_version(void) {
  return FUSEC_VERSION_MAJOR * 10000 + FUSEC_VERSION_MINOR * 100 +
         FUSEC_VERSION_PATCH;
}
#define FUSEC_TEXT2(x) #x
#define FUSEC_TEXT(x) FUSEC_TEXT2(x)
const char *fusec_version_string(void) {
  return FUSEC_TEXT(FUSEC_VERSION_MAJOR) "." FUSEC_TEXT(
      FUSEC_VERSION_MINOR) "." FUSEC_TEXT(FUSEC_VERSION_PATCH);
}

// The numbers of fusec_dtype are those of DType.
static_assert(FUSEC_F64 == int(DType::F64) &&
              FUSEC_F8E5M2 == int(DType::F8E5M2) &&
              FUSEC_I64 == int(DType::I64) && FUSEC_U4 == int(DType::U4) &&
              FUSEC_BOOL == int(DType::Bool));

const char *fusec_dtype_name(fusec_dtype dtype) {
  if (dtype < FUSEC_F64 || dtype > FUSEC_BOOL)
    return nullptr;
  return name(static_cast<DType>(dtype)).data();
}
size_t fusec_dtype_bytes(fusec_dtype dtype) {
  if (dtype < FUSEC_F64 || dtype > FUSEC_BOOL)
    return 0;
  return byteSize(static_cast<DType>(dtype));
}
