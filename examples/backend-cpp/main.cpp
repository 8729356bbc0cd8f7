//===- main.cpp - a tiny framework with fusec as its backend --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mini` stands for your framework: it has tensors and an op graph of its own
// and can run the graph op by op. `FusecBackend` hands that graph to fusec once
// and then runs it on mini's own tensors. The program compares both.
//===----------------------------------------------------------------------===//
#include "fusec/fusec.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

//===----------------------------------------------------------------------===//
// The framework
//===----------------------------------------------------------------------===//

namespace mini {

/// f32, row-major, aligned as fusec wants it (16 bytes; here 64).
class Tensor {
public:
  explicit Tensor(fusec::Shape shape) : shape(std::move(shape)) {
    memory.reset(static_cast<float *>(
        std::aligned_alloc(64, (size() * sizeof(float) + 63) / 64 * 64)));
  }
  size_t size() const {
    size_t count = 1;
    for (int64_t dim : shape)
      count *= static_cast<size_t>(dim);
    return count;
  }
  float *data() const { return memory.get(); }
  size_t bytes() const { return size() * sizeof(float); }

  fusec::Shape shape;

private:
  struct Free {
    void operator()(float *p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> memory;
};

enum class Op { Input, Weight, MatMul, Add, Gelu, Softmax };

/// A node of the op graph; operands are positions of earlier nodes.
struct Node {
  Op op;
  std::string name;
  std::vector<int> operands;
  const Tensor *weight = nullptr;
  fusec::Shape shape;
};
/// The last node is the output.
using Graph = std::vector<Node>;

static Tensor random(fusec::Shape shape, unsigned seed) {
  Tensor tensor(std::move(shape));
  for (size_t i = 0; i < tensor.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data()[i] = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
  }
  return tensor;
}

/// Runs one node at a time, as a framework without fusion does.
static Tensor runOpByOp(const Graph &graph, const Tensor &input) {
  std::vector<Tensor> values;
  for (const Node &node : graph) {
    Tensor out(node.shape);
    size_t columns = static_cast<size_t>(node.shape.back());
    auto operand = [&](int i) { return values[node.operands[i]].data(); };
    if (node.op == Op::Input || node.op == Op::Weight) {
      const Tensor &from = node.op == Op::Input ? input : *node.weight;
      std::copy(from.data(), from.data() + from.size(), out.data());
    } else if (node.op == Op::MatMul) {
      size_t inner = static_cast<size_t>(values[node.operands[0]].shape[1]);
      for (size_t i = 0; i < out.size(); ++i) {
        double sum = 0;
        for (size_t k = 0; k < inner; ++k)
          sum += double(operand(0)[i / columns * inner + k]) *
                 operand(1)[k * columns + i % columns];
        out.data()[i] = static_cast<float>(sum);
      }
    } else if (node.op == Op::Add) {
      for (size_t i = 0; i < out.size(); ++i)
        out.data()[i] = operand(0)[i] + operand(1)[i % columns];
    } else if (node.op == Op::Gelu) {
      for (size_t i = 0; i < out.size(); ++i)
        out.data()[i] = operand(0)[i] * 0.5f *
                        (1 + std::erf(operand(0)[i] * 0.70710678f));
    } else {
      for (size_t row = 0; row < out.size(); row += columns) {
        double sum = 0;
        for (size_t i = row; i < row + columns; ++i)
          sum += std::exp(double(operand(0)[i]));
        for (size_t i = row; i < row + columns; ++i)
          out.data()[i] =
              static_cast<float>(std::exp(double(operand(0)[i])) / sum);
      }
    }
    values.push_back(std::move(out));
  }
  return std::move(values.back());
}

} // namespace mini

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

/// A graph of mini that fusec has compiled.
class FusecBackend {
public:
  static fusec::Expected<FusecBackend> create(const fusec::Context &context,
                                              const mini::Graph &graph) {
    fusec::Expected<fusec::Graph> lowered = lower(context, graph);
    if (!lowered)
      return lowered.takeError();
    // The example's tensors are in host memory; a GPU backend says
    // Target::Cuda and hands device pointers and its stream to `run`.
    fusec::CompileOptions options;
    options.target = fusec::Target::Host;
    fusec::Expected<fusec::Executable> executable =
        fusec::compile(*lowered, options);
    if (!executable)
      return executable.takeError();
    fusec::Expected<fusec::ExecutionContext> execution =
        fusec::ExecutionContext::create(*executable);
    if (!execution)
      return execution.takeError();
    return FusecBackend(std::move(*executable), std::move(*execution));
  }

