# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of rows that start anywhere in a vector of memory, one file each.

    python3 odd_rows.py FOLDER [WIDTHS]

WIDTHS: a softmax of every width up to that, instead of a few.
"""
import sys

from row_cluster import centred, cross_entropy, farthest, softmax, tensor, write


def weighted(shape, dtype):
    """A root-mean-square norm with weights of another alignment than rows, and
    a second output of another type."""
    t, wide = tensor(shape, dtype), tensor(shape, "f32")
    row, weights = tensor(shape[:1], "f32"), tensor(shape[1:], dtype)
    return f"""func.func @main(%x: {t}, %g: {weights}) -> ({t}, {wide}) {{
  %w = graph.cast %x : {t} -> {wide}
  %q = graph.mul %w, %w : {wide}
  %s = graph.reduce sum %q [1] : {wide} -> {row}
  %n = graph.constant dense<{shape[1]}.0> : {row}
  %m = graph.div %s, %n : {row}
  %eps = graph.constant dense<1.0e-05> : {row}
  %v = graph.add %m, %eps : {row}
  %r = graph.rsqrt %v : {row}
  %rb = graph.broadcast %r [0] : {row} -> {wide}
  %y = graph.mul %w, %rb : {wide}
  %gw = graph.cast %g : {weights} -> {tensor(shape[1:], "f32")}
  %gb = graph.broadcast %gw [1] : {tensor(shape[1:], "f32")} -> {wide}
  %z = graph.mul %y, %gb : {wide}
  %o = graph.cast %z : {wide} -> {t}
  return %o, %y : {t}, {wide}
}}
"""


def statistics(shape, dtype):
    """Sum, mean and squares of rows, and nothing for each element."""
    t, wide = tensor(shape, dtype), tensor(shape, "f32")
    row = tensor(shape[:1], "f32")
    return f"""func.func @main(%x: {t}) -> ({row}, {row}) {{
  %w = graph.cast %x : {t} -> {wide}
  %s = graph.reduce sum %w [1] : {wide} -> {row}
  %n = graph.constant dense<{shape[1]}.0> : {row}
  %m = graph.div %s, %n : {row}
  %mb = graph.broadcast %m [0] : {row} -> {wide}
  %d = graph.sub %w, %mb : {wide}
  %q = graph.mul %d, %d : {wide}
  %v = graph.reduce sum %q [1] : {wide} -> {row}
  return %s, %v : {row}, {row}
}}
"""


def log_sum(shape, dtype):
    """log of the sum of exp, and nothing for each element."""
    t, wide = tensor(shape, dtype), tensor(shape, "f32")
    row = tensor(shape[:1], "f32")
    return f"""func.func @main(%x: {t}) -> {row} {{
  %w = graph.cast %x : {t} -> {wide}
  %m = graph.reduce max %w [1] : {wide} -> {row}
  %mb = graph.broadcast %m [0] : {row} -> {wide}
  %d = graph.sub %w, %mb : {wide}
  %e = graph.exp %d : {wide}
  %s = graph.reduce sum %e [1] : {wide} -> {row}
  %l = graph.log %s : {row}
  %y = graph.add %l, %m : {row}
  return %y : {row}
}}
"""


def total(shape, dtype):
    """The sum of everything, and each element doubled on the way."""
    t, one = tensor(shape, dtype), tensor([], dtype)
    axes = list(range(len(shape)))
    return f"""func.func @main(%x: {t}) -> ({one}, {t}) {{
  %s = graph.reduce sum %x {axes} : {t} -> {one}
  %d = graph.add %x, %x : {t}
  return %s, %d : {one}, {t}
}}
"""


GRAPHS = {
    "norm-f32": centred([9, 1021], [1], "f32"),
    "norm-bf16-many": centred([300, 77], [1], "bf16"),
    "norm-groups": centred([3, 7, 5, 7], [2, 3], "bf16"),
    "norm-rows-of-two": centred([3, 5, 43], [2], "f16"),
    "weighted-bf16": weighted([5, 4097], "bf16"),
    "weighted-f16": weighted([40, 61], "f16"),
    "weighted-f32": weighted([6, 1027], "f32"),
    "farthest-i32": farthest([3, 301], "i32"),
    "farthest-i64": farthest([5, 33], "i64"),
    "farthest-u8": farthest([7, 257], "ui8"),
    "farthest-f16": farthest([33, 75], "f16"),
    "cross-entropy-odd": cross_entropy(997),
    "cross-entropy-long": cross_entropy(4093),
    "statistics-f32": statistics([70, 131], "f32"),
    "statistics-few": statistics([2, 70001], "bf16"),
    "log-sum": log_sum([300, 1001], "bf16"),
    "log-sum-few": log_sum([3, 40009], "f16"),
    "total-f32": total([70003], "f32"),
    "total-f16": total([3, 50021], "f16"),
    "softmax-f64": softmax([5, 129], 1, "f64"),
    "softmax-f8": softmax([9, 77], 1, "f8E4M3FN"),
    "softmax-f16": softmax([3, 4095], 1, "f16"),
    "softmax-f32": softmax([3, 12289], 1, "f32"),
    "softmax-bf16": softmax([4, 4097], 1, "bf16"),
    "softmax-bf16-255": softmax([9, 255], 1, "bf16"),
    "softmax-no-rows": softmax([0, 97], 1, "f32"),
}

if len(sys.argv) > 2:
    GRAPHS = {f"softmax-{n}-{t}": softmax([11, n], 1, t)
              for n in range(1, int(sys.argv[2]) + 1)
              for t in (("bf16", "f32") if n % 4 == 1 else ("bf16",))}
write(sys.argv[1], GRAPHS)
