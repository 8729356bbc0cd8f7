/*===- compile.h - devices and executables ---------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_COMPILE_H
#define FUSEC_C_COMPILE_H

#include "fusec-c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- Devices --------------------------------------------------------------===*/

/** What runs a graph. */
typedef int32_t fusec_target;
enum {
  /** CUDA where there is a GPU with driver and NVRTC, else HOST. */
  FUSEC_TARGET_AUTO = 0,
  /** An NVIDIA GPU. Buffers are device memory. */
  FUSEC_TARGET_CUDA = 1,
  /** Compiled code for this machine's cores. Buffers are host memory. */
  FUSEC_TARGET_HOST = 2,
  /** The GPU kernels on the CPU with every memory access checked: slow, and it
      needs a C++ compiler on PATH. Buffers are host memory. */
  FUSEC_TARGET_EMULATOR = 3,
  /** Operator by operator in f64 on the CPU: the second opinion. Buffers are
      host memory. */
  FUSEC_TARGET_REFERENCE = 4
};

/** An opened device. Immutable, thread-safe. On CUDA it uses the GPU's primary
    context, so pointers and streams of the CUDA runtime, PyTorch and JAX are
    valid as they are. */
typedef struct fusec_device fusec_device;

/** What a device is; zero or "" where unknown. */
typedef struct fusec_device_info {
  size_t size;
  /** Never AUTO. */
  fusec_target target;
  int32_t ordinal;
  /** "NVIDIA H200", "host", ... */
  const char *name;
  /** 10 * major + minor; 0 on the CPU. */
  int32_t compute_capability;
  int32_t multiprocessors;
  uint64_t memory_bytes;
  /** 1 if buffers are host memory. */
  int32_t host_memory;
} fusec_device_info;

static inline fusec_device_info fusec_device_info_default(void) {
  fusec_device_info info;
  memset(&info, 0, sizeof(info));
  info.size = sizeof(info);
  return info;
}

/** Opens a device. `ordinal` picks the GPU and must be 0 for other targets.
    NO_DEVICE says what is missing. */
FUSEC_API fusec_error *fusec_device_create(fusec_context *context,
                                           fusec_target target, int32_t ordinal,
                                           fusec_device **result);
FUSEC_API void fusec_device_free(fusec_device *device);
FUSEC_API fusec_error *fusec_device_get_info(const fusec_device *device,
                                             fusec_device_info *info);
/** Waits for all work on `stream` (a CUstream or cudaStream_t; null is the
    default one) and reports what went wrong in it. */
FUSEC_API fusec_error *fusec_device_synchronize(fusec_device *device,
                                                void *stream);
/** Memory of the device, aligned to 256; null for 0 bytes. Freed by
    fusec_device_release once no work uses it. */
FUSEC_API fusec_error *fusec_device_allocate(fusec_device *device,
                                             uint64_t bytes, void **result);
FUSEC_API void fusec_device_release(fusec_device *device, void *memory);
/** Copies between host and device memory, ordered on `stream`. The host side of
    copy_in may be reused at once; that of copy_out is filled after
    synchronizing. */
FUSEC_API fusec_error *fusec_device_copy_in(fusec_device *device, void *to,
                                            const void *from, uint64_t bytes,
                                            void *stream);
FUSEC_API fusec_error *fusec_device_copy_out(fusec_device *device, void *to,
                                             const void *from, uint64_t bytes,
                                             void *stream);

/*===- Compiling ------------------------------------------------------------===*/

/** How numbers may change against the graph as written (docs/semantics.md). */
typedef int32_t fusec_numerics;
enum {
  /** f32 between the ops of one kernel where the graph says f16, bf16 or f8;
      casts, comparisons and stores round. */
  FUSEC_NUMERICS_DEFAULT = 0,
  /** Every op rounds to its type, as in the unfused graph; float sums may be
      taken in another order than there. */
  FUSEC_NUMERICS_EXACT = 1
};

typedef int32_t fusec_fusion;
enum {
  FUSEC_FUSION_ON = 0,
  /** One kernel per op. */
  FUSEC_FUSION_OFF = 1
};

typedef struct fusec_executable fusec_executable;

