# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perturb.py CASE OUTPUTS TO ELEMENT ERROR

Makes the test case TO of CASE's model and inputs, with the outputs that
`verify --out` wrote as the expected ones, but element ELEMENT (-1: every one)
of output 0 is off by the relative error ERROR.
"""
import pathlib
import shutil
import struct
import sys

case, outputs, to = map(pathlib.Path, sys.argv[1:4])
element, error = int(sys.argv[4]), float(sys.argv[5])
data_set = to / "test_data_set_0"
shutil.rmtree(to, ignore_errors=True)
data_set.mkdir(parents=True)
shutil.copy(case / "model.onnx", to)
for path in (case / "test_data_set_0").glob("input_*"):
    shutil.copy(path, data_set)
for path in (outputs / "test_data_set_0").glob("output_*"):
    shutil.copy(path, data_set)
path = data_set / "output_0.npy"
contents = bytearray(path.read_bytes())
begin = 10 + struct.unpack("<H", contents[8:10])[0]
for at in range(begin, len(contents), 4):
    if element in (-1, (at - begin) // 4):
        (value,) = struct.unpack_from("<f", contents, at)
        struct.pack_into("<f", contents, at, value * (1 + error))
path.write_bytes(contents)
