# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relu.py FILE: writes an ONNX model of one Relu whose first size is open."""
import sys


def field(number, payload):
    """A length-delimited field of up to 127 bytes."""
    return bytes([number << 3 | 2, len(payload)]) + payload


def value(name):
    dims = field(1, field(2, b"batch")) + field(1, b"\x08\x03")
    tensor = b"\x08\x01" + field(2, dims)
    return field(1, name) + field(2, field(1, tensor))


node = field(1, b"x") + field(2, b"y") + field(4, b"Relu")
graph = field(1, node) + field(2, b"g") + field(11, value(b"x")) + field(12, value(b"y"))
with open(sys.argv[1], "wb") as file:
    file.write(b"\x08\x08" + field(7, graph) + field(8, b"\x10\x0d"))
