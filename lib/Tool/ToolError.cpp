//===- ToolError.cpp - errors with exit codes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ToolError.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::tool;

char ToolError::ID;

void ToolError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code ToolError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error fusec::tool::toolError(ExitCode code, const llvm::Twine &message,
                                   const llvm::Twine &remedy) {
  return llvm::make_error<ToolError>(code, message.str(), remedy.str());
}

llvm::Error fusec::tool::withCode(ExitCode code, llvm::Error error,
                                  const llvm::Twine &remedy) {
  if (!error || error.isA<ToolError>())
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

std::string fusec::tool::quoted(const llvm::Twine &twine) {
  llvm::SmallString<64> storage;
  llvm::StringRef text = twine.toStringRef(storage);
  std::string result = "'";
  llvm::raw_string_ostream os(result);
  os.write_escaped(text.take_front(256), /*UseHexEscapes=*/true);
  if (text.size() > 256)
    os << "...";
  return result + "'";
}
