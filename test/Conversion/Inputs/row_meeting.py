# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms of groups of channels, the channels last: one region and file each.

    python3 row_meeting.py FOLDER
"""
import os
import sys


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{size}x" for size in shape) + f"{dtype}>"


def region(inputs, outputs, body):
    """`inputs` are (name, type), `outputs` (value, type)."""
    types = ", ".join(t for _, t in inputs)
    results = ", ".join(t for _, t in outputs)
    arguments = ", ".join(f"%{name}_in: {t}" for name, t in inputs)
    bound = ", ".join(f"%{name} = %{name}_in" for name, _ in inputs)
    made = ", ".join(f"%0#{i}" for i in range(len(outputs)))
    return f"""func.func @main({arguments}) -> ({results}) {{
  %0:{len(outputs)} = graph.fusion({bound}) : ({types}) -> ({results}) {{
{body}
    graph.yield {", ".join(value for value, _ in outputs)} : {results}
  }}
  return {made} : {results}
}}
"""


def norm(shape, axes, dtype, residual=False):
    """silu(gamma (x - mean) / deviation) of f32, x + r before if `residual`;
    outputs the result, the mean and, if residual, the sum."""
    kept = [i for i in range(len(shape)) if i not in axes]
    row = [shape[i] for i in kept]
    count = 1
    for axis in axes:
        count *= shape[axis]
    wide_type = dtype if dtype == "f64" else "f32"
    narrow, wide = tensor(shape, dtype), tensor(shape, wide_type)
    one, last = tensor(row, wide_type), tensor(shape[-1:], wide_type)

    def cast(out, value, a, b):
        return "" if a == b else f"    {out} = graph.cast {value} : {a} -> {b}\n"
    same = narrow == wide
    x, r = ("%x", "%r") if same else ("%xw", "%rw")
    body = cast("%xw", "%x", narrow, wide)
    if residual:
        body += cast("%rw", "%r", narrow, wide)
        body += f"    %w = graph.add {x}, {r} : {wide}\n"
        x = "%w"
    body += f"""    %n = graph.constant dense<{max(count, 1)}.0> : {one}
    %s = graph.reduce sum {x} {axes} : {wide} -> {one}
    %m = graph.div %s, %n : {one}
    %mb = graph.broadcast %m {kept} : {one} -> {wide}
    %d = graph.sub {x}, %mb : {wide}
    %q = graph.mul %d, %d : {wide}
    %v = graph.reduce sum %q {axes} : {wide} -> {one}
    %va = graph.div %v, %n : {one}
    %eps = graph.constant dense<1.0e-05> : {one}
    %ve = graph.add %va, %eps : {one}
    %t = graph.rsqrt %ve : {one}
    %tb = graph.broadcast %t {kept} : {one} -> {wide}
    %y = graph.mul %d, %tb : {wide}
    %gb = graph.broadcast %g [{len(shape) - 1}] : {last} -> {wide}
    %z = graph.mul %y, %gb : {wide}
    %l = graph.silu %z : {wide}
"""
    body += cast("%o", "%l", wide, narrow)
    out = "%l" if same else "%o"
    inputs = [("x", narrow)] + [("r", narrow)] * residual + [("g", last)]
    outputs = [(out, narrow), ("%m", one)]
    if residual:
        outputs.append((x, wide))
    return region(inputs, outputs, body)


def extremes(shape, axes, dtype):
    """Each element less the largest and plus the least of its row."""
    kept = [i for i in range(len(shape)) if i not in axes]
    t, one = tensor(shape, dtype), tensor([shape[i] for i in kept], dtype)
    return region([("x", t)], [("%y", t), ("%a", one)], f"""
    %a = graph.reduce max %x {axes} : {t} -> {one}
    %b = graph.reduce min %x {axes} : {t} -> {one}
    %ab = graph.broadcast %a {kept} : {one} -> {t}
    %bb = graph.broadcast %b {kept} : {one} -> {t}
    %d = graph.sub %x, %ab : {t}
    %y = graph.add %d, %bb : {t}""")


def softmax(shape, axes, dtype):
    kept = [i for i in range(len(shape)) if i not in axes]
    t, one = tensor(shape, dtype), tensor([shape[i] for i in kept], dtype)
    return region([("x", t)], [("%y", t)], f"""
    %m = graph.reduce max %x {axes} : {t} -> {one}
    %mb = graph.broadcast %m {kept} : {one} -> {t}
    %d = graph.sub %x, %mb : {t}
    %e = graph.exp %d : {t}
    %s = graph.reduce sum %e {axes} : {t} -> {one}
    %sb = graph.broadcast %s {kept} : {one} -> {t}
    %y = graph.div %e, %sb : {t}""")


def cases():
    groups = [1, 3]
    yield "group-bf16", norm([2, 48, 4, 10], groups, "bf16")
    yield "group-odd", norm([3, 37, 5, 3], groups, "bf16")
    yield "group-f16", norm([2, 61, 3, 4], groups, "f16")
    yield "group-f32", norm([1, 200, 7, 2], groups, "f32", residual=True)
    yield "group-f64", norm([2, 33, 4, 6], groups, "f64")
    yield "group-residual", norm([2, 129, 32, 10], groups, "bf16", True)
    yield "group-wide", norm([1, 19, 3, 24], groups, "bf16")
    yield "group-many", norm([1, 9, 300, 10], groups, "bf16")
    yield "group-batches", norm([150, 9, 4, 5], groups, "f32")
    yield "group-short", norm([2, 2, 4, 10], groups, "bf16")
    yield "group-3d", norm([2, 5, 7, 4, 6], [1, 2, 4], "bf16")
    yield "group-i32", extremes([2, 50, 4, 10], groups, "i32")
    yield "group-i8", extremes([2, 130, 4, 10], groups, "i8")
    yield "group-i64", extremes([1, 31, 5, 3], groups, "i64")
    yield "group-u16", extremes([2, 40, 2, 12], groups, "ui16")
    yield "group-f8", extremes([2, 40, 2, 12], groups, "f8E4M3FN")
    yield "group-softmax", softmax([2, 30, 3, 5], groups, "f32")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, text in cases():
        with open(os.path.join(sys.argv[1], name + ".mlir"), "w") as file:
            file.write(text)
