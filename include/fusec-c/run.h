/*===- run.h - running executables -----------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* Tensors come in the order of the executable's inputs and outputs, dense and  *|
|* row-major unless a function says that they may have strides. Runs are        *|
|* asynchronous on CUDA and done on return elsewhere.                           *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_RUN_H
#define FUSEC_C_RUN_H

#include "fusec-c/compile.h"
#include "fusec-c/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of an execution context. */
typedef struct fusec_execution_options {
  size_t size;
  /** Scratch memory of the device, aligned to 256 and at least
      fusec_executable_workspace_bytes long. It stays the caller's and serves
      one context at a time. Null: the context allocates its own. */
  void *workspace;
  uint64_t workspace_bytes;
  /** Not 0: waits after each step, so that a fault names the kernel that caused
      it. Slow, and not allowed while a stream is captured. */
  int32_t check_each_step;
  /** Not 0: launches kernels one by one. Otherwise three or more launches in a
      row are kept as a CUDA graph, whose pointers are those of each run. */
  int32_t no_replay;
  /** In place of a workspace that stays: asked at every run for memory of the
      device, aligned to 256, that work enqueued on `stream` from now on may use;
      null says that there is none. Must not throw. Both or neither are set, and
      `workspace` is null with them. */
  void *(*allocate)(void *user, uint64_t bytes, void *stream);
  /** Work enqueued so far still uses the memory; later work on `stream` may get
      it. */
  void (*release)(void *user, void *memory, uint64_t bytes, void *stream);
  void *user;
  /** Not 0: each kernel begins when the one before it has ended. Otherwise, on
      sm_90 and with drivers from CUDA 12.3 on, it may begin earlier and wait
      itself (programmatic dependent launch). The first one always begins after
      the work before it on the stream, and later work after the last one. */
  int32_t no_overlap;
} fusec_execution_options;

static inline fusec_execution_options fusec_execution_options_default(void) {
  fusec_execution_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  return options;
}

/** What one stream at a time needs to run an executable, which it keeps alive.
    One thread at a time; make one per thread or stream. */
typedef struct fusec_execution_context fusec_execution_context;

/** Makes an execution context. `options` may be null. INVALID_ARGUMENT if the
    workspace is too small or the executable was only compiled. */
FUSEC_API fusec_error *
fusec_execution_context_create(const fusec_executable *executable,
                               const fusec_execution_options *options,
                               fusec_execution_context **result);
/** Frees the context; the work that it enqueued must have finished. */
FUSEC_API void fusec_execution_context_free(fusec_execution_context *context);

/** Enqueues one run on `stream` (a CUstream or cudaStream_t; ignored on the
    CPU; null is the default stream). Pointers are to memory of the device,
    aligned to an element; that of an empty tensor may be null. Outputs overlap
    neither each other nor inputs, but for an element-wise graph that the
    compiler found to allow it, an output may be an input's memory. Does not
    synchronize, allocate or lock, and is legal while the stream is captured;
    only the first run on CUDA with pointers that are not aligned to 16, or with
    an output that is an input, compiles or allocates (see
    fusec_execution_context_prepare_dlpack) and fails in a capture.
    INVALID_ARGUMENT names the tensor that does not fit. */
FUSEC_API fusec_error *
fusec_execution_context_run(fusec_execution_context *context,
                            const void *const *inputs, size_t num_inputs,
                            void *const *outputs, size_t num_outputs,
                            void *stream);

/** The same with DLPack tensors, which are checked: device type and ordinal,
    element type, rank, shape, alignment. Inputs may have any strides: one that is
    not row-major is copied first. Outputs are row-major. Tensors are borrowed
    until the work has finished; outputs are written in place. Bool may come as
    kDLBool or as 8-bit unsigned; 4-bit types come as 8-bit. CPU targets take
    kDLCPU, kDLCUDAHost and kDLCUDAManaged; CUDA takes kDLCUDA and
    kDLCUDAManaged. */
FUSEC_API fusec_error *
fusec_execution_context_run_dlpack(fusec_execution_context *context,
                                   const DLTensor *const *inputs,
                                   size_t num_inputs,
                                   const DLTensor *const *outputs,
                                   size_t num_outputs, void *stream);

/** Does now what the first run with such tensors would do once (compile kernels
    for their alignment, allocate for their strides) and enqueues nothing, so that
    a stream can be captured afterwards. Later runs may have other addresses of
    the same strides and alignment. */
FUSEC_API fusec_error *fusec_execution_context_prepare_dlpack(
    fusec_execution_context *context, const DLTensor *const *inputs,
    size_t num_inputs, const DLTensor *const *outputs, size_t num_outputs);

/** Waits for the work on `stream` and reports what went wrong in it. */
FUSEC_API fusec_error *
fusec_execution_context_synchronize(fusec_execution_context *context,
                                    void *stream);

/** Device memory for output `index` as an owned DLPack tensor, uninitialised.
    The caller, or whoever it hands the tensor to, calls its deleter once, from
    any thread, when no work uses it. It outlives every handle. */
FUSEC_API fusec_error *
fusec_executable_allocate_output(const fusec_executable *executable,
                                 size_t index, DLManagedTensor **result);

/** Bytes in host memory. */
typedef struct fusec_host_array {
  void *data;
  uint64_t bytes;
} fusec_host_array;

/** Runs once with host memory on any target: copies in, runs, copies out,
    waits. `inputs` are only read. Sizes must be those of the tensors. Allocates
    every time: for tests and tools. Thread-safe. */
FUSEC_API fusec_error *
fusec_executable_run_host(const fusec_executable *executable,
                          const fusec_host_array *inputs, size_t num_inputs,
                          const fusec_host_array *outputs, size_t num_outputs);

#ifdef __cplusplus
}
#endif

#endif /* FUSEC_C_RUN_H */
