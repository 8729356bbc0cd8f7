//===- switch.h - which mutant is on --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Put before every file that test/mutation/mutate changes; never part of a
// normal build. FUSEC_MUTANT is the number of the mutant that is on, and
// FUSEC_MUTANTS_REACHED a file whose byte N becomes 1 when the site of mutant N
// is evaluated, by this process or one that it starts.
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma clang diagnostic ignored "-Weverything"

namespace fusec_mutation {
inline constexpr unsigned kMost = 1 << 19;
inline unsigned char nowhere[kMost];
inline unsigned char *reached = nowhere;
inline unsigned active = 0;

/// Before every other initialiser, in each file; the first does it.
__attribute__((constructor(101))) static void start() {
  if (const char *number = getenv("FUSEC_MUTANT"))
    active = static_cast<unsigned>(atoi(number));
  const char *path = getenv("FUSEC_MUTANTS_REACHED");
  if (!path || reached != nowhere)
    return;
  int file = open(path, O_RDWR);
  if (file < 0)
    return;
  void *map = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map != MAP_FAILED)
    reached = static_cast<unsigned char *>(map);
  close(file);
}
} // namespace fusec_mutation

inline bool fusecMutant(unsigned number) {
  fusec_mutation::reached[number] = 1;
  return fusec_mutation::active == number;
}
