//===- DeviceBench.h - candidates on a device -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TUNE_DEVICEBENCH_H
#define FUSEC_TUNE_DEVICEBENCH_H

#include "fusec/Runtime/Executable.h"
#include "fusec/Runtime/Measure.h"
#include "fusec/Tune/Search.h"

#include <map>

namespace fusec::tune {

/// Runs candidates on a device. All candidates of a task read and write the
/// same buffers: random inputs in so many sets, used in turn, that they have
/// left the cache when they are used again, and others for judging. Kernels of
/// a task are compiled together, by as many threads as the device's compiler
/// has.
class DeviceBench : public Bench {
public:
  static llvm::Expected<std::unique_ptr<DeviceBench>>
  create(std::shared_ptr<runtime::Device> device);
  ~DeviceBench() override;

  llvm::Expected<std::vector<std::string>>
  load(const Candidates &task) override;
  llvm::Expected<std::vector<HostTensor>> run(size_t candidate,
                                              Data data) override;
  /// The median of one launch on each of up to kOccupiedLaunches sets, by
  /// events on the stream.
  llvm::Expected<double> time(size_t candidate) override;
  /// The host's clock.
  double now() override;
  llvm::Expected<std::vector<runtime::VendorAlgorithm>>
  vendorAlgorithms(const runtime::MatrixProduct &product, size_t most) override;

protected:
  /// `begin` makes it usable.
  explicit DeviceBench(std::shared_ptr<runtime::Device> device);
  llvm::Error begin();

private:
  struct Set;
  llvm::Expected<std::unique_ptr<Set>> makeSet(const runtime::Program &program,
                                               Data data);
  llvm::Error launch(size_t candidate, Set &set);

  std::shared_ptr<runtime::Device> device;
  std::optional<runtime::Occupier> occupier;
  std::vector<runtime::Event> events;
  /// Of the task: null where a candidate failed.
  std::vector<std::unique_ptr<runtime::ExecutionContext>> contexts;
  std::vector<std::unique_ptr<Set>> sets;
  /// Of data that is not random; made when it is first asked for.
  std::map<Data, std::unique_ptr<Set>> others;
  size_t next = 0;
};

} // namespace fusec::tune

#endif // FUSEC_TUNE_DEVICEBENCH_H
