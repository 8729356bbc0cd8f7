# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small .npy files without NumPy.

npy.py write FILE <f4|<i8|... 2x3 1 2 3 4 5 6
npy.py print FILE
"""
import ast
import struct
import sys

FORMATS = {"<f4": "f", "<f8": "d", "<f2": "e", "<i8": "q", "<i4": "i", "|b1": "?"}


def write(path, dtype, shape, values):
    dims = tuple(int(d) for d in shape.split("x") if d)
    header = repr({"descr": dtype, "fortran_order": False, "shape": dims}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    cast = int if dtype[1] in "ib" else float
    data = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *map(cast, values))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def show(path):
    with open(path, "rb") as file:
        contents = file.read()
    (size,) = struct.unpack("<H", contents[8:10])
    header = ast.literal_eval(contents[10 : 10 + size].decode())
    code = FORMATS[header["descr"]]
    data = contents[10 + size :]
    values = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
    print(header["descr"], "x".join(map(str, header["shape"])), *(f"{v:g}" for v in values))


write(*sys.argv[2:5], sys.argv[5:]) if sys.argv[1] == "write" else show(sys.argv[2])
