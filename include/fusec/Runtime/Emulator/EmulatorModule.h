//===- EmulatorModule.h - run kernel text on the CPU ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the very text that NVRTC gets with a host compiler and the emulator
// prelude, and runs it thread by thread as a GPU would: blocks, warps,
// barriers, shared memory, tensor-core instructions. Every memory access is
// checked; faults are reported with kernel, line, block and thread.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_EMULATOR_EMULATORMODULE_H
#define FUSEC_RUNTIME_EMULATOR_EMULATORMODULE_H

#include "fusec/Runtime/Emulator/EmulatorReport.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fusec::runtime {

/// Memory that a kernel may touch through a pointer argument into it.
struct EmulatorBuffer {
  void *data = nullptr;
  uint64_t bytes = 0;
  /// For reports.
  std::string name;
  /// One byte per byte of the buffer, not zero once it was written; reading
  /// before is a fault. Null: everything counts as written.
  uint8_t *written = nullptr;
};

/// The buffers of a launch. An access belongs to the buffer that its pointer
/// argument points into, and must stay inside it. Not thread-safe.
class EmulatorMemory {
public:
  enum class Contents : uint8_t { Initialised, Uninitialised };

  /// Makes [data, data + bytes) known. The memory stays the caller's and must
  /// outlive its use. Fails on an overlap with another buffer; the same start
  /// again replaces the older entry.
  llvm::Error registerBuffer(void *data, uint64_t bytes, llvm::StringRef name,
                             Contents contents = Contents::Initialised);
  /// Forgets the buffer that starts at `data`, if there is one.
  void unregisterBuffer(const void *data);
  llvm::ArrayRef<EmulatorBuffer> buffers() const { return list; }

private:
  std::vector<EmulatorBuffer> list; // sorted by address
  std::vector<std::unique_ptr<uint8_t[]>> shadows;
};

/// A kernel as text on the prelude; `entry` is the name given to FUSEC_KERNEL
/// and FUSEC_EXPORT.
struct EmulatorKernel {
  llvm::StringRef entry;
  llvm::StringRef source;
};

/// How a batch of kernels is compiled.
struct EmulatorCompileOptions {
  /// Path or name of a C++17 compiler; empty takes the first of clang++-22,
  /// clang++, g++ and c++ on PATH.
  std::string compiler;
  /// 0 compiles five times faster, 1 runs several times faster.
  unsigned optLevel = 1;
  /// Off: loads and stores are plain ones (synchronisation faults are still
  /// reported).
  bool checks = true;
  /// Text put between the prelude and the kernels: device headers they use.
  std::string preamble;
  /// As Kernel::alignment, for all kernels.
  uint32_t alignment = 16;
  /// As those of a Kernel, for all kernels.
  uint32_t rolledColumns = 0, rolledUnit = 0, rolledFirst = 0;
  /// The kernels use what only sm_90a has.
  bool sm90 = false;
};

/// One launch. `args[i]` points at the value of parameter i, as for
/// cuLaunchKernel.
struct EmulatorLaunch {
  llvm::StringRef entry;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  uint32_t threads = 1;
  uint32_t dynamicSharedBytes = 0;
  void **args = nullptr;
  /// Blocks of a cluster; they run together.
  uint32_t cluster = 1;
  /// All blocks run together, as for a FUSEC_KERNEL_GRID.
  bool cooperative = false;
  /// Each thread must call grid_wait before it touches global memory.
  bool overlaps = false;
};

/// When asynchronous operations (copies, background stores, warpgroup products)
/// end.
enum class EmulatorCompletion : uint8_t {
  Late,  ///< when something waits that cannot go on without them
  Issue, ///< at once
  Random ///< at times drawn with the seed, in any order
};

/// How a launch runs.
struct EmulatorRunOptions {
  /// OS threads that run blocks; 0 takes all cores (16 at most).
  unsigned osThreads = 0;
  /// Prelude calls per block after which it counts as hanging.
  uint64_t stepLimit = 4'000'000'000ull;
  /// Faults kept in full; the rest is only counted.
  unsigned reportLimit = 8;
  /// The environment variable FUSEC_EMULATOR_COMPLETION, if set, takes
  /// precedence over both: late, issue or random:SEED.
  EmulatorCompletion completion = EmulatorCompletion::Late;
  uint32_t seed = 1;
};

/// A batch of loaded kernels. Immutable: launches may run at the same time.
class EmulatorModule {
public:
  /// Compiles all kernels in one translation unit and loads them. Fails with
  /// the compiler's log (its locations are `entry:line`), when no compiler is
  /// found, or when an entry is missing or named twice.
  static llvm::Expected<std::unique_ptr<EmulatorModule>>
  compile(llvm::ArrayRef<EmulatorKernel> kernels,
          const EmulatorCompileOptions &options = {});
  ~EmulatorModule();

  /// Threads per block that the text of `entry` was made for; 0 if unknown.
  uint32_t maxThreads(llvm::StringRef entry) const;

  /// Runs a launch to its end. Fails with EmulatorError when the kernel did
  /// something wrong (no such access was performed) and with a plain message
  /// when the launch itself is impossible. A grid with a zero does nothing.
  llvm::Error launch(const EmulatorLaunch &launch,
                     llvm::ArrayRef<EmulatorBuffer> buffers,
                     const EmulatorRunOptions &options = {}) const;

private:
  struct Impl;
  explicit EmulatorModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_EMULATOR_EMULATORMODULE_H