/** Options of fusec_compile. */
typedef struct fusec_compile_options {
  size_t size;
  /** Where to run. Null: a device is opened for `target` and `ordinal`. */
  fusec_device *device;
  /** Used if `device` is null. */
  fusec_target target;
  int32_t ordinal;
  /** What to plan and compile for: 0 (the device's), 80 or 90. Must not be
      newer than the device. */
  int32_t compute_capability;
  fusec_numerics numerics;
  fusec_fusion fusion;
  /** Not 0: makes kernels for `target` (CUDA if AUTO) without opening a device.
      The result tells its kernels and plan but cannot run. */
  int32_t compile_only;
  /** Not null: the graph is the one of this executable (for CUDA or the
      emulator) in other sizes, usually another batch. Plan and kernels are
      taken from it: nothing is searched, and no kernel is compiled that has no
      size in its text, as it is with the size of the outermost dimension. Where
      a decision is not legal in the new sizes that kernel is new, and where the
      graph is another one (a constant depends on the batch) it is planned by
      itself; the plan says so ("like" in fusec_executable_plan_json). numerics,
      fusion and compute_capability are those of the executable. Compile for
      the largest batch first. */
  const fusec_executable *like;
  /** Greater than 0: first times, for at most so many seconds, the kernels that
      each region could be computed by, on the device, and takes the
      fastest whose results are those of the model's choice. What is found is
      kept in the context's cache folder and told by the plan ("tuning" in
      fusec_executable_plan_json); messages of level INFO say how far it is.
      For CUDA and the emulator, with a device and without `like`. */
  double tune_seconds;
  /** Not 0: kernels are chosen by the model, also where the cache folder has
      what a search found before. */
  int32_t no_tuning_record;
  /** Not 0: every choice that changes the order of a float sum is made as for
      one size of the outermost axis and one number of multiprocessors, so that
      what is computed for an item has the same bits in batches of all sizes
      (docs/semantics.md). What is compiled like such an executable has it. */
  int32_t batch_invariant;
  /** Not 0: the vendor's library of matrix products (cuBLASLt) neither competes
      in a search nor runs where an earlier search found it the fastest. Without
      a search, now or in an earlier process (no_tuning_record), it is never
      used. */
  int32_t no_vendor;
} fusec_compile_options;

static inline fusec_compile_options fusec_compile_options_default(void) {
  fusec_compile_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  return options;
}

/** Compiles a bound graph. The executable, its kernels and constants on a
    device, is immutable and thread-safe; any number of execution contexts share
    it. It keeps the graph. `options` may be null. Takes milliseconds to seconds
    and may use several threads. INVALID_ARGUMENT for an unbound graph,
    UNSUPPORTED for a graph that the target cannot run, NO_DEVICE, FAILED if a
    kernel does not compile. */
FUSEC_API fusec_error *fusec_compile(const fusec_graph *graph,
                                     const fusec_compile_options *options,
                                     fusec_executable **result);
/** Frees the executable once its execution contexts are gone too. On CUDA, the
    work enqueued for it must have finished. */
FUSEC_API void fusec_executable_free(fusec_executable *executable);

FUSEC_API size_t fusec_executable_num_inputs(const fusec_executable *);
FUSEC_API size_t fusec_executable_num_outputs(const fusec_executable *);
/** Describes an input or output; all dimensions are known. */
FUSEC_API fusec_error *fusec_executable_input(const fusec_executable *,
                                              size_t index,
                                              fusec_tensor_info *info);
FUSEC_API fusec_error *fusec_executable_output(const fusec_executable *,
                                               size_t index,
                                               fusec_tensor_info *info);
/** Bytes of scratch memory that an execution context needs. */
FUSEC_API uint64_t
fusec_executable_workspace_bytes(const fusec_executable *executable);
/** The device it runs on, a new handle; null result if compile_only. */
FUSEC_API fusec_error *fusec_executable_device(const fusec_executable *,
                                               fusec_device **result);

/*===- What was made --------------------------------------------------------===*/

/** One kernel. Equal kernels are compiled once and launched often. */
typedef struct fusec_kernel_info {
  size_t size;
  /** Its entry point. */
  const char *name;
  /** CUDA C++ on fusec's prelude (CUDA, emulator) or LLVM IR (host). */
  const char *source;
  /** Threads a block, 1 on the host. */
  uint32_t threads;
  /** Launches a run. */
  uint32_t launches;
  /** The graph ops of its first launch ("graph.add"); none on the host. */
  size_t num_ops;
  const char *const *ops;
  /** Bytes of inputs and outputs of its first launch, each counted once; -1 if
      not known. */
  int64_t bytes;
  /** Per thread and per block as the compiler reports them; -1 if not known. */
  int32_t registers;
  int32_t static_shared_bytes;
  int32_t local_bytes;
  int32_t spill_store_bytes;
  int32_t spill_load_bytes;
} fusec_kernel_info;

static inline fusec_kernel_info fusec_kernel_info_default(void) {
  fusec_kernel_info info;
  memset(&info, 0, sizeof(info));
  info.size = sizeof(info);
  return info;
}

FUSEC_API size_t fusec_executable_num_kernels(const fusec_executable *);
/** Describes a kernel; pointers live as long as the executable. */
FUSEC_API fusec_error *fusec_executable_kernel(const fusec_executable *,
                                               size_t index,
                                               fusec_kernel_info *info);
/** The kernel's PTX, compiled when asked (CUDA and emulator; needs NVRTC but no
    GPU). Free it with fusec_string_free. */
FUSEC_API fusec_error *fusec_executable_kernel_ptx(const fusec_executable *,
                                                   size_t index, char **result);
/** The plan as one JSON object with the schema of `fusec explain --json`
    (docs/tool.md): "fusion" (ops, kernels, launches, bytes before and after),
    "kernels", "edges" (what was fused, what it saves, why not and what would
    allow it) and "siblings" (products of one operand that became one, or why
    not). Kernels have no "resources": nothing was compiled by NVRTC to get it.
    Lives as long as the executable. */
FUSEC_API const char *
fusec_executable_plan_json(const fusec_executable *executable);

#ifdef __cplusplus
}
#endif

#endif /* FUSEC_C_COMPILE_H */
