//===- Error.h - errors with a class ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_ERROR_H
#define FUSEC_SESSION_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace fusec::session {

/// What kind of thing went wrong; the tool has an exit code for each and the C
/// API an error code.
enum class ErrorClass : uint8_t {
  /// The caller's argument or file is not right.
  InvalidArgument,
  /// The input is right, and fusec has no way to do it yet.
  Unsupported,
  /// The device, driver or compiler is not there.
  NoDevice,
  /// A kernel failed to compile or run.
  Failed,
  /// Memory was refused.
  OutOfMemory,
};

/// A message with its class.
class SessionError : public llvm::ErrorInfo<SessionError> {
public:
  static char ID;
  SessionError(ErrorClass kind, std::string message)
      : kind(kind), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  ErrorClass kind;
  std::string message;
};

/// A SessionError. The message is lower case without a trailing period.
llvm::Error sessionError(ErrorClass kind, const llvm::Twine &message);

/// `error` with a class; a SessionError keeps its own, and refused memory
/// (std::errc::not_enough_memory) has one. Success stays success.
llvm::Error withClass(ErrorClass kind, llvm::Error error);

/// `text` between quotes, control bytes and bytes above ASCII escaped: names
/// from files may hold anything.
std::string quoted(const llvm::Twine &text);

} // namespace fusec::session

#endif // FUSEC_SESSION_ERROR_H
