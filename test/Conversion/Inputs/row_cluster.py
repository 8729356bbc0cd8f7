# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of rows that several passes read, one file each.

    python3 row_cluster.py FOLDER
"""
import os
import sys


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{size}x" for size in shape) + f"{dtype}>"


def softmax(shape, axis, dtype):
    t = tensor(shape, dtype)
    return (f"func.func @main(%x: {t}) -> {t} {{\n"
            f"  %y = graph.softmax %x [{axis}] : {t}\n  return %y : {t}\n}}\n")


def centred(shape, axes, dtype):
    """(x - mean) / deviation, in f32."""
    kept = [i for i in range(len(shape)) if i not in axes]
    row = [shape[i] for i in kept]
    count = 1
    for axis in axes:
        count *= shape[axis]
    narrow, wide = tensor(shape, dtype), tensor(shape, "f32")
    one = tensor(row, "f32")
    return f"""func.func @main(%x: {narrow}) -> ({narrow}, {one}) {{
  %w = graph.cast %x : {narrow} -> {wide}
  %n = graph.constant dense<{count}.0> : {one}
  %s = graph.reduce sum %w {axes} : {wide} -> {one}
  %m = graph.div %s, %n : {one}
  %mb = graph.broadcast %m {kept} : {one} -> {wide}
  %d = graph.sub %w, %mb : {wide}
  %q = graph.mul %d, %d : {wide}
  %v = graph.reduce sum %q {axes} : {wide} -> {one}
  %va = graph.div %v, %n : {one}
  %eps = graph.constant dense<1.0e-05> : {one}
  %ve = graph.add %va, %eps : {one}
  %r = graph.rsqrt %ve : {one}
  %rb = graph.broadcast %r {kept} : {one} -> {wide}
  %y = graph.mul %d, %rb : {wide}
  %o = graph.cast %y : {wide} -> {narrow}
  return %o, %va : {narrow}, {one}
}}
"""


def farthest(shape, dtype):
    """Distances to the largest of a row of integers, and its place."""
    t, place = tensor(shape, dtype), tensor(shape[:1], "i64")
    row = tensor(shape[:1], dtype)
    return f"""func.func @main(%x: {t}) -> ({t}, {place}) {{
  %m = graph.reduce max %x [1] : {t} -> {row}
  %b = graph.broadcast %m [0] : {row} -> {t}
  %d = graph.sub %b, %x : {t}
  %i = graph.arg_reduce max %x dimension = 1 : {t} -> {place}
  return %d, %i : {t}, {place}
}}
"""


def cross_entropy(columns):
    """The gradient's rows; of four classes two are none, one of them equal to
    another's low 32 bits."""
    t, wide, number, same = (tensor([4, columns], d)
                             for d in ("bf16", "f32", "i64", "i1"))
    row, classes = tensor([4], "f32"), tensor([4], "i64")
    return f"""func.func @main(%x: {t}) -> {t} {{
  %w = graph.cast %x : {t} -> {wide}
  %m = graph.reduce max %w [1] : {wide} -> {row}
  %mb = graph.broadcast %m [0] : {row} -> {wide}
  %d = graph.sub %w, %mb : {wide}
  %e = graph.exp %d : {wide}
  %s = graph.reduce sum %e [1] : {wide} -> {row}
  %l = graph.log %s : {row}
  %a = graph.add %l, %m : {row}
  %ab = graph.broadcast %a [0] : {row} -> {wide}
  %p = graph.sub %w, %ab : {wide}
  %q = graph.exp %p : {wide}
  %i = graph.iota 1 : {number}
  %c = graph.constant dense<[5, -7, 4294967301, {columns - 1}]> : {classes}
  %cb = graph.broadcast %c [0] : {classes} -> {number}
  %h = graph.compare eq %i, %cb : {number}
  %f = graph.cast %h : {same} -> {wide}
  %g = graph.sub %q, %f : {wide}
  %y = graph.cast %g : {wide} -> {t}
  return %y : {t}
}}
"""


def masked(columns, first):
    """Softmax of rows that are -inf from `first` on: of most warps."""
    x, number, same = (tensor([4, columns], d) for d in ("f32", "i64", "i1"))
    return f"""func.func @main(%x: {x}) -> {x} {{
  %i = graph.iota 1 : {number}
  %c = graph.constant dense<[{first}, 1, {columns}, 0]> : tensor<4xi64>
  %cb = graph.broadcast %c [0] : tensor<4xi64> -> {number}
  %h = graph.compare lt %i, %cb : {number}
  %n = graph.constant dense<0xFF800000> : tensor<f32>
  %nb = graph.broadcast %n [] : tensor<f32> -> {x}
  %z = graph.select %h, %x, %nb : {same}, {x}
  %y = graph.softmax %z [1] : {x}
  return %y : {x}
}}
"""


GRAPHS = {
    "softmax-bf16": softmax([5, 997], 1, "bf16"),
    "softmax-f16-vectors": softmax([3, 2048], 1, "f16"),
    "softmax-f64": softmax([2, 129], 1, "f64"),
    "softmax-f8": softmax([2, 77], 1, "f8E4M3FN"),
    "softmax-middle": softmax([2, 61, 24], 1, "f32"),
    "softmax-first": softmax([200, 16], 0, "bf16"),
    "softmax-masked": masked(2055, 70),
    "softmax-no-rows": softmax([0, 97], 1, "f32"),
    "softmax-three": softmax([4, 3], 1, "f64"),
    "norm-f32": centred([3, 1021], [1], "f32"),
    "norm-bf16": centred([2, 640], [1], "bf16"),
    "norm-groups": centred([2, 31, 4, 10], [1, 3], "bf16"),
    "norm-batch": centred([7, 9, 13], [0, 2], "f16"),
    "farthest-i32": farthest([3, 301], "i32"),
    "farthest-i64": farthest([2, 33], "i64"),
    "farthest-u8": farthest([3, 257], "ui8"),
    "farthest-f32": farthest([2, 100], "f32"),
    # Several iterations of 16-byte accesses in two warps: copied ahead.
    "copied-softmax-bf16": softmax([2, 40000], 1, "bf16"),
    "copied-softmax-odd": softmax([3, 36005], 1, "bf16"),
    "copied-softmax-f32": softmax([2, 20001], 1, "f32"),
    "copied-softmax-middle": softmax([2, 400, 32], 1, "f32"),
    "copied-norm-f16": centred([2, 33000], [1], "f16"),
    "copied-cross-entropy": cross_entropy(17003),
    "cross-entropy": cross_entropy(1016),
    "cross-entropy-odd": cross_entropy(997),
}


def write(folder, graphs):
    os.makedirs(folder, exist_ok=True)
    for name, text in graphs.items():
        with open(os.path.join(folder, name + ".mlir"), "w") as file:
            file.write(text)


if __name__ == "__main__":
    write(sys.argv[1], GRAPHS)
