# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs from files, bytes and text."""

import ctypes as ct
import os
from typing import NamedTuple, Optional, Tuple

from . import _capi as c


class TensorInfo(NamedTuple):
    """An input or output."""
    name: str
    #: "f32", "bf16", "i64", ...
    dtype: str
    #: Sizes, row-major; None where a dimension is open. None: unknown rank.
    shape: Optional[Tuple[Optional[int], ...]]
    #: Names of open dimensions by position; "" where there is none.
    symbols: Tuple[str, ...]


def read_infos(owner, count, get):
    """All infos of `get(owner, i, &info)`."""
    result = []
    for i in range(count):
        raw = c.sized(c.CTensorInfo)
        c.check(get(owner, i, ct.byref(raw)))
        result.append(to_info(raw))
    return result


def to_info(raw):
    """A C struct as TensorInfo."""
    shape, symbols = None, ()
    if raw.rank >= 0:
        shape = tuple(None if raw.shape[i] < 0 else raw.shape[i]
                      for i in range(raw.rank))
        symbols = tuple(raw.symbols[i].decode("utf-8", "replace")
                        if raw.symbols else "" for i in range(raw.rank))
    return TensorInfo(raw.name.decode("utf-8", "replace"),
                      c.DTYPES[raw.dtype], shape, symbols)


class Graph:
    """A graph of operators on tensors. Immutable; threads may share it. Made by
    `load`, `Graph.from_onnx`, `Graph.from_mlir` or `GraphBuilder.finish`."""

    def __init__(self, handle):
        self._handle = handle

    @classmethod
    def from_onnx(cls, data):
        """Parses an ONNX model from bytes."""
        data = bytes(data)
        return cls(c.make(c.lib.fusec_graph_from_onnx, c.lib.fusec_graph_free,
                          c.context(), data, len(data)))

    @classmethod
    def from_mlir(cls, text):
        """Parses MLIR text: a module with one function of graph ops."""
        data = text.encode()
        return cls(c.make(c.lib.fusec_graph_from_mlir, c.lib.fusec_graph_free,
                          c.context(), data, len(data)))

    @property
    def inputs(self):
        """What the caller supplies at run time: a list of TensorInfo."""
        p = self._handle.pointer
        return read_infos(p, c.lib.fusec_graph_num_inputs(p),
                          c.lib.fusec_graph_input)

    @property
    def outputs(self):
        """What a run gives: a list of TensorInfo."""
        p = self._handle.pointer
        return read_infos(p, c.lib.fusec_graph_num_outputs(p),
                          c.lib.fusec_graph_output)

    @property
    def is_bound(self):
        """Whether every size is known, so that the graph can be compiled."""
        return bool(c.lib.fusec_graph_is_bound(self._handle.pointer))

    def bind(self, dims=None, shapes=None):
        """A new graph with sizes for the open dimensions of an ONNX graph.

        dims: {dimension name: size}. shapes: {input name: shape}.
        """
        dims, shapes = dict(dims or {}), dict(shapes or {})
        raw_dims = (c.CDimBinding * len(dims))(
            *[(c.text(name), size) for name, size in dims.items()])
        raw_shapes = (c.CShapeBinding * len(shapes))()
        kept = []
        for raw, (name, shape) in zip(raw_shapes, shapes.items()):
            sizes = c.int64s(shape)
            kept.append(sizes)
            raw.input, raw.rank = c.text(name), len(shape)
            raw.shape = ct.cast(sizes, ct.POINTER(ct.c_int64))
        return Graph(c.make(c.lib.fusec_graph_bind, c.lib.fusec_graph_free,
                            self._handle.pointer, raw_dims, len(dims),
                            raw_shapes, len(shapes)))

    def to_mlir(self):
        """The bound graph as MLIR text."""
        text = ct.c_void_p()
        c.check(c.lib.fusec_graph_to_mlir(self._handle.pointer,
                                          ct.byref(text)))
        return c.take_string(text)


def load(path, dims=None, shapes=None):
    """Reads a graph file: .onnx (with external data beside it) or MLIR text in
    .mlir. Open dimensions are bound if `dims` or `shapes` are given (see
    Graph.bind)."""
    graph = Graph(c.make(c.lib.fusec_graph_from_file, c.lib.fusec_graph_free,
                         c.context(), c.text(path, os.fsencode)))
    return graph.bind(dims, shapes) if dims or shapes else graph
