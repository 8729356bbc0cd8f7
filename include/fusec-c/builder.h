/*===- builder.h - graphs from code ----------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* A builder makes a graph operator by operator. Operators give a value; the    *|
|* first one whose operands do not fit records its error and gives               *|
|* FUSEC_NO_VALUE, and so does every later one. fusec_builder_finish reports     *|
|* the error, so building code need not check in between.                        *|
|*                                                                              *|
|* Shapes are static. Integer arguments that name dimensions may be negative:    *|
|* -1 is the last one. Special values (NaN, infinities, integer overflow,        *|
|* division by zero): docs/semantics.md.                                         *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_BUILDER_H
#define FUSEC_C_BUILDER_H

#include "fusec-c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes one graph. One thread at a time. */
typedef struct fusec_builder fusec_builder;

/** A value of a builder: a tensor with element type and static shape. */
typedef uint32_t fusec_value;
#define FUSEC_NO_VALUE ((fusec_value)0)

FUSEC_API fusec_error *fusec_builder_create(fusec_context *context,
                                            fusec_builder **result);
/** Frees a builder, finished or not; null does nothing. */
FUSEC_API void fusec_builder_free(fusec_builder *builder);
/** Makes the graph of the marked outputs. Reports the first error of building,
    naming the operator (INVALID_GRAPH). At least one output is needed. After
    success the builder can only be freed. */
FUSEC_API fusec_error *fusec_builder_finish(fusec_builder *builder,
                                            fusec_graph **result);
/** Describes a value; `info->shape` lives as long as the builder and its name
    is "". INVALID_ARGUMENT for a value that is not the builder's. */
FUSEC_API fusec_error *fusec_builder_value(fusec_builder *builder,
                                           fusec_value value,
                                           fusec_tensor_info *info);
/** Names the operators that follow in messages and plans, until the next call;
    null or "" ends it. */
FUSEC_API void fusec_builder_set_scope(fusec_builder *builder,
                                       const char *name);

/*===- Inputs, constants, outputs -------------------------------------------===*/

/** An input of the graph; inputs are numbered in the order of these calls.
    Names must differ. `shape` has `rank` sizes. */
FUSEC_API fusec_value fusec_builder_input(fusec_builder *, const char *name,
                                          fusec_dtype dtype, int32_t rank,
                                          const int64_t *shape);
/** Marks a value as an output; outputs are numbered in the order of these
    calls. Names must differ. A value may be marked twice. */
FUSEC_API void fusec_builder_output(fusec_builder *, const char *name,
                                    fusec_value value);

/** A constant (weights) whose row-major bytes are copied. `bytes` must be the
    size of the tensor. `name` is for messages and may be null. */
FUSEC_API fusec_value fusec_builder_constant(fusec_builder *, const char *name,
                                             fusec_dtype dtype, int32_t rank,
                                             const int64_t *shape,
                                             const void *data, uint64_t bytes);
/** A constant whose bytes stay the caller's and must not change until
    `release` is called with `user`: when the builder, every graph and every
    compilation that needs them are gone, from any thread. A null `release` is
    not called, and the bytes must then outlive all of these. Executables hold
    their own copy. Booleans are copied at once. */
FUSEC_API fusec_value fusec_builder_constant_ref(
    fusec_builder *, const char *name, fusec_dtype dtype, int32_t rank,
    const int64_t *shape, const void *data, uint64_t bytes,
    void (*release)(void *user), void *user);
/** A tensor that holds `value` everywhere: floats round, integers truncate and
    saturate. Rank 0 is a scalar. */
FUSEC_API fusec_value fusec_builder_full(fusec_builder *, fusec_dtype dtype,
                                         int32_t rank, const int64_t *shape,
                                         double value);
/** The index along `dimension`, converted to `dtype`. */
FUSEC_API fusec_value fusec_builder_iota(fusec_builder *, fusec_dtype dtype,
                                         int32_t rank, const int64_t *shape,
                                         int32_t dimension);
/** Random bits, u32 of any shape, by Philox4x32-10 from two u64 scalars. Equal
    inputs give equal bits on every target. */
FUSEC_API fusec_value fusec_builder_philox(fusec_builder *, fusec_value seed,
                                           fusec_value offset, int32_t rank,
                                           const int64_t *shape);

/*===- Elementwise ----------------------------------------------------------===*/

/** Operators of one operand; the result has its type. ABS, NEG and SIGN take
    floats and integers, NOT integers and bool, the others floats. */