  fusec::Error run(const mini::Tensor &input, mini::Tensor &output) const {
    return execution.run(std::vector<const void *>{input.data()},
                         {output.data()});
  }
  size_t launches() const {
    size_t count = 0;
    for (const fusec::KernelInfo &kernel : executable.kernels())
      count += kernel.launches;
    return count;
  }

private:
  FusecBackend(fusec::Executable executable, fusec::ExecutionContext execution)
      : executable(std::move(executable)), execution(std::move(execution)) {}

  /// mini's graph as fusec's. Errors are reported once, by `finish`.
  static fusec::Expected<fusec::Graph> lower(const fusec::Context &context,
                                             const mini::Graph &graph) {
    auto builder = fusec::GraphBuilder::create(context);
    if (!builder)
      return builder.takeError();
    fusec::GraphBuilder &b = *builder;
    std::vector<fusec::Value> values;
    for (const mini::Node &node : graph) {
      b.setScope(node.name);
      auto operand = [&](int i) { return values[node.operands[i]]; };
      switch (node.op) {
      case mini::Op::Input:
        values.push_back(b.input(node.name, fusec::DType::F32, node.shape));
        break;
      case mini::Op::Weight:
        // Borrowed: mini keeps its weights while the graph lives.
        values.push_back(b.constantRef(node.name, fusec::DType::F32, node.shape,
                                       node.weight->data(),
                                       node.weight->bytes()));
        break;
      case mini::Op::MatMul:
        values.push_back(b.matmul(operand(0), operand(1)));
        break;
      case mini::Op::Add:
        values.push_back(operand(0) + operand(1));
        break;
      case mini::Op::Gelu:
        values.push_back(b.gelu(operand(0)));
        break;
      case mini::Op::Softmax:
        values.push_back(b.softmax(operand(0), {-1}));
        break;
      }
    }
    b.output("output", values.back());
    return b.finish();
  }

  fusec::Executable executable;
  fusec::ExecutionContext execution;
};

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static int fail(const char *message) {
  std::fprintf(stderr, "error: %s\n", message);
  return 1;
}

int main() {
  using mini::Op;
  mini::Tensor w1 = mini::random({64, 128}, 1), b1 = mini::random({128}, 2);
  mini::Tensor w2 = mini::random({128, 10}, 3), b2 = mini::random({10}, 4);
  mini::Graph graph = {{Op::Input, "x", {}, nullptr, {32, 64}},
                       {Op::Weight, "w1", {}, &w1, {64, 128}},
                       {Op::Weight, "b1", {}, &b1, {128}},
                       {Op::MatMul, "fc1", {0, 1}, nullptr, {32, 128}},
                       {Op::Add, "bias1", {3, 2}, nullptr, {32, 128}},
                       {Op::Gelu, "gelu", {4}, nullptr, {32, 128}},
                       {Op::Weight, "w2", {}, &w2, {128, 10}},
                       {Op::Weight, "b2", {}, &b2, {10}},
                       {Op::MatMul, "fc2", {5, 6}, nullptr, {32, 10}},
                       {Op::Add, "bias2", {8, 7}, nullptr, {32, 10}},
                       {Op::Softmax, "softmax", {9}, nullptr, {32, 10}}};
  fusec::Expected<fusec::Context> context = fusec::Context::create();
  if (!context)
    return fail(context.error().message());
  fusec::Expected<FusecBackend> backend =
      FusecBackend::create(*context, graph);
  if (!backend)
    return fail(backend.error().message());

  mini::Tensor x = mini::random({32, 64}, 5), y({32, 10});
  if (fusec::Error error = backend->run(x, y))
    return fail(error.message());
  mini::Tensor right = mini::runOpByOp(graph, x);
  float largest = 0;
  for (size_t i = 0; i < y.size(); ++i)
    largest = std::max(largest, std::fabs(y.data()[i] - right.data()[i]));
  std::printf("fusec %s: %zu ops in %zu launches, largest difference %g\n",
              fusec_version_string(), size_t(7), backend->launches(),
              double(largest));
  return largest < 1e-5f ? 0 : fail("the results differ");
}
