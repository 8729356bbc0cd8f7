//===- Program.h - what compilation hands to the runtime --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Program is the target-neutral result of compilation: tensors, constants,
// kernels and a straight list of steps. It holds no MLIR and no device handle,
// so that it can be kept, printed, hashed and shared.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_PROGRAM_H
#define FUSEC_RUNTIME_PROGRAM_H

#include "fusec/Runtime/VendorCall.h"
#include "fusec/Support/Bytes.h"
#include "fusec/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fusec::runtime {

/// A dense row-major tensor without strides. `name` is the user's own and is
/// never put into generated text.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// Product of the dimensions; the compiler has checked that it fits. A spec
  /// that does not fit gives the largest int64_t, one with a negative
  /// dimension gives 0; `checkedBytes` tells them apart.
  int64_t elements() const;
  int64_t bytes() const;
};

/// Where a buffer of a Program lives.
enum class Space : uint8_t { Input, Output, Constant, Temporary };

/// Names a buffer: an input, output, constant or temporary by position.
struct BufferRef {
  Space space = Space::Input;
  uint32_t index = 0;
  friend bool operator==(const BufferRef &, const BufferRef &) = default;
};

/// An integer passed by value, in 4 or 8 bytes.
struct ScalarArg {
  int64_t value = 0;
  uint8_t bytes = 8;
};

/// A struct passed by value: pointers and integers in order, laid out as C
/// does, so that a launch can take more buffers than anyone wants parameters,
/// and text can choose among them by an index. At most kMaxTableBytes.
struct TableArg {
  using Field = std::variant<BufferRef, ScalarArg>;
  std::vector<Field> fields;
  /// Calls `visit` for each field with its offset: the next multiple of its
  /// size, which is 8 for a pointer.
  void forEachField(
      llvm::function_ref<void(const Field &, uint32_t offset)> visit) const;
  /// Size of the struct, a multiple of 8.
  uint32_t bytes() const;
};

/// A tensor map of the copy engine, passed by value (FUSEC_TENSOR_MAP): a
/// region of a buffer that boxes are copied from and to. Dimensions from the
/// innermost one, whose elements are contiguous. `checkTensorMap` says what is
/// legal.
struct TensorMapArg {
  enum class Fill : uint8_t { Zero, Nan };
  BufferRef buffer;
  /// Where the region begins; a multiple of 16.
  int64_t byteOffset = 0;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  /// Bytes, of the dimensions after the first.
  std::vector<int64_t> strides;
  /// Elements of a box along each dimension.
  std::vector<uint32_t> box;
  /// Takes every n-th element along a dimension; empty for all.
  std::vector<uint32_t> steps;
  /// Bytes over which the 16-byte units of a box are exchanged in shared
  /// memory: 0, 32, 64 or 128. Not less than the box's innermost rows.
  uint32_t swizzle = 0;
  /// What elements outside the region are read as; NaN for floats only.
  Fill fill = Fill::Zero;
  /// Bytes of a promoted L2 sector fetch: 0, 64, 128 or 256.
  uint32_t l2Promotion = 128;
  /// Loads round f32 elements to TF32, to nearest even.
  bool roundsToTf32 = false;
};
inline constexpr uint32_t kTensorMapBytes = 128;

/// Checks what the copy engine demands of a map of a buffer of `bufferBytes`.
llvm::Error checkTensorMap(const TensorMapArg &map, int64_t bufferBytes);

/// Parameters of a kernel on sm_70 and later with CUDA 12.1 and later.
inline constexpr uint32_t kMaxTableBytes = 32764;

using KernelArg = std::variant<BufferRef, ScalarArg, TableArg, TensorMapArg>;

struct Program;

/// One kernel as text. Kernels of equal text are stored once in a Program.
struct Kernel {
  /// Entry point, a generated identifier.
  std::string entry;
  /// CUDA C++ on the prelude (CUDA, emulator), or LLVM IR (host).
  std::string source;
  /// Threads per block; the source states the same number as launch bound.
  uint32_t threads = 1;
  /// Blocks per cluster; 1 means no cluster.
  uint32_t cluster = 1;
  /// The source is on the contraction skeleton beside the prelude.
  bool usesSkeleton = false;
  /// The source uses what only sm_90a has (prelude_sm90.cuh).
  bool usesSm90 = false;
  /// All blocks of a launch must run at the same time: they wait for each
  /// other (FUSEC_KERNEL_GRID).
  bool cooperative = false;
  /// Each thread calls grid_wait() before it touches memory, so that a launch
  /// may begin while the launch before it still runs (LaunchRequest::overlaps).
  bool overlaps = false;
  /// Vector accesses of the source are split so that the buffers of a launch
  /// need only this alignment in bytes (a power of two up to 16, at least the
  /// element size). Not for sources on the skeleton.
  uint32_t alignment = 16;
  /// The launch updates one of its buffers in place: what it reads through
  /// `const` pointers may be written by the same thread afterwards.
  bool inPlace = false;
  /// Not 0: buffers of the source's FUSEC_ROWS parameters are rows of so many
  /// elements that are taken as they lie in memory (device/rolled.cuh); each
  /// may start anywhere, but all of a launch at one place of `rolledUnit`
  /// elements: `rolledFirst` before a multiple of them, or 0 for a form that
  /// finds out by itself.
  uint32_t rolledColumns = 0, rolledUnit = 0, rolledFirst = 0;
};