typedef int32_t fusec_unary;
enum {
  FUSEC_ABS = 0, FUSEC_NEG = 1, FUSEC_SIGN = 2, FUSEC_NOT = 3,
  FUSEC_FLOOR = 4, FUSEC_CEIL = 5, FUSEC_TRUNC = 6,
  /** To nearest, ties to even. */
  FUSEC_ROUND = 7,
  FUSEC_SQRT = 8, FUSEC_RSQRT = 9, FUSEC_CBRT = 10,
  FUSEC_EXP = 11, FUSEC_EXP2 = 12, FUSEC_EXPM1 = 13,
  FUSEC_LOG = 14, FUSEC_LOG2 = 15, FUSEC_LOG1P = 16,
  FUSEC_SIN = 17, FUSEC_COS = 18, FUSEC_TAN = 19,
  FUSEC_ASIN = 20, FUSEC_ACOS = 21, FUSEC_ATAN = 22,
  FUSEC_SINH = 23, FUSEC_COSH = 24, FUSEC_TANH = 25,
  FUSEC_ASINH = 26, FUSEC_ACOSH = 27, FUSEC_ATANH = 28,
  FUSEC_ERF = 29,
  /** 1 / (1 + exp(-x)). */
  FUSEC_LOGISTIC = 30,
  /** max(x, 0); floats and integers. */
  FUSEC_RELU = 31,
  /** x * logistic(x). */
  FUSEC_SILU = 32,
  /** log(1 + exp(x)). */
  FUSEC_SOFTPLUS = 33,
  /** x * Phi(x) by erf, and by the tanh formula. */
  FUSEC_GELU = 34, FUSEC_GELU_TANH = 35,
  /** Float to bool. */
  FUSEC_IS_NAN = 36, FUSEC_IS_INF = 37
};
FUSEC_API fusec_value fusec_builder_unary(fusec_builder *, fusec_unary op,
                                          fusec_value x);

/** x where x >= 0, else alpha * x. Floats. */
FUSEC_API fusec_value fusec_builder_leaky_relu(fusec_builder *, fusec_value x,
                                               double alpha);
/** x where x > 0, else alpha * expm1(x). Floats. */
FUSEC_API fusec_value fusec_builder_elu(fusec_builder *, fusec_value x,
                                        double alpha);
/** clamp(alpha * x + beta, 0, 1). Floats. */
FUSEC_API fusec_value fusec_builder_hard_sigmoid(fusec_builder *,
                                                 fusec_value x, double alpha,
                                                 double beta);

/** Operators of two operands of one element type. Shapes broadcast as in NumPy:
    aligned at the last dimension, a size of 1 or a missing dimension repeats.
    AND, OR and XOR take integers and bool, SHL and SHR integers, ATAN2 floats,
    the others floats and integers. */
typedef int32_t fusec_binary;
enum {
  FUSEC_ADD = 0, FUSEC_SUB = 1, FUSEC_MUL = 2,
  /** Integers truncate; x / 0 is 0. */
  FUSEC_DIV = 3,
  /** Remainder with the sign of the dividend (REM) or of the divisor (MOD). */
  FUSEC_REM = 4, FUSEC_MOD = 5,
  FUSEC_POW = 6, FUSEC_MAX = 7, FUSEC_MIN = 8,
  /** Angle of the point (x = rhs, y = lhs). */
  FUSEC_ATAN2 = 9,
  FUSEC_AND = 10, FUSEC_OR = 11, FUSEC_XOR = 12, FUSEC_SHL = 13, FUSEC_SHR = 14
};
FUSEC_API fusec_value fusec_builder_binary(fusec_builder *, fusec_binary op,
                                           fusec_value lhs, fusec_value rhs);

/** Comparisons, broadcasting; the result is bool. With NaN only NE holds. */
typedef int32_t fusec_comparison;
enum {
  FUSEC_EQ = 0, FUSEC_NE = 1, FUSEC_LT = 2, FUSEC_LE = 3, FUSEC_GT = 4,
  FUSEC_GE = 5
};
FUSEC_API fusec_value fusec_builder_compare(fusec_builder *,
                                            fusec_comparison op,
                                            fusec_value lhs, fusec_value rhs);
/** on_true where the bool `pred` holds, else on_false; broadcasting. */
FUSEC_API fusec_value fusec_builder_select(fusec_builder *, fusec_value pred,
                                           fusec_value on_true,
                                           fusec_value on_false);
