# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX files without the package `onnx`: what generators and the peers of
whole networks need of them.

Protocol buffers are a sequence of (field number, kind, value). `Message` writes
one without copying large values; `fields` reads one. Tensors keep their bits:
bf16 is held as uint16, as NumPy has no such type.
"""

import mmap
import struct
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np

#: fusec's name of a type: (number in ONNX, NumPy type that holds its bits).
TYPES = {"f32": (1, "<f4"), "u8": (2, "u1"), "i8": (3, "i1"), "u16": (4, "<u2"),
         "i16": (5, "<i2"), "i32": (6, "<i4"), "i64": (7, "<i8"),
         "bool": (9, "?"), "f16": (10, "<f2"), "f64": (11, "<f8"),
         "u32": (12, "<u4"), "u64": (13, "<u8"), "bf16": (16, "<u2")}
_NAMES = {number: name for name, (number, _) in TYPES.items()}


@dataclass
class Tensor:
    """A constant: `data` is an array of the bits of type `dtype`."""
    dtype: str
    data: np.ndarray

    @classmethod
    def of(cls, array):
        """From an array of a type that NumPy has."""
        kinds = {np.dtype(code): name for name, (_, code) in TYPES.items()
                 if name != "bf16"}
        return cls(kinds[array.dtype], array)

    @classmethod
    def rounded(cls, array, dtype):
        """From numbers, rounded to a float type (bf16: to nearest even)."""
        if dtype != "bf16":
            return cls(dtype, np.asarray(array).astype(TYPES[dtype][1]))
        bits = np.asarray(array, np.float32).view(np.uint32)
        bits = bits + 0x7fff + ((bits >> 16) & 1)
        return cls(dtype, (bits >> 16).astype(np.uint16))

    def numbers(self):
        """An array that NumPy can compute with; bf16 as float32."""
        if self.dtype != "bf16":
            return self.data
        return (self.data.astype(np.uint32) << 16).view(np.float32)


@dataclass
class Node:
    """An operator. Attributes are int, float, str, list, Tensor."""
    kind: str
    inputs: List[str]
    outputs: List[str]
    attributes: Dict[str, object] = field(default_factory=dict)
    name: str = ""
    domain: str = ""


@dataclass
class Model:
    """A graph. `inputs`, `outputs`: (name, dtype, shape); open sizes of a file
    are None."""
    name: str
    nodes: List[Node]
    constants: Dict[str, Tensor]
    inputs: List[Tuple[str, str, Optional[list]]]
    outputs: List[Tuple[str, str, Optional[list]]]
    opset: int = 17
    ir_version: int = 8


# -- Writing ------------------------------------------------------------------


def _varint(value):
    value &= (1 << 64) - 1  # negative: two's complement
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Message:
    """A message under construction: a list of buffers."""

    def __init__(self):
        self.parts, self.size = [], 0

    def _add(self, part):
        self.parts.append(part)
        self.size += len(part)

    def integer(self, number, value):
        self._add(_varint(number << 3) + _varint(value))
        return self

    def real(self, number, value):
        self._add(_varint(number << 3 | 5) + struct.pack("<f", value))
        return self

    def data(self, number, value):
        """Text, bytes or a nested message."""
        if isinstance(value, str):
            value = value.encode()
        nested = isinstance(value, Message)
        size = value.size if nested else len(value)
        self._add(_varint(number << 3 | 2) + _varint(size))
        for part in value.parts if nested else [value]:
            self._add(part)
        return self


def _write_tensor(tensor, name):
    m = Message()
    for size in tensor.data.shape:
        m.integer(1, size)
    m.integer(2, TYPES[tensor.dtype][0]).data(8, name)
    array = np.ascontiguousarray(tensor.data)
    return m.data(9, memoryview(array.reshape(-1).view(np.uint8)))


def _write_attribute(name, value):
    m = Message().data(1, name)
    if isinstance(value, Tensor):
        return m.data(5, _write_tensor(value, "")).integer(20, 4)
    if isinstance(value, str):
        return m.data(4, value).integer(20, 3)
    if isinstance(value, float):
        return m.real(2, value).integer(20, 1)
    if isinstance(value, (list, tuple)):
        reals = any(isinstance(item, float) for item in value)
        for item in value:
            m.real(7, item) if reals else m.integer(8, int(item))
        return m.integer(20, 6 if reals else 7)
    return m.integer(3, int(value)).integer(20, 2)


def _write_value(value):
    name, dtype, shape = value
    sizes = Message()
    for size in shape:
        sizes.data(1, Message().integer(1, size))
    kind = Message().integer(1, TYPES[dtype][0]).data(2, sizes)
    return Message().data(1, name).data(2, Message().data(1, kind))


def write(model, path):
    """Writes a Model as a file; in one piece, so below 2 GB."""
    graph = Message()
    for node in model.nodes:
        m = Message()
        for name in node.inputs:
            m.data(1, name)
        for name in node.outputs:
            m.data(2, name)
        m.data(3, node.name).data(4, node.kind)
        for name, value in node.attributes.items():
            m.data(5, _write_attribute(name, value))
        graph.data(1, m.data(7, node.domain))
    graph.data(2, model.name)
    for name, tensor in model.constants.items():
        graph.data(5, _write_tensor(tensor, name))
    for number, values in ((11, model.inputs), (12, model.outputs)):
        for value in values:
            graph.data(number, _write_value(value))
    whole = Message().integer(1, model.ir_version)
    whole.data(2, "fusec benchmarks").data(7, graph)
    whole.data(8, Message().data(1, "").integer(2, model.opset))
    if whole.size >= 1 << 31:
        raise ValueError(f"expected a model below 2 GB, found {whole.size} "
                         "bytes")
    with open(path, "wb") as file:
        for part in whole.parts:
            file.write(part)


# -- Reading ------------------------------------------------------------------


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("not an ONNX file: an integer of over 64 bits")


def fields(data):
    """(number, value) of each field: an int, or a memoryview of its bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = _read_varint(data, at)
            if size is None or at + size > end:
                raise ValueError("not an ONNX file: a field is cut short")
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _integers(value):
    """One integer, or packed ones."""
    if isinstance(value, int):
        return [_signed(value)]
    result, at = [], 0
    while at < len(value):
        item, at = _read_varint(value, at)
        result.append(_signed(item))
    return result


