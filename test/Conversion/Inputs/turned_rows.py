# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that are reduced and stored transposed: turned_rows.py FOLDER writes one
graph per type, number of rows and of columns, with and without batches."""
import os
import sys

HEADER = "func.func @main(%x: tensor<{source}x{type}>) -> (tensor<{turned}x{type}>, {more}) {{\n"
NORMED = """\
  %f = graph.cast %x : tensor<{source}x{type}> -> tensor<{source}xf32>
  %m = graph.reduce max %f [{axis}] : tensor<{source}xf32> -> tensor<{kept}xf32>
  %b = graph.broadcast %m {outer} : tensor<{kept}xf32> -> tensor<{source}xf32>
  %d = graph.sub %f, %b : tensor<{source}xf32>
  %n = graph.cast %d : tensor<{source}xf32> -> tensor<{source}x{type}>
"""


def shape(sizes):
    return "x".join(map(str, sizes))


def norm(rows, columns, type_, batches):
    """The rows less their maxima, turned, and as they are."""
    source = [*batches, rows, columns]
    axis = len(batches) + 1
    kept = source[:-1]
    turned = [*batches, columns, rows]
    order = [*range(len(batches)), axis, axis - 1]
    words = dict(source=shape(source), type=type_, kept=shape(kept), axis=axis, outer=[*range(axis)], turned=shape(turned),
                 more=f"tensor<{shape(source)}x{type_}>, tensor<{shape(kept)}xf32>")
    return ((HEADER + NORMED).format(**words)
            + f"  %t = graph.transpose %n {order} : tensor<{shape(source)}x{type_}> -> tensor<{shape(turned)}x{type_}>\n"
            + "  return %t, %n, %m : tensor<{turned}x{type}>, {more}\n}}\n".format(**words))


def blocks(rows, groups, columns, type_, to):
    """Blocks of a row over their maxima, turned, in another type."""
    flat, cut = f"{rows}x{groups * columns}", f"{rows}x{groups}x{columns}"
    turned = f"{groups * columns}x{rows}"
    return f"""\
func.func @main(%x: tensor<{flat}x{type_}>) -> (tensor<{turned}x{to}>, tensor<{rows}x{groups}xf32>) {{
  %c = graph.cast %x : tensor<{flat}x{type_}> -> tensor<{flat}xf32>
  %r = graph.reshape %c : tensor<{flat}xf32> -> tensor<{cut}xf32>
  %a = graph.abs %r : tensor<{cut}xf32>
  %m = graph.reduce max %a [2] : tensor<{cut}xf32> -> tensor<{rows}x{groups}xf32>
  %b = graph.broadcast %m [0, 1] : tensor<{rows}x{groups}xf32> -> tensor<{cut}xf32>
  %q = graph.mul %r, %b : tensor<{cut}xf32>
  %f = graph.reshape %q : tensor<{cut}xf32> -> tensor<{flat}xf32>
  %n = graph.cast %f : tensor<{flat}xf32> -> tensor<{flat}x{to}>
  %t = graph.transpose %n [1, 0] : tensor<{flat}x{to}> -> tensor<{turned}x{to}>
  return %t, %m : tensor<{turned}x{to}>, tensor<{rows}x{groups}xf32>
}}
"""


def graphs():
    for type_, sizes in (("f32", (32, 33, 1025)), ("bf16", (32, 64, 127)), ("f64", (33,))):
        for rows in sizes:
            yield f"norm-{type_}-{rows}x96", norm(rows, 96, type_, [])
    for columns in (2, 31, 33, 100, 257, 1024):
        yield f"norm-bf16-48x{columns}", norm(48, columns, "bf16", [])
    for batches in ([1], [3], [2, 1, 2]):
        yield f"norm-f16-{shape(batches)}-40x64", norm(40, 64, "f16", batches)
    for rows, groups, columns in ((128, 4, 32), (300, 7, 32), (33, 3, 16), (64, 5, 24), (1024, 1, 32), (257, 2, 31)):
        for type_, to in (("bf16", "f8E4M3FN"), ("f32", "i8"), ("f16", "bf16")):
            yield f"blocks-{rows}x{groups}x{columns}-{type_}-{to}", blocks(rows, groups, columns, type_, to)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, text in graphs():
        with open(os.path.join(sys.argv[1], name + ".mlir"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