/** min(max(x, low), high); broadcasting. */
FUSEC_API fusec_value fusec_builder_clamp(fusec_builder *, fusec_value low,
                                          fusec_value x, fusec_value high);
/** Converts the element type: floats round to nearest even (f8 saturates),
    float to integer truncates and saturates, integers wrap, bool is x != 0. */
FUSEC_API fusec_value fusec_builder_cast(fusec_builder *, fusec_value x,
                                         fusec_dtype dtype);
/** saturate(round(x / scale) + zero_point), of the type of zero_point; all
    operands broadcast. */
FUSEC_API fusec_value fusec_builder_quantize(fusec_builder *, fusec_value x,
                                             fusec_value scale,
                                             fusec_value zero_point);
/** (x - zero_point) * scale, of the type of scale; all operands broadcast. */
FUSEC_API fusec_value fusec_builder_dequantize(fusec_builder *, fusec_value x,
                                               fusec_value scale,
                                               fusec_value zero_point);

/*===- Movement -------------------------------------------------------------===*/

/** NumPy's broadcast to a shape. */
FUSEC_API fusec_value fusec_builder_broadcast(fusec_builder *, fusec_value x,
                                              int32_t rank,
                                              const int64_t *shape);
/** The same elements in row-major order; one size may be -1. */
FUSEC_API fusec_value fusec_builder_reshape(fusec_builder *, fusec_value x,
                                            int32_t rank, const int64_t *shape);
/** Result dimension i is operand dimension permutation[i]; one entry per
    dimension. */
FUSEC_API fusec_value fusec_builder_transpose(fusec_builder *, fusec_value x,
                                              const int32_t *permutation,
                                              int32_t count);
/** result[i] = x[offsets + i * strides] for i below `sizes`; one entry per
    dimension. Strides may be negative, not 0; null means 1. Every index read
    must be in range. */
FUSEC_API fusec_value fusec_builder_slice(fusec_builder *, fusec_value x,
                                          const int64_t *offsets,
                                          const int64_t *sizes,
                                          const int64_t *strides,
                                          int32_t count);
/** Surrounds x with the scalar `value`, low[i] before and high[i] behind. */
FUSEC_API fusec_value fusec_builder_pad(fusec_builder *, fusec_value x,
                                        fusec_value value, const int64_t *low,
                                        const int64_t *high, int32_t count);
/** Joins tensors of one type along an axis. */
FUSEC_API fusec_value fusec_builder_concat(fusec_builder *,
                                           const fusec_value *values,
                                           size_t count, int32_t axis);
/** result[a.., i.., b..] = x[a.., indices[i..], b..] at `axis`. Indices are
    integers; negative ones count from the end; the rest is clamped. */
FUSEC_API fusec_value fusec_builder_gather(fusec_builder *, fusec_value x,
                                           fusec_value indices, int32_t axis);
/** result[i] = x[i with indices[i] at `axis`]; the shape of indices. */
FUSEC_API fusec_value fusec_builder_gather_elements(fusec_builder *,
                                                    fusec_value x,
                                                    fusec_value indices,
                                                    int32_t axis);
/** result[b.., i.., s..] = x[b.., indices[b.., i.., :].., s..] with
    `batch_dims` leading dimensions b. */
FUSEC_API fusec_value fusec_builder_gather_nd(fusec_builder *, fusec_value x,
                                              fusec_value indices,
                                              int32_t batch_dims);
/** How an update meets the old value. */
typedef int32_t fusec_scatter;
enum {
  FUSEC_SCATTER_ASSIGN = 0, FUSEC_SCATTER_ADD = 1, FUSEC_SCATTER_MUL = 2,
  FUSEC_SCATTER_MAX = 3, FUSEC_SCATTER_MIN = 4
};
/** x with updates applied at index vectors, in index order (ONNX ScatterND):
    indices [u.., k], updates [u.., dimensions of x from k on]. */
FUSEC_API fusec_value fusec_builder_scatter_nd(fusec_builder *,
                                               fusec_scatter kind,
                                               fusec_value x,
                                               fusec_value indices,
                                               fusec_value updates);
/** x with updates[i] applied at i with indices[i] on `axis`. */
FUSEC_API fusec_value fusec_builder_scatter_elements(
    fusec_builder *, fusec_scatter kind, fusec_value x, fusec_value indices,
    fusec_value updates, int32_t axis);

/*===- Reductions -----------------------------------------------------------===*/

