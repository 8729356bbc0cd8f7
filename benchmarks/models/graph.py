# graph.py - writing ONNX graphs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thin layer over `common.onnx_file`: every operator is a method that returns
the name of its output, weights are seeded, and shapes are left to the reader.
Needs NumPy alone; where the package `onnx` is installed, its checker sees every
model."""

import numpy as np

from ..common.onnx_file import TYPES, Model, Node, Tensor, write


class Graph:
    """A graph under construction.

    dtype: f16, bf16 or f32, of weights and float inputs. seed: of the weights.
    """

    def __init__(self, name, dtype="f32", opset=17, seed=0):
        self.name, self.dtype = name, dtype
        self.onnx_type = TYPES[dtype][0]
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers = [], {}
        self.inputs, self.outputs = [], []
        self.known = {}

    def fresh(self, stem):
        """A name that nothing has yet."""
        count = self.known.get(stem, 0)
        self.known[stem] = count + 1
        return f"{stem}_{count}"

    def input(self, name, shape, dtype=None):
        self.inputs.append((name, dtype or self.dtype, shape))
        return name

    def output(self, name, shape, dtype=None):
        """Gives the value `name` out of the graph."""
        self.outputs.append((name, dtype or self.dtype, shape))

    def constant(self, array, stem="const"):
        """An initializer with the given contents: an array or a Tensor."""
        if not isinstance(array, Tensor):
            array = Tensor.of(np.asarray(array, order="C"))
        name = self.fresh(stem)
        self.initializers[name] = array
        return name

    def real(self, values, stem="const"):
        """An initializer of the graph's float type."""
        return self.constant(Tensor.rounded(values, self.dtype), stem)

    def number(self, value):
        """A scalar of the graph's float type."""
        return self.real(np.array(value))

    def ints(self, values):
        return self.constant(np.array(values, np.int64), "shape")

    def weight(self, *shape, scale=None):
        """Normal numbers, by default of deviation 1 / sqrt(inputs of one sum)."""
        if scale is None:
            scale = 1 / np.sqrt(max(1, np.prod(shape[1:]) if len(shape) > 2 else shape[0]))
        return self.real(self.random.standard_normal(shape) * scale, "weight")

    def near_one(self, *shape):
        """Scales of norms: 1 and a little noise."""
        return self.real(1 + 0.1 * self.random.standard_normal(shape), "scale")

    def positive(self, *shape):
        """Variances: between 0.5 and 1.5."""
        return self.real(self.random.uniform(0.5, 1.5, shape), "variance")

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        """Adds a node; the name of its output, or names if there are several."""
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        self.nodes.append(Node(kind, list(inputs), names, attributes,
                               self.fresh(f"node_{kind}"), domain))
        return names[0] if outputs == 1 else names

    def __getattr__(self, kind):
        """`graph.MatMul(a, b)` is `graph.op("MatMul", a, b)`."""
        if not kind[:1].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **rest: self.op(kind, *inputs, **rest)

    def model(self):
        return Model(self.name, self.nodes, self.initializers, self.inputs, self.outputs,
                     self.opset, 8 if self.opset < 22 else 10)


def save(model, path):
    """Writes a model, and checks it where `onnx` is installed."""
    write(model, path)
    try:
        import onnx
    except ImportError:
        return
    onnx.checker.check_model(str(path))
