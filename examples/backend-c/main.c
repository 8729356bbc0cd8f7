/*===- main.c - a tiny framework with fusec as its backend ------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* The framework's op graph is a list of nodes on f32 matrices. It is handed to *|
|* fusec once, compiled, and run on the framework's own memory through DLPack.  *|
\*===------------------------------------------------------------------------===*/
#include "fusec-c/fusec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*===- The framework --------------------------------------------------------===*/

enum { ROWS = 8, COLUMNS = 16, MAX_NODES = 8 };

typedef enum { OP_INPUT, OP_MUL, OP_SUM_ROWS, OP_DIV, OP_EXP } Op;

/** A node; operands are positions of earlier nodes. */
typedef struct {
  Op op;
  const char *name;
  int lhs, rhs;
} Node;

/** exp(x * x) / sum of each row. */
static const Node graph[] = {{OP_INPUT, "x", 0, 0},
                             {OP_MUL, "square", 0, 0},
                             {OP_EXP, "exp", 1, 0},
                             {OP_SUM_ROWS, "sum", 2, 0},
                             {OP_DIV, "normal", 2, 3}};
enum { NODES = sizeof(graph) / sizeof(graph[0]) };

static void run_op_by_op(const float *x, float *y) {
  for (int row = 0; row < ROWS; ++row) {
    double sum = 0;
    for (int i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i)
      sum += exp((double)x[i] * x[i]);
    for (int i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i)
      y[i] = (float)(exp((double)x[i] * x[i]) / sum);
  }
}

/*===- The backend ----------------------------------------------------------===*/

/** Shows and frees an error; true if there was one. */
static int failed(fusec_error *error) {
  if (!error)
    return 0;
  fprintf(stderr, "error: %s\n", fusec_error_message(error));
  fusec_error_free(error);
  return 1;
}

/** The framework's graph as fusec's; null after an error. */
static fusec_graph *lower(fusec_context *context) {
  static const int64_t shape[] = {ROWS, COLUMNS};
  static const int32_t last[] = {-1};
  fusec_builder *b = NULL;
  fusec_graph *result = NULL;
  fusec_value values[MAX_NODES];
  if (failed(fusec_builder_create(context, &b)))
    return NULL;
  for (int i = 0; i < NODES; ++i) {
    const Node *node = &graph[i];
    fusec_value lhs = i ? values[node->lhs] : FUSEC_NO_VALUE;
    fusec_builder_set_scope(b, node->name);
    switch (node->op) {
    case OP_INPUT:
      values[i] = fusec_builder_input(b, node->name, FUSEC_F32, 2, shape);
      break;
    case OP_MUL:
      values[i] = fusec_builder_binary(b, FUSEC_MUL, lhs, values[node->rhs]);
      break;
    case OP_DIV:
      values[i] = fusec_builder_binary(b, FUSEC_DIV, lhs, values[node->rhs]);
      break;
    case OP_EXP:
      values[i] = fusec_builder_unary(b, FUSEC_EXP, lhs);
      break;
    case OP_SUM_ROWS:
      values[i] = fusec_builder_reduce(b, FUSEC_SUM, lhs, last, 1, 1);
      break;
    }
  }
  fusec_builder_output(b, "y", values[NODES - 1]);
  /* The first error of building, if there was one, comes out here. */
  if (failed(fusec_builder_finish(b, &result)))
    result = NULL;
  fusec_builder_free(b);
  return result;
}

/** A compiled graph that can run; null after an error. */
static fusec_execution_context *compile(fusec_context *context) {
  fusec_execution_context *result = NULL;
  fusec_executable *executable = NULL;
  fusec_graph *lowered = lower(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.target = FUSEC_TARGET_HOST;
  if (lowered && !failed(fusec_compile(lowered, &options, &executable)))
    if (failed(fusec_execution_context_create(executable, NULL, &result)))
      result = NULL;
  /* The execution context keeps alive what it needs. */
  fusec_executable_free(executable);
  fusec_graph_free(lowered);
  return result;
}

static DLTensor view(float *data, int64_t *shape) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 2;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

int main(void) {
  int64_t shape[] = {ROWS, COLUMNS};
  size_t bytes = ROWS * COLUMNS * sizeof(float);
  float *x = aligned_alloc(64, bytes), *y = aligned_alloc(64, bytes);
  float right[ROWS * COLUMNS], largest = 0;
  fusec_context *context = NULL;
  fusec_execution_context *execution = NULL;
  int status = 1;
  for (int i = 0; i < ROWS * COLUMNS; ++i)
    x[i] = (float)(i % 13) / 13 - 0.5f;
  if (failed(fusec_context_create(NULL, &context)))
    return 1;
  execution = compile(context);
  if (execution) {
    DLTensor in = view(x, shape), out = view(y, shape);
    const DLTensor *inputs[] = {&in}, *outputs[] = {&out};
    if (!failed(fusec_execution_context_run_dlpack(execution, inputs, 1,
                                                   outputs, 1, NULL))) {
      run_op_by_op(x, right);
      for (int i = 0; i < ROWS * COLUMNS; ++i)
        largest = fmaxf(largest, fabsf(y[i] - right[i]));
      printf("fusec %s: largest difference %g\n", fusec_version_string(),
             (double)largest);
      status = largest < 1e-6f ? 0 : 1;
    }
  }
  fusec_execution_context_free(execution);
  fusec_context_free(context);
  free(x);
  free(y);
  return status;
}
