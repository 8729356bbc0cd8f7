//===- Objects.h - what the handles of the C API hold -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_OBJECTS_H
#define FUSEC_LIB_API_OBJECTS_H

#include "Status.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Session/Build.h"

#include <mutex>

namespace fusec::api {

/// What a context holds: where messages go and compiled kernels are kept.
/// Immutable, thread-safe.
struct Settings {
  fusec_log_callback callback = nullptr;
  void *user = nullptr;
  fusec_log_level level = FUSEC_LOG_OFF;
  /// Null for none.
  std::shared_ptr<runtime::DiskCache> cache;

  bool enabled(fusec_log_level wanted) const { return level >= wanted; }
  void say(fusec_log_level wanted, const llvm::Twine &message) const;
};

/// A tensor as `fusec_tensor_info` describes it; the info's pointers are to
/// this object, which must not move once it was asked.
class TensorDescription {
public:
  explicit TensorDescription(const runtime::TensorSpec &spec);
  TensorDescription(std::string name, DType dtype,
                    std::optional<std::vector<int64_t>> shape,
                    std::vector<std::string> symbols);

  /// Fills the caller's struct.
  fusec_error *write(fusec_tensor_info *info) const;

private:
  std::string name;
  DType dtype;
  std::optional<std::vector<int64_t>> shape;
  std::vector<std::string> symbols;
  std::vector<const char *> symbolPointers;
  int64_t bytes = -1;
};

/// Descriptions by position, with the check of the position.
using TensorList = std::vector<TensorDescription>;
TensorList describe(llvm::ArrayRef<runtime::TensorSpec> specs);
fusec_error *writeTensor(const TensorList &list, size_t index, const char *kind,
                         fusec_tensor_info *info);

/// A graph: an ONNX file, a bound model, or both.
struct GraphData {
  std::shared_ptr<const Settings> settings;
  /// For messages.
  std::string name;
  /// Null unless it came from ONNX.
  std::shared_ptr<const onnx::Model> file;
  /// Empty while dimensions are open. Its context is guarded by `mutex`;
  /// compilations copy the module within it.
  std::optional<session::Model> model;
  TensorList inputs, outputs;
  mutable std::mutex mutex;
  /// Set where an exception left the model half changed: it is not used again.
  mutable bool isAbandoned = false;
};

/// Holds a graph's mutex. An exception runs no destructor of code built
/// without them: `guard` gives up the locks that it finds held.
class GraphLock {
public:
  explicit GraphLock(const GraphData &graph);
  ~GraphLock();
  GraphLock(const GraphLock &) = delete;
  GraphLock &operator=(const GraphLock &) = delete;
  /// An error if the graph must not be used.
  fusec_error *check() const;

private:
  const GraphData &graph;
};

/// Holds the mutexes of two graphs, which may be one.
class GraphPairLock {
public:
  GraphPairLock(const GraphData &a, const GraphData &b);
  fusec_error *check() const;

private:
  // In the order of their addresses, so that no two threads wait for each
  // other.
  GraphLock first;
  std::optional<GraphLock> second;
};

/// A new handle of a bound graph.
fusec_graph *makeGraph(std::shared_ptr<const Settings> settings,
                       std::string name, session::Model model);

/// An opened device.
struct DeviceData {
  std::shared_ptr<const Settings> settings;
  session::Target target;
  int32_t ordinal = 0;
};

/// A kernel as `fusec_kernel_info` describes it.
struct KernelDescription {
  std::vector<std::string> ops;
  std::vector<const char *> opPointers;
  uint32_t launches = 0;
  int64_t bytes = -1;
};

/// A compiled graph.
struct ExecutableData {
  std::shared_ptr<const Settings> settings;
  session::TargetKind kind = session::TargetKind::Host;
  /// What was planned for.
  TargetInfo machine = TargetInfo::h200();
  /// Null if it was only compiled; `program` is then set.
  std::shared_ptr<const DeviceData> device;
  std::shared_ptr<const runtime::Executable> loaded;
  runtime::Program unloaded;

  std::vector<KernelDescription> kernels;
  TensorList inputs, outputs;
  std::string plan;

  /// What was decided, for executables that are like this one; null where there
  /// are no GPU kernels. It is in the context of `source` and guarded by its
  /// mutex, which the end of the last owner takes.
  std::shared_ptr<const GraphData> source;
  std::shared_ptr<const driver::Plan> decisions;

  const runtime::Program &program() const {
    return loaded ? loaded->program() : unloaded;
  }
};

} // namespace fusec::api

struct fusec_context {
  std::shared_ptr<const fusec::api::Settings> settings;
};
struct fusec_graph {
  std::shared_ptr<const fusec::api::GraphData> data;
};
struct fusec_device {
  std::shared_ptr<const fusec::api::DeviceData> data;
};
struct fusec_executable {
  std::shared_ptr<const fusec::api::ExecutableData> data;
};

#endif // FUSEC_LIB_API_OBJECTS_H
