# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bytes.py FILE EXTENT...: an array of unsigned bytes of all values, in NumPy's
format."""
import math
import random
import sys

shape = tuple(map(int, sys.argv[2:]))
header = repr({"descr": "|u1", "fortran_order": False, "shape": shape}).encode()
header = header.ljust(64 * math.ceil((len(header) + 11) / 64) - 11) + b"\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
    file.write(random.Random(0).randbytes(math.prod(shape)))
