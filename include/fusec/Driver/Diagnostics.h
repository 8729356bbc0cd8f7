//===- Diagnostics.h - diagnostics as errors --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DRIVER_DIAGNOSTICS_H
#define FUSEC_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace fusec::driver {

/// Collects the errors that MLIR reports while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return;
          llvm::raw_string_ostream os(text);
          if (!text.empty())
            os << '\n';
          if (!llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
            os << diagnostic.getLocation() << ": ";
          os << diagnostic;
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            os << "\n  note: " << note;
        }) {}

  /// Forgets what was reported.
  void clear() { text.clear(); }

  /// What was reported, or `otherwise` if nothing was.
  llvm::Error take(llvm::StringRef otherwise) {
    return llvm::createStringError(text.empty() ? otherwise.str() : text);
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fusec::driver

#endif // FUSEC_DRIVER_DIAGNOSTICS_H
