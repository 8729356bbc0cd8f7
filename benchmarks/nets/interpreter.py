# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an ONNX graph through a namespace of operators (of PyTorch or JAX), for
files that have no hand-written peer.

Sizes are computed with NumPy while the graph is run. What exporters take apart
and libraries have in one piece (hard swish) is put together first.
"""

import numpy as np

from ..common.onnx_file import TYPES

_INTEGERS = {number: code for code_name, (number, code) in TYPES.items()
             if code_name in ("i32", "i64")}


class Program:
    """The graph. `weights`: its float constants, in the order in which `run`
    takes them. Raises ValueError for operators that are missing."""

    def __init__(self, model):
        self.constants, names = {}, {}
        self.weights = []
        nodes = []
        constants = dict(model.constants)
        for node in model.nodes:
            if node.kind == "Constant":
                constants[node.outputs[0]] = node.attributes["value"]
            else:
                nodes.append(node)
        used = {name for node in nodes for name in node.inputs}
        for name, tensor in constants.items():
            if name not in used:
                continue
            # Single numbers are operands, not arrays.
            whole = tensor.dtype in ("i32", "i64")
            if tensor.data.size == 1 and not (whole and tensor.data.ndim):
                self.constants[name] = tensor.data.item()
            elif whole:
                self.constants[name] = tensor.data
            else:
                names[name] = len(self.weights)
                self.weights.append(tensor)
        self.places = names
        self.inputs = [name for name, _, _ in model.inputs]
        self.output = model.outputs[0][0]
        self.nodes = self._put_together(nodes)
        for node in self.nodes:
            if not hasattr(self, f"_{node.kind}"):
                raise ValueError(f"no peer for the operator {node.kind}")

    def _put_together(self, nodes):
        """x * clip(x + 3, 0, 6) / 6 as one node."""
        users, makers = {}, {}
        for node in nodes:
            for name in node.inputs:
                users.setdefault(name, []).append(node)
            for name in node.outputs:
                makers[name] = node
        gone, result = set(), []
        for node in nodes:
            found = node.kind == "Div" and self._hard_swish(node, users, makers)
            if found:
                x, parts = found
                gone.update(id(part) for part in parts)
                node = type(node)("HardSwish", [x], node.outputs)
            result.append(node)
        return [node for node in result if id(node) not in gone]

    def _number(self, name):
        value = self.constants.get(name)
        return float(np.reshape(value, -1)[0]) if value is not None else None

    def _hard_swish(self, div, users, makers):
        """(x, the nodes that go) or None."""
        mul = makers.get(div.inputs[0])
        if self._number(div.inputs[1]) != 6 or not mul or mul.kind != "Mul":
            return None
        for x, other in (mul.inputs, mul.inputs[::-1]):
            clip = makers.get(other)
            if not clip or clip.kind != "Clip" or (
                    clip.attributes.get("min") != 0
                    or clip.attributes.get("max") != 6):
                continue
            add = makers.get(clip.inputs[0])
            if add and add.kind == "Add" and x in add.inputs and 3 in map(
                    self._number, add.inputs):
                parts = [mul, clip, add]
                if all(len(users[part.outputs[0]]) == 1 for part in parts):
                    return x, parts
        return None

    def settle(self, ops, weights, inputs):
        """Runs once and keeps the sizes, so that compilers see none of how
        they are computed."""
        known = {}
        self.run(ops, weights, inputs, known)
        self.nodes = [n for n in self.nodes if n.outputs[0] not in known]
        used = {name for node in self.nodes for name in node.inputs}
        self.constants = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in {**self.constants, **known}.items()
            if name in used}

    def run(self, ops, weights, inputs, sizes=None):
        """The first output. ops: the operators; weights, inputs: arrays.
        sizes: takes the values that NumPy computed."""
        values = dict(self.constants)
        values.update((name, weights[i]) for name, i in self.places.items())
        values.update(zip(self.inputs, inputs))
        for node in self.nodes:
            operands = [values[name] if name else None for name in node.inputs]
            act = getattr(self, f"_{node.kind}")
            value = act(ops, node.attributes, *operands)
            values[node.outputs[0]] = value
            if sizes is not None and isinstance(value, np.ndarray):
                sizes[node.outputs[0]] = value
        return values[self.output]

    @staticmethod
    def _pads(attributes):
        pads = attributes.get("pads", [0, 0, 0, 0])
        if pads[:2] != pads[2:]:
            raise ValueError(f"expected equal pads at both ends, found {pads}")
        return tuple(pads[:2])

    def _Conv(self, ops, a, x, w, bias=None):
        if set(a.get("dilations", [1])) != {1}:
            raise ValueError("expected convolutions without dilation")
        return ops.conv(x, w, bias, tuple(a.get("strides", [1, 1])),
                        self._pads(a), a.get("group", 1))

    def _BatchNormalization(self, ops, a, x, scale, bias, mean, variance):
        return ops.batch_norm(x, scale, bias, mean, variance,
                              a.get("epsilon", 1e-5))

    def _MaxPool(self, ops, a, x):
        return ops.max_pool(x, tuple(a["kernel_shape"]),
                            tuple(a.get("strides", [1, 1])), self._pads(a))

    def _GlobalAveragePool(self, ops, a, x): return ops.mean(x, (2, 3), True)

    def _ReduceMean(self, ops, a, x):
        return ops.mean(x, tuple(a["axes"]), bool(a.get("keepdims", 1)))

    def _Relu(self, ops, a, x): return ops.relu(x)
    def _HardSwish(self, ops, a, x): return ops.hard_swish(x)

    def _HardSigmoid(self, ops, a, x):
        return ops.clamp(x * a.get("alpha", 0.2) + a.get("beta", 0.5), 0.0, 1.0)

    def _Clip(self, ops, a, x, low=None, high=None):
        return ops.clamp(x, a.get("min", low), a.get("max", high))

    def _Add(self, ops, a, x, y): return x + y
    def _Sub(self, ops, a, x, y): return x - y
    def _Mul(self, ops, a, x, y): return x * y
    def _Div(self, ops, a, x, y): return x / y
    def _MatMul(self, ops, a, x, y): return x @ y
    def _Softmax(self, ops, a, x): return ops.softmax(x, a.get("axis", -1))
    def _Identity(self, ops, a, x): return x

    def _Transpose(self, ops, a, x): return ops.permute(x, tuple(a["perm"]))

    # Sizes, in NumPy.
    def _Shape(self, ops, a, x): return np.array(tuple(x.shape), np.int64)

    def _Cast(self, ops, a, x):
        if not isinstance(x, np.ndarray) or a["to"] not in _INTEGERS:
            raise ValueError("expected casts of sizes only")
        return x.astype(_INTEGERS[a["to"]])

    def _Slice(self, ops, a, x, *rest):
        if not isinstance(x, np.ndarray) or rest or x.ndim != 1:
            raise ValueError("expected slices of sizes only")
        return x[a["starts"][0]:a["ends"][0]]

    def _Concat(self, ops, a, *parts): return np.concatenate(parts, a["axis"])

    def _Reshape(self, ops, a, x, shape):
        return ops.reshape(x, tuple(shape))
