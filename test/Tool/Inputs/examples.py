# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples.py FOLDER SOFTMAX MODEL

Runs every example that the help of a command shows, in FOLDER, where it puts
the files that examples name. SOFTMAX is an .mlir file and MODEL a folder with
an ONNX test case. An example may fail for want of a GPU or of NVRTC (code 4)
and for no other reason.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys


def field(number, wire, payload):
    """One protobuf field: wire type 0 (integer) or 2 (bytes)."""
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    head = varint(number << 3 | wire)
    return head + (varint(payload) if wire == 0
                   else varint(len(payload)) + payload)


def relu_model(shape):
    """An ONNX file with y = Relu(x), f32."""
    def value(name):
        dims = b"".join(field(1, 2, field(1, 0, n)) for n in shape)
        tensor = field(1, 0, 1) + field(2, 2, dims)
        return field(1, 2, name) + field(2, 2, field(1, 2, tensor))
    node = field(1, 2, b"x") + field(2, 2, b"y") + field(4, 2, b"Relu")
    graph = (field(1, 2, node) + field(2, 2, b"g") +
             field(11, 2, value(b"x")) + field(12, 2, value(b"y")))
    return (field(1, 0, 8) + field(7, 2, graph) +
            field(8, 2, field(1, 2, b"") + field(2, 0, 17)))


def npy(shape):
    header = ("{'descr': '<f4', 'fortran_order': False, 'shape': %r, }"
              % (shape,)).ljust(117) + "\n"
    count = 1
    for n in shape:
        count *= n
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
            header.encode() + struct.pack(f"<{count}f", *[-1.5] * count))


def main():
    folder, softmax, model = map(pathlib.Path, sys.argv[1:])
    shape = (1, 3, 224, 224)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "test_data_set_0").mkdir(parents=True)
    shutil.copy(softmax, folder / "softmax.mlir")
    shutil.copy(softmax.parent / "product.mlir", folder)
    (folder / "model.onnx").write_bytes(relu_model(shape))
    (folder / "small.onnx").write_bytes(relu_model((1, 3, 32, 32)))
    (folder / "image.npy").write_bytes(npy(shape))
    (folder / "test_data_set_0/input_0.npy").write_bytes(npy(shape))
    for case in ("test/models/mnist_cnn", "onnx/backend/test/data/node/mnist"):
        shutil.copytree(model, folder / case)
    # Its own cache, so that examples touch nobody's.
    environment = {**os.environ, "FUSEC_CACHE_DIR": str(folder / "cache")}
    environment.pop("FUSEC_CACHE", None)

    help_text = subprocess.run(["fusec", "--help"], check=True,
                               capture_output=True, text=True).stdout
    commands = re.findall(r"^  ([a-z]+)  +\w", help_text, re.M)
    first = re.findall(r"^  (fusec .*)$", help_text, re.M)
    examples = list(first)
    for command in commands:
        text = subprocess.run(["fusec", command, "--help"], check=True,
                              capture_output=True, text=True).stdout
        own = re.findall(r"^  (fusec .*)$", text.split("\nexamples:\n")[1],
                         re.M)
        assert own, f"{command} has no example"
        examples += own
    for example in examples:
        done = subprocess.run(["bash", "-c", example], cwd=folder, text=True,
                              capture_output=True, env=environment)
        needs = re.search(r"cuda\b|self-test|ptx|cubin", example)
        allowed = {0, 4} if needs else {0}
        print(done.returncode, example)
        if done.returncode not in allowed:
            sys.exit(f"{example}\n{done.stdout}{done.stderr}")
        if done.returncode == 4:
            assert "fusec: error: " in done.stderr, done.stderr
            assert "fusec: help: " in done.stderr, done.stderr
    print(len(commands), "commands,", len(examples), "examples ran")


main()
