# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 paired_products.py FOLDER

Gated units as fusions of their own, in sizes that the planner would leave as two
kernels: weights along n and along k, the shared operand on either side, results of 16
and 32 bits, ragged rows, columns and sums, tiles that are mostly empty, weights that are
turned on their way.
"""
import os
import sys


def gated(m, n, k, type_, result, along_k, shared_last, turned=False):
    """logistic-gated product; `shared_last`: (weights . xT) transposed; `turned`:
    weights are transposed first."""
    x = f"tensor<{m}x{k}x{type_}>"
    shapes = [f"tensor<{n}x{k}x{type_}>", f"tensor<{k}x{n}x{type_}>"]
    w, other = shapes if along_k else shapes[::-1]
    y, out = (f"tensor<{s}x{result}>" for s in
              ((f"{n}x{m}" if shared_last else f"{m}x{n}"), f"{m}x{n}"))
    axis = 1 if along_k else 0

    def product(name, weights):
        if shared_last:
            return (f"    {name} = graph.contract {weights}, %xi batch [] x [] contract [{axis}] x [1] : "
                    f"{w}, {x} -> {y}")
        return f"    {name} = graph.contract %xi, {weights} batch [] x [] contract [1] x [{axis}] : {x}, {w} -> {y}"
    end = f"    graph.yield %y : {y}"
    if shared_last:
        end = f"    %z = graph.transpose %y [1, 0] : {y} -> {out}\n    graph.yield %z : {out}"
    given = other if turned else w
    turn = "".join(f"    %{v}t = graph.transpose %{v}i [1, 0] : {given} -> {w}\n" for v in "gu") if turned else ""
    suffix = "t" if turned else "i"
    return f"""func.func @main(%x: {x}, %g: {given}, %u: {given}) -> {out} {{
  %r = graph.fusion(%xi = %x, %gi = %g, %ui = %u) : ({x}, {given}, {given}) -> {out} {{
{turn}{product("%a", "%g" + suffix)}
{product("%b", "%u" + suffix)}
    %s = graph.logistic %a : {y}
    %t = graph.mul %a, %s : {y}
    %y = graph.mul %t, %b : {y}
{end}
  }}
  return %r : {out}
}}
"""


CASES = [
    (200, 136, 72, "bf16", "bf16", False, False),
    (200, 264, 328, "bf16", "bf16", True, False),
    (300, 320, 136, "f16", "f32", False, False),
    (130, 128, 64, "f16", "f32", True, False),
    (130, 8, 8, "bf16", "bf16", False, False),
    (260, 136, 72, "bf16", "bf16", False, True),
    (260, 136, 72, "f16", "f16", True, True),
    (200, 136, 72, "bf16", "bf16", False, False, True),
    (140, 72, 136, "f16", "f32", True, False, True),
]

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for case in CASES:
        m, n, k, type_, result, *flags = case
        words = "".join(f"-{word}" for word, is_set in zip(("along-k", "last", "turned"), flags) if is_set)
        name = f"{m}x{n}x{k}-{type_}-{result}{words}.mlir"
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
            file.write(gated(*case))
