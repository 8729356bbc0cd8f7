//===- EmulatorReport.cpp - faults found by the emulator ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Emulator/EmulatorReport.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::runtime;

char EmulatorError::ID = 0;

std::string EmulatorReport::str() const {
  return llvm::formatv("{0}:{1}: {2} (block {3},{4},{5}, thread {6})", kernel,
                       line, detail, block[0], block[1], block[2], thread)
      .str();
}

void EmulatorError::log(llvm::raw_ostream &os) const {
  os << "the emulator found " << total << (total == 1 ? " fault" : " faults");
  for (const EmulatorReport &report : reports)
    os << "\n  " << report.str();
  if (total > reports.size())
    os << "\n  and " << total - reports.size() << " more";
}

std::error_code EmulatorError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}