/// The buffers of a launch that its kernel has as rows (FUSEC_ROWS), and what
/// its rolled form is made with.
struct RolledRows {
  struct Item {
    BufferRef buffer;
    uint32_t elementBytes = 0;
  };
  /// A multiple of `unit`, which is a power of two; 0 where there is no such
  /// form.
  uint32_t columns = 0, unit = 0;
  std::vector<Item> buffers;
};

/// A call of the vendor's library in place of a launch's kernel.
struct VendorCall {
  MatrixProduct product;
  VendorAlgorithm algorithm;
  /// A temporary of VendorAlgorithm::workspaceBytes.
  BufferRef workspace;
};

/// A kernel launch. A launch whose grid has a zero is skipped.
struct Launch {
  uint32_t kernel = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<KernelArg> args;
  RolledRows rolled = {};
  /// What runs instead, where the device can.
  std::optional<VendorCall> vendor = std::nullopt;
};

/// Lets a launch of `program` be computed by `algorithm`: adds its workspace.
/// `planWorkspace` comes after it.
void addVendorCall(Program &program, Launch &launch,
                   const MatrixProduct &product,
                   const VendorAlgorithm &algorithm);

/// A call on the host, for what a target does not generate code for. Buffers
/// are host pointers in the order of `args`; only host devices accept it.
struct HostCall {
  std::string what; // for reports
  std::vector<BufferRef> args;
  std::function<llvm::Error(llvm::ArrayRef<void *>)> call;
};

/// Sets a buffer to zero bytes before use (split reductions, scatter).
struct Fill {
  BufferRef buffer;
};

/// Copies one whole buffer to another of the same size.
struct Copy {
  BufferRef from, to;
};

using Step = std::variant<Launch, HostCall, Fill, Copy>;

/// A constant: its spec and its bytes (row-major, host byte order).
struct Constant {
  TensorSpec spec;
  std::shared_ptr<const Bytes> bytes;
};

/// A temporary: size and, once planned, offset in the workspace. One that is
/// `kept` lies in memory of each context instead: zero before the first run, it
/// keeps its contents from run to run (counters that return to zero).
struct Temporary {
  int64_t bytes = 0;
  int64_t offset = -1;
  bool kept = false;
};

/// An output that may be the memory of an input: both have the same bytes, one
/// launch alone reads the input from then on, and in it the thread that writes
/// an element has read that element of the input before, and no other thread
/// reads it.
struct Alias {
  uint32_t input = 0, output = 0;
  friend bool operator==(const Alias &, const Alias &) = default;
};

/// The whole compiled graph.
struct Program {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<Constant> constants;
  std::vector<Temporary> temporaries;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  /// What a caller may update in place.
  std::vector<Alias> aliases;
  int64_t workspaceBytes = 0;
  /// Of all kept temporaries.
  int64_t keptBytes = 0;
};

/// Gives every temporary an offset so that temporaries alive at the same time
/// never overlap, and sets `workspaceBytes`. A temporary lives from the first
/// step that names it to the last. Offsets are multiples of `alignment`
/// (a power of two). Deterministic; O(n log n) in the number of temporaries
/// for typical programs. Fails if the total does not fit 63 bits.
llvm::Error planWorkspace(Program &program, int64_t alignment = 256);

/// Bytes of a tensor, or an error that names it if a dimension is negative or
/// the size does not fit 63 bits.
llvm::Expected<int64_t> checkedBytes(const TensorSpec &spec);

/// Bytes of a buffer that `verifyProgram` has accepted.
int64_t bufferBytes(const Program &program, BufferRef ref);

/// Checks everything that the runtime relies on, so that a program from a file
/// or a faulty compiler is refused and never read out of bounds: indices and
/// sizes, kernels, launch limits common to all devices, that no step fills or
/// copies into an input or a constant, that every non-empty output is named by
/// a step, and that the workspace plan overlaps no two live temporaries.
llvm::Error verifyProgram(const Program &program);

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_PROGRAM_H
