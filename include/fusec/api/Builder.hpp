//===- Builder.hpp - graphs from code ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators give values; the first one whose operands do not fit records its
// error, later ones do nothing, and `finish` reports it. What each operator
// does with shapes and types is said in fusec-c/builder.h under the same name.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_API_BUILDER_HPP
#define FUSEC_API_BUILDER_HPP

#include "fusec/api/Graph.hpp"

#include <type_traits>
#include <utility>

namespace fusec {

/// A value of a GraphBuilder: a tensor with element type and static shape.
/// Cheap to copy; valid as long as its builder. The default is no value.
struct Value {
  fusec_builder *builder = nullptr;
  fusec_value id = FUSEC_NO_VALUE;

  /// False after an error.
  explicit operator bool() const { return id != FUSEC_NO_VALUE; }
  /// Element type and shape, or the error that there is no value.
  Expected<TensorInfo> info() const {
    fusec_tensor_info raw = fusec_tensor_info_default();
    if (Error error{fusec_builder_value(builder, id, &raw)})
      return error;
    return detail::toInfo(raw);
  }
};

/// How elements combine; see fusec_reduction.
enum class Reduction : int32_t {
  Sum = FUSEC_SUM,
  Prod = FUSEC_PROD,
  Max = FUSEC_REDUCE_MAX,
  Min = FUSEC_REDUCE_MIN,
  All = FUSEC_ALL,
  Any = FUSEC_ANY,
};

/// How an update meets the old value; see fusec_scatter.
enum class Scatter : int32_t {
  Assign = FUSEC_SCATTER_ASSIGN,
  Add = FUSEC_SCATTER_ADD,
  Mul = FUSEC_SCATTER_MUL,
  Max = FUSEC_SCATTER_MAX,
  Min = FUSEC_SCATTER_MIN,
};

/// A sliding window; empty lists mean the defaults of fusec_window.
struct Window {
  Shape window, strides, dilations, low, high;
};

/// Layouts of convolutions; see fusec_conv_layout.
enum class ConvLayout : int32_t {
  ChannelsFirst = FUSEC_CONV_CHANNELS_FIRST,
  ChannelsLast = FUSEC_CONV_CHANNELS_LAST,
};

/// Positions of dimensions; -1 is the last one.
using Dims = std::vector<int32_t>;

/// Makes one graph. One thread at a time. Move-only.
class GraphBuilder {
public:
  static Expected<GraphBuilder> create(const Context &context) {
    fusec_builder *builder = nullptr;
    if (Error error{fusec_builder_create(context.get(), &builder)})
      return error;
    return GraphBuilder(builder);
  }
  /// Takes a C handle.
  explicit GraphBuilder(fusec_builder *builder) : handle(builder) {}
  fusec_builder *get() const { return handle.get(); }

  /// The graph of the marked outputs, or the first error of building. The
  /// builder can then only be destroyed.
  Expected<Graph> finish() {
    fusec_graph *graph = nullptr;
    if (Error error{fusec_builder_finish(get(), &graph)})
      return error;
    return Graph(graph);
  }
  /// Names the operators that follow in messages and plans.
  void setScope(const std::string &name) {
    fusec_builder_set_scope(get(), name.c_str());
  }

