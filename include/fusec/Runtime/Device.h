//===- Device.h - what runs kernels -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one interface between a Program and what executes it: the CUDA driver,
// the emulator or the host. A device owns memory, turns kernel text into
// loaded kernels and launches them in order on a stream.
//
// Streams are opaque. A device that runs everything at once (emulator, host)
// ignores them; null names the default stream. Every operation that takes a
// stream happens after the earlier ones on that stream.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_DEVICE_H
#define FUSEC_RUNTIME_DEVICE_H

#include "fusec/Runtime/Program.h"

#include <memory>
#include <optional>

namespace fusec::runtime {

/// An opaque queue of work: a CUstream on CUDA, ignored by host devices.
using Stream = void *;

/// An opaque time mark: a CUevent on CUDA.
using Event = void *;

/// Pointers of this alignment in bytes are used as they are: it is what the
/// widest vector access of generated code needs.
inline constexpr uint64_t kBufferAlignment = 16;

/// What a device is. Zero means "not limited" or "not known".
struct DeviceInfo {
  /// For people: "NVIDIA H200", "emulator", "host".
  std::string name;
  /// Compute capability as major * 10 + minor (90 for Hopper); 0 on the host.
  unsigned computeCapability = 0;
  unsigned multiprocessors = 0;
  unsigned maxThreadsPerBlock = 0;
  unsigned maxClusterBlocks = 0;
  std::array<uint64_t, 3> maxGrid = {0, 0, 0};
  /// Bytes of shared memory, static and dynamic together.
  uint64_t sharedPerBlock = 0;
  uint64_t sharedPerMultiprocessor = 0;
  uint64_t registersPerMultiprocessor = 0;
  uint64_t l2Bytes = 0;
  uint64_t memoryBytes = 0;
  /// Where the GPU sits, "0000:18:00.0"; empty off the GPU and where the driver
  /// does not say.
  std::string pciBus = {};
  /// Buffers are host pointers and HostCall steps are accepted.
  bool hostMemory = false;
  /// Alignment in bytes that kernels need of every buffer; 1 where that of the
  /// elements is enough.
  uint32_t bufferAlignment = kBufferAlignment;
  /// Kernels of a smaller Kernel::alignment, and in place, can be loaded.
  bool splitsAccesses = false;
};

/// What a kernel needs of the machine; a field is empty where the device or
/// compiler does not tell.
struct KernelResources {
  std::optional<uint32_t> registers;
  /// Bytes per block declared in the text; dynamic shared memory comes on top.
  std::optional<uint32_t> staticSharedBytes;
  /// Bytes per thread on the stack, spills included.
  std::optional<uint32_t> localBytes;
  /// Bytes per thread that the register allocator stores and loads.
  std::optional<uint32_t> spillStoreBytes, spillLoadBytes;
};

/// A kernel ready to launch. Devices derive from it; owned by its module.
struct LoadedKernel {
  virtual ~LoadedKernel();
  std::string entry;
  uint32_t threads = 1;
  uint32_t cluster = 1;
  bool cooperative = false;
  KernelResources resources;
};

/// Kernels that were loaded together. Destroying it unloads them, which must
/// not happen before the work that uses them has finished, nor after the
/// device has gone.
class LoadedModule {
public:
  virtual ~LoadedModule();
  /// The kernel at the position it had in the call to `loadModule`.
  virtual const LoadedKernel &kernel(size_t index) const = 0;
};

/// A buffer that an argument names from within a table or by a tensor map.
struct TableBuffer {
  /// Where the table, or the context, holds the pointer.
  void *const *pointer = nullptr;
  int64_t bytes = 0;
};

/// One launch. `args[i]` points at the value of argument i, as cuLaunchKernel
/// wants it: a pointer (8 bytes) for a buffer, 4 or 8 bytes for a scalar, a
/// struct for a table, kTensorMapBytes for a tensor map.
struct LaunchRequest {
  const LoadedKernel *kernel = nullptr;
  /// Blocks; none is zero.
  std::array<uint32_t, 3> grid = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  void **args = nullptr;
  /// Parallel to `args`: the bytes of the buffer that an argument points at,
  /// or -1 for a scalar or table. Lets a checking device know every buffer's
  /// bounds.
  llvm::ArrayRef<int64_t> bufferBytes;
  /// The buffers in tables and tensor maps, in order.
  llvm::ArrayRef<TableBuffer> tableBuffers;
  /// May begin before the launch before it on the stream has ended: nothing
  /// else lies between them, and the kernel waits (Kernel::overlaps). A device
  /// may ignore it.
  bool overlaps = false;
};

/// A product that the vendor's library of a device is ready to compute.
/// Immutable, used by any thread.
class LoadedProduct {
public:
  virtual ~LoadedProduct();
};

/// One product. Pointers are aligned to kBufferAlignment, the workspace, of
/// VendorAlgorithm::workspaceBytes, to 256.
struct ProductRequest {
  const LoadedProduct *product = nullptr;
  const void *lhs = nullptr, *rhs = nullptr;
  void *result = nullptr, *workspace = nullptr;
  /// Null where the product has none.
  const void *addend = nullptr, *bias = nullptr;
};

/// Sets bytes that stay where they are.
struct FillRequest {
  void *to = nullptr;
  uint8_t value = 0;
  uint64_t bytes = 0;
};

/// An element of a graph.
using GraphStep = std::variant<LaunchRequest, FillRequest>;

/// A chain of steps that a device keeps and runs at once. Used by one thread
/// at a time; destroyed when none of its work is running any more.
class LaunchGraph {
public:
  virtual ~LaunchGraph();
};

struct StridedLayout;

/// Runs kernels. All methods are thread-safe; `launch`, `fill`, `copy` and
/// `multiply` take no lock (but for products with a bias, each its own) and
/// allocate nothing, so that they may sit on a hot path, and on CUDA are legal
/// while the stream is being captured.
class Device {
public:
  virtual ~Device();

