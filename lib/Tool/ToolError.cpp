//===- ToolError.cpp - errors with exit codes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ToolError.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

static constexpr std::pair<ExitCode, llvm::StringRef> kExitCodes[] = {
    {ExitCode::Ok, "everything worked"},
    {ExitCode::WrongResult, "a result is wrong (`verify`, `run --against`), "
                            "`fuzz` has a finding of any kind, or "
                            "files of the cache were damaged"},
    {ExitCode::Usage, "the command line or an input file is not right"},
    {ExitCode::Unsupported, "the input is right, but fusec cannot do it yet"},
    {ExitCode::NoDevice,
     "the device, driver or compiler that was asked for is missing"},
    {ExitCode::Failed, "a kernel failed to compile or run; a case of `verify` "
                       "crashed or ran out of time"}};

llvm::ArrayRef<std::pair<ExitCode, llvm::StringRef>> fusec::tool::exitCodes() {
  return kExitCodes;
}

char ToolError::ID;

void ToolError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code ToolError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error fusec::tool::toolError(ExitCode code, const llvm::Twine &message,
                                   const llvm::Twine &remedy) {
  return llvm::make_error<ToolError>(code, message.str(), remedy.str());
}

static ExitCode toExitCode(session::ErrorClass kind) {
  switch (kind) {
  case session::ErrorClass::InvalidArgument:
    return ExitCode::Usage;
  case session::ErrorClass::Unsupported:
    return ExitCode::Unsupported;
  case session::ErrorClass::NoDevice:
    return ExitCode::NoDevice;
  case session::ErrorClass::Failed:
  case session::ErrorClass::OutOfMemory:
    break;
  }
  return ExitCode::Failed;
}

llvm::Error fusec::tool::withCode(ExitCode code, llvm::Error error,
                                  const llvm::Twine &remedy) {
  if (!error || error.isA<ToolError>())
    return error;
  error = llvm::handleErrors(
      std::move(error), [&](std::unique_ptr<session::SessionError> info) {
        return toolError(toExitCode(info->kind), info->message, remedy);
      });
  if (error.isA<ToolError>())
    return error;
  return toolError(code, llvm::toString(std::move(error)), remedy);
}

ExitCode fusec::tool::report(llvm::Error error) {
  ExitCode result = ExitCode::Ok;
  llvm::handleAllErrors(
      std::move(error),
      [&](const ToolError &info) {
        llvm::errs() << "fusec: error: " << info.message << '\n';
        if (!info.remedy.empty())
          llvm::errs() << "fusec: help: " << info.remedy << '\n';
        result = info.code;
      },
      [&](const llvm::ErrorInfoBase &info) {
        llvm::errs() << "fusec: error: " << info.message() << '\n';
        result = ExitCode::Failed;
      });
  return result;
}