  // Inputs, constants, outputs.
  Value input(const std::string &name, DType dtype, const Shape &shape) {
    return value(fusec_builder_input(get(), name.c_str(), raw(dtype),
                                     rank(shape), shape.data()));
  }
  void output(const std::string &name, Value x) {
    fusec_builder_output(get(), name.c_str(), x.id);
  }
  /// Copies `bytes` row-major bytes.
  Value constant(const std::string &name, DType dtype, const Shape &shape,
                 const void *data, uint64_t bytes) {
    return value(fusec_builder_constant(get(), name.c_str(), raw(dtype),
                                        rank(shape), shape.data(), data,
                                        bytes));
  }
  /// Borrows the bytes until `release(user)` is called; see
  /// fusec_builder_constant_ref.
  Value constantRef(const std::string &name, DType dtype, const Shape &shape,
                    const void *data, uint64_t bytes,
                    void (*release)(void *) = nullptr, void *user = nullptr) {
    return value(fusec_builder_constant_ref(get(), name.c_str(), raw(dtype),
                                            rank(shape), shape.data(), data,
                                            bytes, release, user));
  }
  /// A tensor (default: a scalar) that holds `number` everywhere.
  Value full(DType dtype, double number, const Shape &shape = {}) {
    return value(fusec_builder_full(get(), raw(dtype), rank(shape),
                                    shape.data(), number));
  }
  Value iota(DType dtype, const Shape &shape, int dimension) {
    return value(fusec_builder_iota(get(), raw(dtype), rank(shape),
                                    shape.data(), dimension));
  }
  Value philox(Value seed, Value offset, const Shape &shape) {
    return value(fusec_builder_philox(get(), seed.id, offset.id, rank(shape),
                                      shape.data()));
  }

  // One operand; the result has its type.
  Value abs(Value x) { return unary(FUSEC_ABS, x); }
  Value neg(Value x) { return unary(FUSEC_NEG, x); }
  Value sign(Value x) { return unary(FUSEC_SIGN, x); }
  Value logicalNot(Value x) { return unary(FUSEC_NOT, x); }
  Value floor(Value x) { return unary(FUSEC_FLOOR, x); }
  Value ceil(Value x) { return unary(FUSEC_CEIL, x); }
  Value trunc(Value x) { return unary(FUSEC_TRUNC, x); }
  Value round(Value x) { return unary(FUSEC_ROUND, x); }
  Value sqrt(Value x) { return unary(FUSEC_SQRT, x); }
  Value rsqrt(Value x) { return unary(FUSEC_RSQRT, x); }
  Value cbrt(Value x) { return unary(FUSEC_CBRT, x); }
  Value exp(Value x) { return unary(FUSEC_EXP, x); }
  Value exp2(Value x) { return unary(FUSEC_EXP2, x); }
  Value expm1(Value x) { return unary(FUSEC_EXPM1, x); }
  Value log(Value x) { return unary(FUSEC_LOG, x); }
  Value log2(Value x) { return unary(FUSEC_LOG2, x); }
  Value log1p(Value x) { return unary(FUSEC_LOG1P, x); }
  Value sin(Value x) { return unary(FUSEC_SIN, x); }
  Value cos(Value x) { return unary(FUSEC_COS, x); }
  Value tan(Value x) { return unary(FUSEC_TAN, x); }
  Value asin(Value x) { return unary(FUSEC_ASIN, x); }
  Value acos(Value x) { return unary(FUSEC_ACOS, x); }
  Value atan(Value x) { return unary(FUSEC_ATAN, x); }
  Value sinh(Value x) { return unary(FUSEC_SINH, x); }
  Value cosh(Value x) { return unary(FUSEC_COSH, x); }
  Value tanh(Value x) { return unary(FUSEC_TANH, x); }
  Value asinh(Value x) { return unary(FUSEC_ASINH, x); }
  Value acosh(Value x) { return unary(FUSEC_ACOSH, x); }
  Value atanh(Value x) { return unary(FUSEC_ATANH, x); }
  Value erf(Value x) { return unary(FUSEC_ERF, x); }
  Value logistic(Value x) { return unary(FUSEC_LOGISTIC, x); }
  Value relu(Value x) { return unary(FUSEC_RELU, x); }
  Value silu(Value x) { return unary(FUSEC_SILU, x); }
  Value softplus(Value x) { return unary(FUSEC_SOFTPLUS, x); }
  Value gelu(Value x) { return unary(FUSEC_GELU, x); }
  Value geluTanh(Value x) { return unary(FUSEC_GELU_TANH, x); }
  /// Float to bool.
  Value isNan(Value x) { return unary(FUSEC_IS_NAN, x); }
  Value isInf(Value x) { return unary(FUSEC_IS_INF, x); }
  Value leakyRelu(Value x, double alpha) {
    return value(fusec_builder_leaky_relu(get(), x.id, alpha));
  }
  Value elu(Value x, double alpha) {
    return value(fusec_builder_elu(get(), x.id, alpha));
  }
  Value hardSigmoid(Value x, double alpha, double beta) {
    return value(fusec_builder_hard_sigmoid(get(), x.id, alpha, beta));
  }

