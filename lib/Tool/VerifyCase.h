//===- VerifyCase.h - one data set of an ONNX test case ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_VERIFYCASE_H
#define FUSEC_LIB_TOOL_VERIFYCASE_H

#include "Compare.h"
#include "Session.h"
#include "llvm/Support/JSON.h"

namespace fusec::tool {

/// What becomes of a data set.
enum class Verdict {
  Pass,
  /// A result is not what was expected.
  Fail,
  /// fusec cannot do it yet.
  Unsupported,
  /// Bad input, no device, or a kernel that failed.
  Error,
  /// The process died.
  Crash,
  /// The process was stopped at the time limit.
  Timeout,
};
/// "PASS", ...
llvm::StringRef word(Verdict verdict);

/// The outcome of one data set.
struct Outcome {
  Verdict verdict = Verdict::Pass;
  ExitCode code = ExitCode::Ok;
  std::string message;
  double maxRelative = 0, maxAbsolute = 0, maxScaled = 0;
  double seconds = 0;
};

/// The outcome that an error makes.
Outcome outcomeOf(llvm::Error error);

/// One line of text and back: outcomes cross from a child process. Nothing if
/// the text is not an outcome.
std::string toLine(const Outcome &outcome);
std::optional<Outcome> fromLine(llvm::StringRef line);

/// A data set to run.
struct DataSet {
  /// With model.onnx.
  std::string caseFolder;
  /// With input_0.pb, output_0.pb, ...; empty if the case has none.
  std::string folder;
  /// As reports name it.
  std::string label;
};

/// The data sets of the case in `folder`; one without a folder if it has none.
std::vector<DataSet> dataSets(llvm::StringRef folder);

/// Folders directly in `folder` whose name starts with `prefix`, sorted.
llvm::Expected<std::vector<std::string>> subfolders(llvm::StringRef folder,
                                                    llvm::StringRef prefix);

/// How data sets are run.
struct CaseSettings {
  Target target;
  driver::CompileOptions options;
  ToleranceOptions tolerance;
  /// Where outputs are written, as DIR/CASE/SET/output_0.npy; empty: nowhere.
  std::string out;
};

/// Runs `set` and compares. Everything that can go wrong is in the outcome.
Outcome runDataSet(const DataSet &set, const CaseSettings &settings);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_VERIFYCASE_H