  virtual const DeviceInfo &info() const = 0;

  /// `bytes` of memory aligned to at least 256; null for zero bytes. The
  /// contents are undefined.
  virtual llvm::Expected<void *> allocate(uint64_t bytes) = 0;
  /// Gives memory back; null does nothing. Work that uses it has finished.
  virtual void free(void *memory) = 0;

  /// Host to device. `from` may be reused on return (pageable host memory).
  virtual llvm::Error copyIn(void *to, const void *from, uint64_t bytes,
                             Stream stream) = 0;
  /// Device to host; `to` is filled once the stream has been synchronized.
  virtual llvm::Error copyOut(void *to, const void *from, uint64_t bytes,
                              Stream stream) = 0;
  /// Device to device; the ranges do not overlap.
  virtual llvm::Error copy(void *to, const void *from, uint64_t bytes,
                           Stream stream) = 0;
  /// Sets every byte to `value`.
  virtual llvm::Error fill(void *to, uint8_t value, uint64_t bytes,
                           Stream stream) = 0;

  /// Compiles (where needed) and loads kernels. The error of a kernel that
  /// does not compile names its entry and holds the compiler's whole log.
  virtual llvm::Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel> kernels) = 0;

  virtual llvm::Error launch(const LaunchRequest &request, Stream stream) = 0;

  /// Ways in which the vendor's library computes a product with the same bits
  /// each time, those first that it takes for the fastest, at most `most`.
  /// Fails where there is no such library (the default), which a sentence then
  /// says, or where it has none. May take seconds the first time.
  virtual llvm::Expected<std::vector<VendorAlgorithm>>
  vendorAlgorithms(const MatrixProduct &product, size_t most);
  /// Makes a product ready, and runs it once on memory of its own so that later
  /// runs load nothing. Fails where `vendorAlgorithms` does, and where the
  /// library has another version than the algorithm's or refuses it.
  virtual llvm::Expected<std::unique_ptr<LoadedProduct>>
  loadProduct(const MatrixProduct &product, const VendorAlgorithm &algorithm);
  virtual llvm::Error multiply(const ProductRequest &request, Stream stream);

  /// Writes the kTensorMapBytes of a map of memory at `base` to `to`, which is
  /// aligned to 64 bytes. The map has passed `checkTensorMap`. The default
  /// fails: the device has no copy engine.
  virtual llvm::Error encodeTensorMap(const TensorMapArg &map, void *base,
                                      void *to) const;