  // Two operands of one element type, broadcast as in NumPy.
  Value add(Value a, Value b) { return binary(FUSEC_ADD, a, b); }
  Value sub(Value a, Value b) { return binary(FUSEC_SUB, a, b); }
  Value mul(Value a, Value b) { return binary(FUSEC_MUL, a, b); }
  Value div(Value a, Value b) { return binary(FUSEC_DIV, a, b); }
  Value rem(Value a, Value b) { return binary(FUSEC_REM, a, b); }
  Value mod(Value a, Value b) { return binary(FUSEC_MOD, a, b); }
  Value pow(Value a, Value b) { return binary(FUSEC_POW, a, b); }
  Value max(Value a, Value b) { return binary(FUSEC_MAX, a, b); }
  Value min(Value a, Value b) { return binary(FUSEC_MIN, a, b); }
  Value atan2(Value y, Value x) { return binary(FUSEC_ATAN2, y, x); }
  Value logicalAnd(Value a, Value b) { return binary(FUSEC_AND, a, b); }
  Value logicalOr(Value a, Value b) { return binary(FUSEC_OR, a, b); }
  Value logicalXor(Value a, Value b) { return binary(FUSEC_XOR, a, b); }
  Value shl(Value a, Value b) { return binary(FUSEC_SHL, a, b); }
  Value shr(Value a, Value b) { return binary(FUSEC_SHR, a, b); }
  // Comparisons give bool.
  Value equal(Value a, Value b) { return compare(FUSEC_EQ, a, b); }
  Value notEqual(Value a, Value b) { return compare(FUSEC_NE, a, b); }
  Value less(Value a, Value b) { return compare(FUSEC_LT, a, b); }
  Value lessEqual(Value a, Value b) { return compare(FUSEC_LE, a, b); }
  Value greater(Value a, Value b) { return compare(FUSEC_GT, a, b); }
  Value greaterEqual(Value a, Value b) { return compare(FUSEC_GE, a, b); }

  Value select(Value pred, Value onTrue, Value onFalse) {
    return value(fusec_builder_select(get(), pred.id, onTrue.id, onFalse.id));
  }
  Value clamp(Value low, Value x, Value high) {
    return value(fusec_builder_clamp(get(), low.id, x.id, high.id));
  }
  Value cast(Value x, DType dtype) {
    return value(fusec_builder_cast(get(), x.id, raw(dtype)));
  }
  Value quantize(Value x, Value scale, Value zeroPoint) {
    return value(fusec_builder_quantize(get(), x.id, scale.id, zeroPoint.id));
  }
  Value dequantize(Value x, Value scale, Value zeroPoint) {
    return value(fusec_builder_dequantize(get(), x.id, scale.id, zeroPoint.id));
  }