def _text(value):
    return bytes(value).decode()


def _read_tensor(data):
    """(name, Tensor). Raises ValueError for data outside the file."""
    shape, number, name, raw, lists = [], 1, "", None, {}
    for key, value in fields(data):
        if key == 1:
            shape += _integers(value)
        elif key == 2:
            number = value
        elif key == 8:
            name = _text(value)
        elif key == 9:
            raw = value
        elif key in (5, 7, 11):
            lists.setdefault(key, []).extend(_integers(value))
        elif key in (4, 10):
            lists.setdefault(key, []).extend(np.frombuffer(
                value, "<f4" if key == 4 else "<f8"))
        elif key in (13, 14) and value:
            raise ValueError(f"{name or 'a tensor'}: expected data in the "
                             "file, found external data")
    if number not in _NAMES:
        raise ValueError(f"{name}: unknown element type {number}")
    dtype = np.dtype(TYPES[_NAMES[number]][1])
    if raw is not None:
        array = np.frombuffer(raw, dtype)
    else:
        items = next(iter(lists.values()), [])
        # 16-bit floats are their bits, in the list of 32-bit integers.
        bits = number in (10, 16)
        array = np.array(items, np.uint16 if bits else dtype).view(dtype)
    return name, Tensor(_NAMES[number], array.reshape(shape))


def _read_attribute(data):
    name, value, kind, many = "", None, 0, []
    for key, item in fields(data):
        if key == 1:
            name = _text(item)
        elif key == 20:
            kind = item
        elif key in (2, 7):
            many += np.frombuffer(item, "<f4").tolist()
        elif key in (3, 8):
            many += _integers(item)
        elif key == 4:
            value = bytes(item).decode(errors="replace")
        elif key == 5:
            value = _read_tensor(item)[1]
    if kind in (6, 7):
        value = many
    elif value is None and many:
        value = many[0]
    return name, value


def _read_node(data):
    node = Node("", [], [])
    for key, value in fields(data):
        if key in (1, 2):
            (node.inputs if key == 1 else node.outputs).append(_text(value))
        elif key == 3:
            node.name = _text(value)
        elif key == 4:
            node.kind = _text(value)
        elif key == 5:
            name, item = _read_attribute(value)
            node.attributes[name] = item
        elif key == 7:
            node.domain = _text(value)
    return node


def _child(data, number):
    """The last nested message of that number; empty if there is none."""
    found = memoryview(b"")
    for key, value in fields(data):
        if key == number:
            found = value
    return found


def _read_value(data):
    name = _text(_child(data, 1))
    tensor = _child(_child(data, 2), 1)
    number, shape = 0, None
    for key, value in fields(tensor):
        if key == 1:
            number = value
        elif key == 2:
            shape = []
            for _, size in fields(value):
                known = [v for k, v in fields(size) if k == 1]
                shape.append(known[0] if known else None)
    return name, _NAMES.get(number, ""), shape


def read(path):
    """The Model of a file. Constants are views of it."""
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    model = Model("", [], {}, [], [])
    for key, value in fields(data):
        if key == 1:
            model.ir_version = value
        elif key == 8:
            version = [v for k, v in fields(value) if k == 2]
            if not _child(value, 1):
                model.opset = version[0]
        elif key == 7:
            _read_graph(value, model)
    return model


def _read_graph(data, model):
    for key, value in fields(data):
        if key == 1:
            model.nodes.append(_read_node(value))
        elif key == 2:
            model.name = _text(value)
        elif key == 5:
            name, tensor = _read_tensor(value)
            model.constants[name] = tensor
        elif key in (11, 12):
            (model.inputs if key == 11 else model.outputs).append(
                _read_value(value))
    # Old files name their constants among the inputs, too.
    model.inputs = [v for v in model.inputs if v[0] not in model.constants]
