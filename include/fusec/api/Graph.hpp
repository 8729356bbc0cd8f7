//===- Graph.hpp - tensors and graphs ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_API_GRAPH_HPP
#define FUSEC_API_GRAPH_HPP

#include "fusec/api/Error.hpp"

#include <cstddef>
#include <vector>

namespace fusec {

/// An element type; see fusec_dtype for what memory holds.
enum class DType : int32_t {
  F64 = FUSEC_F64,
  F32 = FUSEC_F32,
  F16 = FUSEC_F16,
  BF16 = FUSEC_BF16,
  F8E4M3 = FUSEC_F8E4M3,
  F8E5M2 = FUSEC_F8E5M2,
  I64 = FUSEC_I64,
  I32 = FUSEC_I32,
  I16 = FUSEC_I16,
  I8 = FUSEC_I8,
  I4 = FUSEC_I4,
  U64 = FUSEC_U64,
  U32 = FUSEC_U32,
  U16 = FUSEC_U16,
  U8 = FUSEC_U8,
  U4 = FUSEC_U4,
  Bool = FUSEC_BOOL,
};

/// "f32", "bf16", ...
inline const char *name(DType dtype) {
  return fusec_dtype_name(static_cast<fusec_dtype>(dtype));
}
/// Bytes of one element in memory.
inline size_t byteSize(DType dtype) {
  return fusec_dtype_bytes(static_cast<fusec_dtype>(dtype));
}

/// Sizes, row-major: the last dimension is contiguous. Empty is a scalar.
using Shape = std::vector<int64_t>;

/// What is known of an input or output.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  /// False if the file does not say the rank.
  bool hasRank = true;
  /// -1 where a dimension is open.
  Shape shape;
  /// Parallel to `shape`: names of open dimensions, or empty.
  std::vector<std::string> symbols;
  /// Of the whole tensor; -1 if a dimension is open.
  int64_t bytes = 0;
};

namespace detail {
inline TensorInfo toInfo(const fusec_tensor_info &info) {
  TensorInfo result;
  result.name = info.name ? info.name : "";
  result.dtype = static_cast<DType>(info.dtype);
  result.hasRank = info.rank >= 0;
  result.bytes = info.bytes;
  if (info.rank > 0)
    result.shape.assign(info.shape, info.shape + info.rank);
  if (info.symbols)
    result.symbols.assign(info.symbols, info.symbols + info.rank);
  return result;
}

/// All infos of `get(owner, i, &info)` for i below `count`.
template <class T>
std::vector<TensorInfo> allInfos(const T *owner, size_t count,
                                 fusec_error *(*get)(const T *, size_t,
                                                     fusec_tensor_info *)) {
  std::vector<TensorInfo> result;
  for (size_t i = 0; i < count; ++i) {
    fusec_tensor_info info = fusec_tensor_info_default();
    if (!Error(get(owner, i, &info)))
      result.push_back(toInfo(info));
  }
  return result;
}
} // namespace detail

/// Sizes for the open dimensions of an ONNX graph.
struct Bindings {
  /// By name of the dimension.
  std::vector<std::pair<std::string, int64_t>> dims;
  /// By name of the input.
  std::vector<std::pair<std::string, Shape>> shapes;
};

/// A graph of operators; see fusec_graph. Immutable, thread-safe. Move-only.
class Graph {
public:
  /// Reads .onnx (with external data beside it) or MLIR text in .mlir.
  static Expected<Graph> fromFile(const Context &context,
                                  const std::string &path) {
    return make([&](fusec_graph **result) {
      return fusec_graph_from_file(context.get(), path.c_str(), result);
    });
  }
  /// Parses an ONNX model of `bytes` bytes, which may be freed afterwards.
  static Expected<Graph> fromOnnx(const Context &context, const void *data,
                                  size_t bytes) {
    return make([&](fusec_graph **result) {
      return fusec_graph_from_onnx(context.get(), data, bytes, result);
    });
  }
  /// Parses MLIR text: a module with one function of graph ops.
  static Expected<Graph> fromMlir(const Context &context,
                                  std::string_view text) {
    return make([&](fusec_graph **result) {
      return fusec_graph_from_mlir(context.get(), text.data(), text.size(),
                                   result);
    });
  }

  /// Those that the caller supplies at run time, in order.
  std::vector<TensorInfo> inputs() const {
    return detail::allInfos<fusec_graph>(get(), fusec_graph_num_inputs(get()),
                                         fusec_graph_input);
  }
  std::vector<TensorInfo> outputs() const {
    return detail::allInfos<fusec_graph>(get(), fusec_graph_num_outputs(get()),
                                         fusec_graph_output);
  }
  /// True if every size is known, so that the graph can be compiled.
  bool isBound() const { return fusec_graph_is_bound(get()) != 0; }
  /// A new graph with sizes for the open dimensions; ONNX graphs only.
  Expected<Graph> bind(const Bindings &bindings) const {
    std::vector<fusec_dim_binding> dims;
    std::vector<fusec_shape_binding> shapes;
    for (const auto &[name, size] : bindings.dims)
      dims.push_back({name.c_str(), size});
    for (const auto &[input, shape] : bindings.shapes)
      shapes.push_back(
          {input.c_str(), static_cast<int32_t>(shape.size()), shape.data()});
    return make([&](fusec_graph **result) {
      return fusec_graph_bind(get(), dims.data(), dims.size(), shapes.data(),
                              shapes.size(), result);
    });
  }
  /// The bound graph as MLIR text.
  Expected<std::string> toMlir() const {
    char *text = nullptr;
    if (Error error{fusec_graph_to_mlir(get(), &text)})
      return error;
    std::string copy(text);
    fusec_string_free(text);
    return copy;
  }

  /// Takes a C handle.
  explicit Graph(fusec_graph *graph) : handle(graph) {}
  /// The C handle, still owned by this.
  fusec_graph *get() const { return handle.get(); }

private:
  template <class F>
  static Expected<Graph> make(F call) {
    fusec_graph *graph = nullptr;
    if (Error error{call(&graph)})
      return error;
    return Graph(graph);
  }

  detail::Handle<fusec_graph, fusec_graph_free> handle;
};

} // namespace fusec

#endif // FUSEC_API_GRAPH_HPP