  // Movement.
  Value broadcast(Value x, const Shape &shape) {
    return value(
        fusec_builder_broadcast(get(), x.id, rank(shape), shape.data()));
  }
  Value reshape(Value x, const Shape &shape) {
    return value(fusec_builder_reshape(get(), x.id, rank(shape), shape.data()));
  }
  Value transpose(Value x, const Dims &permutation) {
    return value(fusec_builder_transpose(get(), x.id, permutation.data(),
                                         count(permutation)));
  }
  /// The lists have one length; empty strides mean 1.
  Value slice(Value x, const Shape &offsets, const Shape &sizes,
              const Shape &strides = {}) {
    if (sizes.size() != offsets.size() ||
        (!strides.empty() && strides.size() != offsets.size()))
      return value(
          fusec_builder_slice(get(), x.id, nullptr, nullptr, nullptr, -1));
    return value(fusec_builder_slice(get(), x.id, offsets.data(), sizes.data(),
                                     orNull(strides), rank(offsets)));
  }
  Value pad(Value x, Value filler, const Shape &low, const Shape &high) {
    int32_t n = low.size() == high.size() ? rank(low) : -1;
    return value(
        fusec_builder_pad(get(), x.id, filler.id, low.data(), high.data(), n));
  }
  Value concat(const std::vector<Value> &values, int axis) {
    std::vector<fusec_value> ids;
    for (Value x : values)
      ids.push_back(x.id);
    return value(fusec_builder_concat(get(), ids.data(), ids.size(), axis));
  }
  Value gather(Value x, Value indices, int axis) {
    return value(fusec_builder_gather(get(), x.id, indices.id, axis));
  }
  Value gatherElements(Value x, Value indices, int axis) {
    return value(fusec_builder_gather_elements(get(), x.id, indices.id, axis));
  }
  Value gatherNd(Value x, Value indices, int batchDims = 0) {
    return value(fusec_builder_gather_nd(get(), x.id, indices.id, batchDims));
  }
  Value scatterNd(Scatter kind, Value x, Value indices, Value updates) {
    return value(fusec_builder_scatter_nd(
        get(), static_cast<fusec_scatter>(kind), x.id, indices.id, updates.id));
  }
  Value scatterElements(Scatter kind, Value x, Value indices, Value updates,
                        int axis) {
    return value(
        fusec_builder_scatter_elements(get(), static_cast<fusec_scatter>(kind),
                                       x.id, indices.id, updates.id, axis));
  }

  // Reductions.
  Value reduce(Reduction kind, Value x, const Dims &dims,
               bool keepDims = false) {
    return value(fusec_builder_reduce(get(), static_cast<fusec_reduction>(kind),
                                      x.id, dims.data(), count(dims),
                                      keepDims));
  }
  Value sum(Value x, const Dims &dims, bool keepDims = false) {
    return reduce(Reduction::Sum, x, dims, keepDims);
  }
  Value mean(Value x, const Dims &dims, bool keepDims = false) {
    return value(
        fusec_builder_mean(get(), x.id, dims.data(), count(dims), keepDims));
  }
  Value argReduce(Reduction kind, Value x, int dimension,
                  bool selectLast = false) {
    return value(fusec_builder_arg_reduce(get(),
                                          static_cast<fusec_reduction>(kind),
                                          x.id, dimension, selectLast));
  }
  /// The `k` greatest elements (Max) or the least (Min) and their indices.
  std::pair<Value, Value> topK(Reduction kind, Value x, int k, int dimension) {
    fusec_value results[2] = {};
    fusec_builder_top_k(get(), static_cast<fusec_reduction>(kind), x.id, k,
                        dimension, results);
    return {value(results[0]), value(results[1])};
  }
  Value cumulative(Reduction kind, Value x, int dimension,
                   bool exclusive = false, bool reverse = false) {
    return value(fusec_builder_cumulative(get(),
                                          static_cast<fusec_reduction>(kind),
                                          x.id, dimension, exclusive, reverse));
  }
  /// The lists of the window have one entry per dimension of x, or none.
  Value windowReduce(Reduction kind, Value x, const Window &window) {
    fusec_window w = toWindow(window);
    return value(fusec_builder_window_reduce(
        get(), static_cast<fusec_reduction>(kind), x.id, &w));
  }
  Value matmul(Value a, Value b) {
    return value(fusec_builder_matmul(get(), a.id, b.id));
  }
  /// See fusec_contraction; lists of one pairing have one length.
  Value contract(Value a, Value b, const Dims &lhsBatch, const Dims &rhsBatch,
                 const Dims &lhsContract, const Dims &rhsContract,
                 bool allowTf32 = false, bool fastAccumulation = false) {
    fusec_contraction how = fusec_contraction_default();
    how.num_batch = lhsBatch.size() == rhsBatch.size() ? count(lhsBatch) : -1;
    how.lhs_batch = lhsBatch.data();
    how.rhs_batch = rhsBatch.data();
    how.num_contract =
        lhsContract.size() == rhsContract.size() ? count(lhsContract) : -1;
    how.lhs_contract = lhsContract.data();
    how.rhs_contract = rhsContract.data();
    how.allow_tf32 = allowTf32;
    how.fast_accumulation = fastAccumulation;
    return value(fusec_builder_contract(get(), a.id, b.id, &how));
  }
  /// The lists of the window have one entry per spatial dimension, or none.
  Value convolution(Value x, Value kernel, const Window &window = {},
                    int64_t groups = 1,
                    ConvLayout layout = ConvLayout::ChannelsFirst,
                    bool allowTf32 = false) {
    fusec_window w = toWindow(window);
    return value(fusec_builder_convolution(
        get(), x.id, kernel.id, w.count ? &w : nullptr, groups,
        static_cast<fusec_conv_layout>(layout), allowTf32));
  }

