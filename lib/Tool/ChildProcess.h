//===- ChildProcess.h - work that may crash or hang -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked copy of this process does the work and writes lines; the parent
// reads them and outlives whatever happens to the child. Fork only while the
// process has one thread and no CUDA context.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_CHILDPROCESS_H
#define FUSEC_LIB_TOOL_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace fusec::tool {

/// A running child. Not copied; killed with all that it started if it is still
/// running when this is destroyed.
class ChildProcess {
public:
  /// Runs `body` in a child; what it writes arrives as lines. The child ends
  /// when `body` returns, and with this process.
  static llvm::Expected<ChildProcess>
  start(llvm::function_ref<void(llvm::raw_ostream &)> body);
  ChildProcess(ChildProcess &&other);
  ChildProcess &operator=(ChildProcess &&) = delete;
  ~ChildProcess() { kill(); }

  enum class Event {
    /// `line` is the next line, without its end.
    Line,
    /// The child has closed its end.
    End,
    /// `seconds` passed without a line.
    Timeout,
  };
  /// Waits for the next line, at most `seconds`; 0 waits for ever.
  Event next(std::string &line, double seconds);

  /// Waits for the end. Empty if `body` returned, else how the child died:
  /// "signal 11 (Segmentation fault)". Call once, after Event::End.
  std::string wait();
  void kill();

private:
  ChildProcess(int pid, int pipe) : pid(pid), pipe(pipe) {}

  int pid;
  int pipe;
  std::string buffer;
};

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_CHILDPROCESS_H
