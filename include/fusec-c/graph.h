/*===- graph.h - graphs from files and text --------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* A graph is immutable and may be compiled many times, by many threads. Bytes  *|
|* and text are untrusted input: sizes are checked and bounded, and paths of    *|
|* external data cannot leave the file's folder.                                *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_GRAPH_H
#define FUSEC_C_GRAPH_H

#include "fusec-c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A graph of operators on tensors. Immutable, thread-safe. */
typedef struct fusec_graph fusec_graph;

/** Reads a file: ONNX (.onnx, with external data beside it) or MLIR text
    (.mlir). INVALID_GRAPH if it is malformed, UNSUPPORTED if it holds an
    operator or type that fusec lacks. */
FUSEC_API fusec_error *fusec_graph_from_file(fusec_context *context,
                                             const char *path,
                                             fusec_graph **result);
/** Parses an ONNX model from memory, which may be freed afterwards. External
    data is refused. */
FUSEC_API fusec_error *fusec_graph_from_onnx(fusec_context *context,
                                             const void *data, size_t bytes,
                                             fusec_graph **result);
/** Parses MLIR text: a module with one function of graph ops. The text may be
    freed afterwards. */
FUSEC_API fusec_error *fusec_graph_from_mlir(fusec_context *context,
                                             const char *text, size_t bytes,
                                             fusec_graph **result);
FUSEC_API void fusec_graph_free(fusec_graph *graph);

/** Numbers of inputs (those that the caller supplies at run time) and of
    outputs; 0 for null. */
FUSEC_API size_t fusec_graph_num_inputs(const fusec_graph *graph);
FUSEC_API size_t fusec_graph_num_outputs(const fusec_graph *graph);
/** Describes an input or output; pointers in `info` live as long as the graph.
    INVALID_ARGUMENT if `index` is out of range. */
FUSEC_API fusec_error *fusec_graph_input(const fusec_graph *graph, size_t index,
                                         fusec_tensor_info *info);
FUSEC_API fusec_error *fusec_graph_output(const fusec_graph *graph,
                                          size_t index,
                                          fusec_tensor_info *info);

/** 1 if every size is known, so that the graph can be compiled; else 0. */
FUSEC_API int fusec_graph_is_bound(const fusec_graph *graph);

/** The size of a named dimension. */
typedef struct fusec_dim_binding {
  const char *name;
  int64_t size;
} fusec_dim_binding;

/** The shape of a named input. */
typedef struct fusec_shape_binding {
  const char *input;
  int32_t rank;
  const int64_t *shape;
} fusec_shape_binding;

/** Gives open dimensions their sizes, by dimension name, by input, or both, and
    makes a new graph. Every open dimension of every input must get a size
    (INVALID_ARGUMENT names the first that does not), and every binding must
    name something. ONNX graphs only: MLIR text and builders say all sizes. */
FUSEC_API fusec_error *
fusec_graph_bind(const fusec_graph *graph, const fusec_dim_binding *dims,
                 size_t num_dims, const fusec_shape_binding *shapes,
                 size_t num_shapes, fusec_graph **result);

/** The bound graph as MLIR text, for people and for fusec_graph_from_mlir.
    Free it with fusec_string_free. */
FUSEC_API fusec_error *fusec_graph_to_mlir(const fusec_graph *graph,
                                           char **result);

#ifdef __cplusplus
}
#endif

#endif /* FUSEC_C_GRAPH_H */