  // Normalisations.
  Value softmax(Value x, const Dims &dims) {
    return value(fusec_builder_softmax(get(), x.id, dims.data(), count(dims)));
  }
  Value logSoftmax(Value x, const Dims &dims) {
    return value(
        fusec_builder_log_softmax(get(), x.id, dims.data(), count(dims)));
  }
  /// `bias` may be Value().
  Value layerNorm(Value x, Value scale, Value bias, int axis, double epsilon) {
    return value(fusec_builder_layer_norm(get(), x.id, scale.id, bias.id, axis,
                                          epsilon));
  }
  Value rmsNorm(Value x, Value scale, int axis, double epsilon) {
    return value(fusec_builder_rms_norm(get(), x.id, scale.id, axis, epsilon));
  }
  Value batchNorm(Value x, Value scale, Value bias, Value mean, Value variance,
                  int channel, double epsilon) {
    return value(fusec_builder_batch_norm(get(), x.id, scale.id, bias.id,
                                          mean.id, variance.id, channel,
                                          epsilon));
  }

  // Loops. Bodies are called once, before these return, must not throw, and
  // take and give a std::vector<Value>; see fusec_builder_while and _scan.

  /// `condition(carried)` gives one bool scalar in a vector, `body(carried)`
  /// the next carried values. Gives the last ones.
  template <class Condition, class Body>
  std::vector<Value> whileLoop(const std::vector<Value> &inits,
                               int64_t maxTrips, Condition &&condition,
                               Body &&body) {
    std::vector<fusec_value> raw = ids(inits), results(inits.size());
    auto both = std::make_pair(
        Filler(*this, inits.size(), 1, std::forward<Condition>(condition)),
        Filler(*this, inits.size(), inits.size(), std::forward<Body>(body)));
    fusec_builder_while(
        get(), raw.data(), raw.size(), maxTrips,
        [](fusec_builder *, const fusec_value *in, fusec_value *out, void *p) {
          static_cast<decltype(both) *>(p)->first.fill(in, out);
        },
        [](fusec_builder *, const fusec_value *in, fusec_value *out, void *p) {
          static_cast<decltype(both) *>(p)->second.fill(in, out);
        },
        &both, results.data());
    return wrap(results.data(), results.size());
  }

