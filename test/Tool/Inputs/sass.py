# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks in the machine code of graphs for sm_90a that nothing touches global
memory before griddepcontrol.wait. Reads the low 12 bits of each instruction of
16 bytes, which say what it does."""
import os
import struct
import subprocess
import sys

WAIT = 0x82E
# LD, LDG, ST, STG, ATOM, ATOMG, RED, LDGSTS, UTMALDG, UBLKCP, in all forms.
MEMORY = {0x380, 0x980, 0x381, 0x981, 0x385, 0x985, 0x386, 0x986, 0x38A, 0x98A, 0x3A8, 0x9A8, 0x38E, 0x98E,
          0x3AE, 0xFAE, 0x3B4, 0x5B4, 0x3BA, 0x5BA}


def kernels(data):
    """Name and instructions of each function of a cubin (ELF of 64 bits)."""
    sections, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    table = [struct.unpack_from("<IIQQQQ", data, sections + i * size) for i in range(count)]
    for name, _, _, _, offset, length in table:
        start = table[names][4] + name
        text = data[start:data.index(b"\0", start)].decode()
        if text.startswith(".text."):
            yield text[6:], [struct.unpack_from("<Q", data, at)[0] & 0xFFF
                             for at in range(offset, offset + length, 16)]


for family in sys.argv[2:]:
    path = os.path.join(sys.argv[1], family)
    subprocess.run(["fusec", "compile", path + ".mlir", "--emit=cubin", "--arch=sm_90a", "-o", path + ".cubin"],
                   check=True)
    with open(path + ".cubin", "rb") as file:
        found = list(kernels(file.read()))
    assert found, family
    for name, code in found:
        assert code.count(WAIT) >= 1, (family, name)
        touching = [at for at, operation in enumerate(code) if operation in MEMORY]
        assert touching and touching[0] > code.index(WAIT), (family, name, touching[:3], code.index(WAIT))
