//===- Progress.cpp - one line on a terminal ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Progress.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace fusec::tool;

/// Longer lines would wrap, and a wrapped line cannot be written over.
static constexpr size_t kMaxColumns = 78;
static constexpr std::chrono::milliseconds kInterval(100);

Progress::Progress(const Arguments &arguments)
    : active(!arguments.has("quiet") && ::isatty(STDERR_FILENO)) {}

void Progress::show(const llvm::Twine &text) {
  if (!active)
    return;
  auto now = std::chrono::steady_clock::now();
  if (dirty && now - last < kInterval)
    return;
  last = now;
  dirty = true;
  std::string line = text.str();
  // Names come from files: no control characters to the terminal.
  for (char &c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      c = '?';
  llvm::errs() << "\r\x1b[K" << llvm::StringRef(line).take_front(kMaxColumns);
}

void Progress::clear() {
  if (dirty)
    llvm::errs() << "\r\x1b[K";
  dirty = false;
}