  /// `body(carried, then one slice of each input)` gives the next carried
  /// values and then `stacked` slices. Gives the last carried values, then the
  /// stacks.
  template <class Body>
  std::vector<Value> scan(const std::vector<Value> &inits,
                          const std::vector<Value> &inputs, int64_t trips,
                          size_t stacked, Body &&body, bool reverse = false) {
    std::vector<fusec_value> carried = ids(inits), scanned = ids(inputs);
    std::vector<fusec_value> results(inits.size() + stacked);
    Filler filler(*this, inits.size() + inputs.size(), results.size(),
                  std::forward<Body>(body));
    fusec_builder_scan(
        get(), carried.data(), carried.size(), scanned.data(), scanned.size(),
        trips, reverse, stacked,
        [](fusec_builder *, const fusec_value *in, fusec_value *out, void *p) {
          static_cast<decltype(filler) *>(p)->fill(in, out);
        },
        &filler, results.data());
    return wrap(results.data(), results.size());
  }

private:
  /// A body as what the C API calls.
  template <class Body>
  struct Filler {
    Filler(GraphBuilder &builder, size_t arguments, size_t yields, Body &&body)
        : builder(builder), arguments(arguments), yields(yields), body(body) {}
    /// Another number of values than expected leaves no value, an error.
    void fill(const fusec_value *in, fusec_value *out) {
      std::vector<Value> made = body(builder.wrap(in, arguments));
      for (size_t i = 0; made.size() == yields && i < yields; ++i)
        out[i] = made[i].id;
    }
    GraphBuilder &builder;
    size_t arguments, yields;
    std::remove_reference_t<Body> &body;
  };
  template <class Body>
  Filler(GraphBuilder &, size_t, size_t, Body &&) -> Filler<Body>;

  static std::vector<fusec_value> ids(const std::vector<Value> &values) {
    std::vector<fusec_value> result;
    for (Value value : values)
      result.push_back(value.id);
    return result;
  }
  std::vector<Value> wrap(const fusec_value *list, size_t count) const {
    std::vector<Value> result;
    for (size_t i = 0; i < count; ++i)
      result.push_back(value(list[i]));
    return result;
  }
  static fusec_dtype raw(DType dtype) {
    return static_cast<fusec_dtype>(dtype);
  }
  static int32_t rank(const Shape &shape) {
    return static_cast<int32_t>(shape.size());
  }
  static int32_t count(const Dims &dims) {
    return static_cast<int32_t>(dims.size());
  }
  static const int64_t *orNull(const Shape &list) {
    return list.empty() ? nullptr : list.data();
  }
  Value value(fusec_value id) const { return {get(), id}; }
  Value unary(fusec_unary op, Value x) {
    return value(fusec_builder_unary(get(), op, x.id));
  }
  Value binary(fusec_binary op, Value a, Value b) {
    return value(fusec_builder_binary(get(), op, a.id, b.id));
  }
  Value compare(fusec_comparison op, Value a, Value b) {
    return value(fusec_builder_compare(get(), op, a.id, b.id));
  }
  /// Lists of different lengths give a window that no operator takes.
  static fusec_window toWindow(const Window &from) {
    fusec_window w = fusec_window_default();
    for (const Shape *list : {&from.window, &from.strides, &from.dilations,
                              &from.low, &from.high}) {
      if (list->empty())
        continue;
      w.count = w.count == 0 || w.count == rank(*list) ? rank(*list) : -1;
      if (w.count < 0)
        return w;
    }
    w.window = orNull(from.window);
    w.strides = orNull(from.strides);
    w.dilations = orNull(from.dilations);
    w.low = orNull(from.low);
    w.high = orNull(from.high);
    return w;
  }

  detail::Handle<fusec_builder, fusec_builder_free> handle;
};

// Arithmetic on values of one builder.
inline Value operator+(Value a, Value b) {
  return {a.builder, fusec_builder_binary(a.builder, FUSEC_ADD, a.id, b.id)};
}
inline Value operator-(Value a, Value b) {
  return {a.builder, fusec_builder_binary(a.builder, FUSEC_SUB, a.id, b.id)};
}
inline Value operator*(Value a, Value b) {
  return {a.builder, fusec_builder_binary(a.builder, FUSEC_MUL, a.id, b.id)};
}
inline Value operator/(Value a, Value b) {
  return {a.builder, fusec_builder_binary(a.builder, FUSEC_DIV, a.id, b.id)};
}
inline Value operator-(Value x) {
  return {x.builder, fusec_builder_unary(x.builder, FUSEC_NEG, x.id)};
}

} // namespace fusec

#endif // FUSEC_API_BUILDER_HPP
