/*===- base.h - version, errors, element types, contexts -------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* Conventions of the whole C API:                                              *|
|*                                                                              *|
|* Errors. A function that can fail returns `fusec_error *`: null is success,   *|
|* anything else is the caller's to free with fusec_error_free. Results go      *|
|* through pointers, which are written on success only. Nothing aborts, exits   *|
|* or throws because of what a caller or a file hands in.                       *|
|*                                                                              *|
|* Handles. Pointers to incomplete types, made by a function named `create`,    *|
|* `from`, `bind`, `finish` or `compile` and freed by the one named `free`      *|
|* (null is allowed). Handles keep alive what they need: an executable outlives *|
|* the graph, device and context it came from. Using a handle after it was      *|
|* freed is undefined.                                                          *|
|*                                                                              *|
|* Structs. The first member `size` is sizeof the struct as the caller knows    *|
|* it; the `_default` function next to each struct sets it. Zero is the default *|
|* of every option. A library older than its caller refuses options that it     *|
|* does not know unless they are zero.                                          *|
|*                                                                              *|
|* Text is UTF-8 and ends in a zero byte. Text returned as `const char *`       *|
|* belongs to the handle it was asked of; `char *` is freed by                  *|
|* fusec_string_free.                                                           *|
|*                                                                              *|
|* Threads. Functions may be called from any thread. Graphs, devices, contexts  *|
|* and executables may be used by many threads at once; builders and execution  *|
|* contexts by one at a time.                                                   *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_BASE_H
#define FUSEC_C_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#error "fusec is made for Linux"
#endif
#define FUSEC_API __attribute__((visibility("default")))

#define FUSEC_VERSION_MAJOR 0
#define FUSEC_VERSION_MINOR 1
#define FUSEC_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/*===- Version --------------------------------------------------------------===*/

/** The library's version as 10000 * major + 100 * minor + patch. */
FUSEC_API uint32_t fusec_version(void);
/** The same as text: "0.1.0". Static. */
FUSEC_API const char *fusec_version_string(void);

/*===- Errors ---------------------------------------------------------------===*/

/** What kind of thing went wrong. */
typedef int32_t fusec_code;
enum {
  FUSEC_OK = 0,
  /** An argument is null, out of range, or does not fit the graph. */
  FUSEC_INVALID_ARGUMENT = 1,
  /** A file, text or built graph is not right. */
  FUSEC_INVALID_GRAPH = 2,
  /** The input is right, and fusec has no way to do it yet. */
  FUSEC_UNSUPPORTED = 3,
  /** The device, its driver or NVRTC is not there. */
  FUSEC_NO_DEVICE = 4,
  /** A kernel failed to compile, load or run. */
  FUSEC_FAILED = 5,
  /** Memory was refused. */
  FUSEC_OUT_OF_MEMORY = 6
};

/** Why a call failed. Immutable. */
typedef struct fusec_error fusec_error;

/** The code; FUSEC_OK for null. */
FUSEC_API fusec_code fusec_error_code(const fusec_error *error);
/** One or more lines, lower case, saying what was expected and what was found;
    "" for null. Lives as long as the error. */
FUSEC_API const char *fusec_error_message(const fusec_error *error);
/** Frees an error; null does nothing. */
FUSEC_API void fusec_error_free(fusec_error *error);

/** Frees a `char *` that a function of this API returned; null does nothing. */
FUSEC_API void fusec_string_free(char *text);

/*===- Element types --------------------------------------------------------===*/

/** An element type. Integers are two's complement. I4 and U4 take one byte an
    element (sign- or zero-extended); BOOL one byte, 0 or 1. F8E4M3 is the
    variant without infinities (OCP e4m3fn). */
typedef int32_t fusec_dtype;
enum {
  FUSEC_F64 = 0,
  FUSEC_F32 = 1,
  FUSEC_F16 = 2,
  FUSEC_BF16 = 3,
  FUSEC_F8E4M3 = 4,
  FUSEC_F8E5M2 = 5,
  FUSEC_I64 = 6,
  FUSEC_I32 = 7,
  FUSEC_I16 = 8,
  FUSEC_I8 = 9,
  FUSEC_I4 = 10,
  FUSEC_U64 = 11,
  FUSEC_U32 = 12,
  FUSEC_U16 = 13,
  FUSEC_U8 = 14,
  FUSEC_U4 = 15,
  FUSEC_BOOL = 16
};

/** "f32", "bf16", "f8e4m3", "i64", "bool", ...; null for an unknown type. */
FUSEC_API const char *fusec_dtype_name(fusec_dtype dtype);
/** Bytes of one element in memory; 0 for an unknown type. */
FUSEC_API size_t fusec_dtype_bytes(fusec_dtype dtype);

/*===- Tensors --------------------------------------------------------------===*/

/** What is known of an input, an output or a value. All pointers belong to the
    handle that was asked. Set `size` before asking. */
typedef struct fusec_tensor_info {
  size_t size;
  /** The graph's own name for it. */
  const char *name;
  fusec_dtype dtype;
  /** Number of dimensions; -1 if the file does not say. */
  int32_t rank;
  /** `rank` sizes in elements, row-major (the last is contiguous); -1 where a
      dimension is open. Null if `rank` is not positive. */
  const int64_t *shape;
  /** `rank` names of open dimensions, "" where there is none; null if no
      dimension has one. */
  const char *const *symbols;
  /** Bytes of the whole tensor; -1 if a dimension is open. */
  int64_t bytes;
} fusec_tensor_info;

static inline fusec_tensor_info fusec_tensor_info_default(void) {
  fusec_tensor_info info;
  memset(&info, 0, sizeof(info));
  info.size = sizeof(info);
  return info;
}

/*===- Contexts -------------------------------------------------------------===*/

/** How much is said. */
typedef int32_t fusec_log_level;
enum {
  FUSEC_LOG_OFF = 0,
  FUSEC_LOG_WARNING = 1,
  FUSEC_LOG_INFO = 2
};

/** Receives one message without a newline, valid during the call only. May be
    called by several threads at once and must not call into fusec. */
typedef void (*fusec_log_callback)(void *user, fusec_log_level level,
                                   const char *message);

/** Options of a context. */
typedef struct fusec_context_options {
  size_t size;
  /** Null: nothing is logged. */
  fusec_log_callback log;
  /** Handed to `log`. */
  void *log_user;
  /** The most talkative level that is logged; 0 means FUSEC_LOG_WARNING if
      there is a callback. */
  fusec_log_level log_level;
  /** Folder of compiled GPU kernels, shared by processes. Whoever can write to
      it can run code on the GPU as its reader. Null: what FUSEC_CACHE_DIR
      names, else the user's cache folder, unless FUSEC_CACHE is "off". */
  const char *cache_directory;
  /** Bytes that the folder may hold; 0 means 1 GiB. */
  uint64_t cache_bytes;
  /** Not 0: no kernels are kept on disk. */
  int32_t cache_off;
} fusec_context_options;

static inline fusec_context_options fusec_context_options_default(void) {
  fusec_context_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  return options;
}

/** What graphs, devices and executables share: settings and logging. There is
    no global state; a process may have many. Thread-safe. */
typedef struct fusec_context fusec_context;

/** Makes a context. `options` may be null. */
FUSEC_API fusec_error *
fusec_context_create(const fusec_context_options *options,
                     fusec_context **result);
FUSEC_API void fusec_context_free(fusec_context *context);

#ifdef __cplusplus
}
#endif

#endif /* FUSEC_C_BASE_H */