/** How elements combine. ALL and ANY take bool, the others numbers. SUM and
    PROD of narrow floats accumulate in f32. */
typedef int32_t fusec_reduction;
enum {
  FUSEC_SUM = 0, FUSEC_PROD = 1, FUSEC_REDUCE_MAX = 2, FUSEC_REDUCE_MIN = 3,
  FUSEC_ALL = 4, FUSEC_ANY = 5
};
/** Combines all elements along `dimensions`, which are removed, or kept with
    size 1 if `keep_dims`. */
FUSEC_API fusec_value fusec_builder_reduce(fusec_builder *,
                                           fusec_reduction kind, fusec_value x,
                                           const int32_t *dimensions,
                                           int32_t count, int keep_dims);
/** The arithmetic mean; floats. */
FUSEC_API fusec_value fusec_builder_mean(fusec_builder *, fusec_value x,
                                         const int32_t *dimensions,
                                         int32_t count, int keep_dims);
/** Index (i64) of the REDUCE_MAX or REDUCE_MIN along a dimension, which is
    removed. Ties: the first index, or the last if `select_last`. NaN wins. */
FUSEC_API fusec_value fusec_builder_arg_reduce(fusec_builder *,
                                               fusec_reduction kind,
                                               fusec_value x, int32_t dimension,
                                               int select_last);
/** The `k` (1 to 64) greatest elements along a dimension, greatest first, or the
    least if `kind` is REDUCE_MIN: results[0] are their values, results[1] their
    indices (i64). Of equal ones the first index comes first; NaN before all. */
FUSEC_API void fusec_builder_top_k(fusec_builder *, fusec_reduction kind,
                                   fusec_value x, int32_t k, int32_t dimension,
                                   fusec_value results[2]);
/** SUM, PROD, REDUCE_MAX or REDUCE_MIN of the elements up to and including each
    (`exclusive`: without it), from the end if `reverse`. */
FUSEC_API fusec_value fusec_builder_cumulative(fusec_builder *,
                                               fusec_reduction kind,
                                               fusec_value x, int32_t dimension,
                                               int exclusive, int reverse);

/** A sliding window over every dimension (pooling) or the spatial ones
    (convolution). Each array has `count` entries; null means 1 for window,
    strides and dilations and 0 for the paddings. */
typedef struct fusec_window {
  size_t size;
  int32_t count;
  const int64_t *window;
  const int64_t *strides;
  const int64_t *dilations;
  const int64_t *low;
  const int64_t *high;
} fusec_window;

static inline fusec_window fusec_window_default(void) {
  fusec_window window;
  memset(&window, 0, sizeof(window));
  window.size = sizeof(window);
  return window;
}

/** Combines the elements of a sliding window; `count` is the rank of x. The
    size of a dimension becomes
    floor((n + low + high - dilation * (window - 1) - 1) / stride) + 1.
    Padding elements are skipped. */
FUSEC_API fusec_value fusec_builder_window_reduce(fusec_builder *,
                                                  fusec_reduction kind,
                                                  fusec_value x,
                                                  const fusec_window *window);

/** Matrix product as in NumPy: [.., m, k] x [.., k, n] -> [.., m, n] with
    broadcast batch dimensions; a rank-1 operand is a row or column that is
    dropped again. One element type; narrow floats accumulate in f32. */
FUSEC_API fusec_value fusec_builder_matmul(fusec_builder *, fusec_value lhs,
                                           fusec_value rhs);

/** The general contraction. Result: batch dimensions, free dimensions of lhs,
    free dimensions of rhs. The lists pair dimensions of lhs and rhs. */
typedef struct fusec_contraction {
  size_t size;
  int32_t num_batch;
  const int32_t *lhs_batch;
  const int32_t *rhs_batch;
  int32_t num_contract;
  const int32_t *lhs_contract;
  const int32_t *rhs_contract;
  /** Not 0: f32 operands may be rounded to TF32. */
  int32_t allow_tf32;
  /** Not 0: sums of 8-bit floats may be made without promotion, faster and less
      accurate (docs/semantics.md). */
  int32_t fast_accumulation;
} fusec_contraction;

static inline fusec_contraction fusec_contraction_default(void) {
  fusec_contraction contraction;
  memset(&contraction, 0, sizeof(contraction));
  contraction.size = sizeof(contraction);
  return contraction;
}
FUSEC_API fusec_value fusec_builder_contract(fusec_builder *, fusec_value lhs,
                                             fusec_value rhs,
                                             const fusec_contraction *how);

