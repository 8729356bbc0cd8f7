//===- ToolError.h - errors with exit codes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_TOOLERROR_H
#define FUSEC_LIB_TOOL_TOOLERROR_H

#include "fusec/Session/Error.h"

namespace fusec::tool {

/// Exit codes of `fusec`.
enum class ExitCode : int {
  Ok = 0,
  /// Everything ran, and a result is not what was expected.
  WrongResult = 1,
  /// The command line or an input file is not right.
  Usage = 2,
  /// The input is right, and fusec has no way to do it yet.
  Unsupported = 3,
  /// The wanted device, driver or compiler is not there.
  NoDevice = 4,
  /// A kernel failed to compile or run.
  Failed = 5,
};

/// Every code with its meaning, for --help.
llvm::ArrayRef<std::pair<ExitCode, llvm::StringRef>> exitCodes();

/// A message, what the user can do about it, and the exit code.
class ToolError : public llvm::ErrorInfo<ToolError> {
public:
  static char ID;
  ToolError(ExitCode code, std::string message, std::string remedy)
      : code(code), message(std::move(message)), remedy(std::move(remedy)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  ExitCode code;
  std::string message;
  /// May be empty.
  std::string remedy;
};

/// A ToolError. The message is lower case without a trailing period.
llvm::Error toolError(ExitCode code, const llvm::Twine &message,
                      const llvm::Twine &remedy = "");

/// `error` with an exit code; a ToolError keeps its own, and the class of a
/// SessionError decides. Success stays success.
llvm::Error withCode(ExitCode code, llvm::Error error,
                     const llvm::Twine &remedy = "");

/// Prints `error` to stderr and returns its exit code (Failed if it has none).
ExitCode report(llvm::Error error);

using session::quoted;

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_TOOLERROR_H
