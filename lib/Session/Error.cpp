//===- Error.cpp - errors with a class ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::session;

char SessionError::ID;

void SessionError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code SessionError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error fusec::session::sessionError(ErrorClass kind,
                                         const llvm::Twine &message) {
  return llvm::make_error<SessionError>(kind, message.str());
}

llvm::Error fusec::session::withClass(ErrorClass kind, llvm::Error error) {
  if (!error || error.isA<SessionError>())
    return error;
  bool isMemory = false;
  error = llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<llvm::ErrorInfoBase> info) -> llvm::Error {
        isMemory |= info->convertToErrorCode() ==
                    std::make_error_code(std::errc::not_enough_memory);
        return llvm::Error(std::move(info));
      });
  return sessionError(isMemory ? ErrorClass::OutOfMemory : kind,
                      llvm::toString(std::move(error)));
}

std::string fusec::session::quoted(const llvm::Twine &twine) {
  llvm::SmallString<64> storage;
  llvm::StringRef text = twine.toStringRef(storage);
  std::string result = "'";
  llvm::raw_string_ostream os(result);
  os.write_escaped(text.take_front(256), /*UseHexEscapes=*/true);
  if (text.size() > 256)
    os << "...";
  return result + "'";
}