  /// A chain of `steps`, whose arguments are read now; null (the default) if
  /// the device has no graphs. Allocates.
  virtual llvm::Expected<std::unique_ptr<LaunchGraph>>
  makeGraph(llvm::ArrayRef<GraphStep> steps);
  /// Gives step `index`, a launch, another kernel (of the same cluster size)
  /// and arguments from the next `launchGraph` on. Nothing is allocated.
  virtual llvm::Error updateGraph(LaunchGraph &graph, size_t index,
                                  const LaunchRequest &request);
  virtual llvm::Error launchGraph(LaunchGraph &graph, Stream stream);
  /// Whether work on the stream is recorded rather than run.
  virtual llvm::Expected<bool> isCapturing(Stream stream);

  /// Writes the elements of `layout` at `from` to `to`, row-major and dense;
  /// the two do not overlap. `prepareCopyStrided` has been called where
  /// `canCopyStrided` said no; it compiles, the copy itself does not. The
  /// default does it on the host and fails where memory is not the host's.
  virtual llvm::Error copyStrided(void *to, const void *from,
                                  const StridedLayout &layout,
                                  unsigned elementBytes, Stream stream);
  virtual bool canCopyStrided(unsigned elementBytes) const;
  virtual llvm::Error prepareCopyStrided(unsigned elementBytes);

  /// Runs a HostCall step. The default calls it if memory is the host's and
  /// otherwise fails.
  virtual llvm::Error call(const HostCall &call, llvm::ArrayRef<void *> buffers,
                           Stream stream);

  /// A new stream for `synchronize` and `run`; the default is null.
  virtual llvm::Expected<Stream> createStream();
  virtual void destroyStream(Stream stream);
  /// Waits for all work on the stream and reports what went wrong in it.
  virtual llvm::Error synchronize(Stream stream) = 0;

  /// Time marks on a stream, for measuring. The default is the clock of the
  /// host, which is right for devices that run everything at once.
  virtual llvm::Expected<Event> createEvent();
  virtual void destroyEvent(Event event);
  virtual llvm::Error recordEvent(Event event, Stream stream);
  /// Microseconds between two recorded events; waits for the later one.
  virtual llvm::Expected<double> elapsedMicroseconds(Event begin, Event end);

  /// Called by one thread around a series of launches, so that a device can
  /// make itself current once instead of per launch. Calls nest. `leave` gets
  /// what `enter` returned.
  virtual llvm::Expected<void *> enter();
  virtual void leave(void *token);
};

/// Memory of a device, freed with the object. Movable; keeps the device alive.
class Buffer {
public:
  Buffer() = default;
  static llvm::Expected<Buffer> allocate(std::shared_ptr<Device> device,
                                         uint64_t bytes);
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer();
  /// Null if empty.
  void *data() const { return memory; }
  uint64_t size() const { return bytes; }

private:
  std::shared_ptr<Device> device;
  void *memory = nullptr;
  uint64_t bytes = 0;
};

/// A memory range of the host with its guard state.
struct HostExtent {
  void *base = nullptr;
  uint64_t bytes = 0;
};

/// The memory half of a Device for those that use host memory: allocation with
/// guard bytes on both sides, copies by memcpy, no streams. Derive, add `info`,
/// `loadModule` and `launch`.
class HostMemoryDevice : public Device {
public:
  HostMemoryDevice();
  ~HostMemoryDevice() override;
  llvm::Expected<void *> allocate(uint64_t bytes) override;
  void free(void *memory) override;
  llvm::Error copyIn(void *to, const void *from, uint64_t bytes,
                     Stream stream) override;
  llvm::Error copyOut(void *to, const void *from, uint64_t bytes,
                      Stream stream) override;
  llvm::Error copy(void *to, const void *from, uint64_t bytes,
                   Stream stream) override;
  llvm::Error fill(void *to, uint8_t value, uint64_t bytes,
                   Stream stream) override;
  /// Nothing to wait for; reports guard bytes that were overwritten, also in
  /// memory freed since the last call.
  llvm::Error synchronize(Stream stream) override;

  /// The allocation that holds `pointer`, if it came from this device.
  std::optional<HostExtent> findExtent(const void *pointer) const;
  /// Bytes allocated and not freed.
  uint64_t liveBytes() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_DEVICE_H
