//===- EmulatorReport.h - faults found by the emulator ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_EMULATOR_EMULATORREPORT_H
#define FUSEC_RUNTIME_EMULATOR_EMULATORREPORT_H

#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fusec::runtime {

/// What a kernel did wrong.
enum class EmulatorFault : uint8_t {
  OutOfBounds,       ///< an access outside its buffer or shared array
  Misaligned,        ///< an access not aligned to its size (16 bytes at most)
  UninitialisedRead, ///< global or shared memory read before it was written
  GlobalRace,        ///< two blocks, one byte, one writes, no atomic between
  SharedRace,        ///< two threads, one word, no barrier, at least one write
  PendingCopy,       ///< shared memory touched before the wait for its copy
  PendingRead,       ///< overwritten while an asynchronous operation reads it
  ProxyFence,        ///< no fence between a thread's write and the async proxy
  WgmmaOrder,        ///< registers of a wgmma touched before its wait, no fence
  MbarrierMisuse,    ///< not made, too many arrivals or bytes, a phase missed
  NoGridWait,        ///< global memory touched before grid_wait
  ClusterExit,       ///< a block may end while a peer accesses its memory
  DivergentBarrier,  ///< a barrier or warp function that not all threads reach
  Deadlock,          ///< threads wait for what nobody will do
  InvalidArgument,   ///< a barrier id, count, size or tensor map out of range
  StepLimit,         ///< the watchdog ran out
};

/// One fault. `line` counts from 1 in the kernel's text.
struct EmulatorReport {
  EmulatorFault fault;
  std::string kernel;
  int line = 0;
  std::array<uint32_t, 3> block = {0, 0, 0};
  uint32_t thread = 0;
  /// What was expected and found.
  std::string detail;

  /// "k_3f2a:12: ... (block 0,0,0, thread 5)".
  std::string str() const;
};

/// The faults of a launch, the first ones in full.
class EmulatorError : public llvm::ErrorInfo<EmulatorError> {
public:
  static char ID;
  EmulatorError(std::vector<EmulatorReport> reports, uint64_t total)
      : reports(std::move(reports)), total(total) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  std::vector<EmulatorReport> reports;
  /// Faults in all, those not kept included.
  uint64_t total;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_EMULATOR_EMULATORREPORT_H