/** Layouts of convolutions: of the input and the result, and of the kernel. */
typedef int32_t fusec_conv_layout;
enum {
  /** [n, c, spatial..] with kernel [out, in / groups, spatial..]. */
  FUSEC_CONV_CHANNELS_FIRST = 0,
  /** [n, spatial.., c] with kernel [spatial.., in / groups, out]. */
  FUSEC_CONV_CHANNELS_LAST = 1
};
/** Cross-correlation of any number of spatial dimensions. `window->count` is
    that number; its `window` is ignored (the kernel says it). Padding elements
    are zeros. `window` may be null. */
FUSEC_API fusec_value fusec_builder_convolution(fusec_builder *,
                                                fusec_value input,
                                                fusec_value kernel,
                                                const fusec_window *window,
                                                int64_t groups,
                                                fusec_conv_layout layout,
                                                int allow_tf32);

/*===- Normalisations -------------------------------------------------------===*/

/** exp(x - max) / sum(exp(x - max)) along `dimensions`. Floats. */
FUSEC_API fusec_value fusec_builder_softmax(fusec_builder *, fusec_value x,
                                            const int32_t *dimensions,
                                            int32_t count);
/** Its logarithm. */
FUSEC_API fusec_value fusec_builder_log_softmax(fusec_builder *, fusec_value x,
                                                const int32_t *dimensions,
                                                int32_t count);
/** (x - mean) / sqrt(var + epsilon) over the dimensions from `axis` on, times
    scale, plus bias (may be FUSEC_NO_VALUE). scale and bias have the shape of
    the normalised dimensions. Statistics in f32 (f64 for f64). */
FUSEC_API fusec_value fusec_builder_layer_norm(fusec_builder *, fusec_value x,
                                               fusec_value scale,
                                               fusec_value bias, int32_t axis,
                                               double epsilon);
/** x / sqrt(mean(x^2) + epsilon) over the dimensions from `axis` on, times
    scale. */
FUSEC_API fusec_value fusec_builder_rms_norm(fusec_builder *, fusec_value x,
                                             fusec_value scale, int32_t axis,
                                             double epsilon);
/** Inference batch normalisation: (x - mean) * (scale / sqrt(variance +
    epsilon)) + bias, each a vector along dimension `channel`. */
FUSEC_API fusec_value fusec_builder_batch_norm(
    fusec_builder *, fusec_value x, fusec_value scale, fusec_value bias,
    fusec_value mean, fusec_value variance, int32_t channel, double epsilon);

/*===- Loops ----------------------------------------------------------------===*/

/** Builds the body of a loop: makes operators with `builder` on `arguments` and
    on values from outside, and stores what the body gives in `yields`. Called
    once, before the function that it was handed to returns. Values that it
    makes are no longer values afterwards. Inputs and outputs of the graph are
    not made in it, and nothing may be thrown through it. */
typedef void (*fusec_loop_body)(fusec_builder *builder,
                                const fusec_value *arguments,
                                fusec_value *yields, void *user);

/** Repeats `body` while `condition` gives true, at most `max_trips` times. Both
    get the `count` carried values, at first `inits`; the condition yields one
    bool scalar, the body the next carried values, of the same types. `results`
    has room for `count` values: the last carried ones. GPU targets do not run
    loops yet; the host and the reference evaluator do. */
FUSEC_API void fusec_builder_while(fusec_builder *, const fusec_value *inits,
                                   size_t count, int64_t max_trips,
                                   fusec_loop_body condition,
                                   fusec_loop_body body, void *user,
                                   fusec_value *results);

/** Steps `trips` times through the leading dimension of `inputs`, from its end
    if `reverse`. The body gets the carried values, at first `inits`, and one
    slice (without the leading dimension) of each input; it yields the next
    carried values, of the same types, and then `num_stacked` slices. `results`
    has room for num_carried + num_stacked values: the last carried ones, then
    the slices stacked along a new leading dimension, each at the place that was
    read with it. Targets as for fusec_builder_while. */
FUSEC_API void fusec_builder_scan(fusec_builder *, const fusec_value *inits,
                                  size_t num_carried,
                                  const fusec_value *inputs, size_t num_inputs,
                                  int64_t trips, int reverse,
                                  size_t num_stacked, fusec_loop_body body,
                                  void *user, fusec_value *results);

#ifdef __cplusplus
}
#endif

#endif /* FUSEC_C_BUILDER_H */
