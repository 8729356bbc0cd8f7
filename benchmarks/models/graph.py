# graph.py - writing ONNX graphs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thin layer over `onnx.helper`: every operator is a method that returns the
name of its output, weights are seeded, and shapes are left to the reader."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DTYPES = {
    "f16": (TensorProto.FLOAT16, np.float16),
    "f32": (TensorProto.FLOAT, np.float32),
}


class Graph:
    """A graph under construction.

    dtype: f16 or f32, of weights and float inputs. seed: of the weights.
    """

    def __init__(self, name, dtype="f32", opset=17, seed=0):
        self.name = name
        self.onnx_type, self.numpy_type = DTYPES[dtype]
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []
        self.inputs, self.outputs = [], []
        self.known = {}

    def fresh(self, stem):
        """A name that nothing has yet."""
        count = self.known.get(stem, 0)
        self.known[stem] = count + 1
        return f"{stem}_{count}"

    def input(self, name, shape, dtype=None):
        self.inputs.append(
            helper.make_tensor_value_info(name, dtype or self.onnx_type, shape)
        )
        return name

    def output(self, name, shape, dtype=None):
        """Gives the value `name` out of the graph."""
        self.outputs.append(
            helper.make_tensor_value_info(name, dtype or self.onnx_type, shape)
        )

    def constant(self, array, stem="const"):
        """An initializer with the given contents."""
        name = self.fresh(stem)
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def number(self, value):
        """A scalar of the graph's float type."""
        return self.constant(np.array(value, self.numpy_type))

    def ints(self, values):
        return self.constant(np.array(values, np.int64), "shape")

    def weight(self, *shape, scale=None):
        """Normal numbers, by default of deviation 1 / sqrt(inputs of one sum)."""
        if scale is None:
            scale = 1 / np.sqrt(max(1, np.prod(shape[1:]) if len(shape) > 2 else shape[0]))
        data = self.random.standard_normal(shape) * scale
        return self.constant(data.astype(self.numpy_type), "weight")

    def near_one(self, *shape):
        """Scales of norms: 1 and a little noise."""
        data = 1 + 0.1 * self.random.standard_normal(shape)
        return self.constant(data.astype(self.numpy_type), "scale")

    def positive(self, *shape):
        """Variances: between 0.5 and 1.5."""
        data = self.random.uniform(0.5, 1.5, shape)
        return self.constant(data.astype(self.numpy_type), "variance")

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        """Adds a node; the name of its output, or names if there are several."""
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        node = helper.make_node(
            kind, list(inputs), names, self.fresh(f"node_{kind}"), domain=domain, **attributes
        )
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def __getattr__(self, kind):
        """`graph.MatMul(a, b)` is `graph.op("MatMul", a, b)`."""
        if not kind[:1].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **rest: self.op(kind, *inputs, **rest)

    def model(self):
        """The model, checked."""
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, self.initializers
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            producer_name="fusec benchmarks",
        )
        model.ir_version = 8 if self.opset < 22 else 10
        onnx.checker.check_model(model)
        return model
