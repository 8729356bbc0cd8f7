# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 8-bit integers as quantised networks spell them."""

from .case import In, Matmul, Product, Sample, add, as_double


def quantised(m, n, k):
    """x [m, k] . w [n, k] in i32, dequantised (a scale for x, one for each row
    of w), bias, tanh GELU, and i8 again, in bf16 arithmetic. The peers have the
    product alone."""
    def graph(b, x, w, sx, sw, bias, sy):
        p = b.matmul(b.cast(x, "i32"), b.transpose(b.cast(w, "i32"), [1, 0]))
        h = b.cast(p, "bf16") * (sx * sw) + bias
        zero = b.full("i8", 0)
        return {"y": b.quantize(b.gelu_tanh(h), sy, zero)}

    def formula(F, x, w, sx, sw, bias, sy):
        x, w = as_double(x), as_double(w)
        h = (x @ w.swapaxes(0, 1)) * (sx * sw) + bias
        g = 0.5 * h * (1 + F.tanh(0.7978845608028654 * (h + 0.044715 * h ** 3)))
        return F.quantize(g, sy, "i8"),

    def native(torch, x, w, *rest):
        return torch._int_mm(x, w.t())
    # Of numbers in [-100, 100) the mean square is 3333.
    one = 3333 ** -0.5
    return Product([In("x", "i8", (m, k), "signed", 100),
                    In("w", "i8", (n, k), "signed", 100),
                    In("sx", "bf16", (), "near", one),
                    In("sw", "bf16", (n,), "near", one * k ** -0.5),
                    In("bias", "bf16", (n,)),
                    In("sy", "bf16", (), "near", 0.05)], graph, formula,
                   m * k + n * k + m * n, [Sample([0], {0: 0})], {0: "step"},
                   flops=2 * m * n * k, natives=[("int_mm, alone", native)],
                   matmul=Matmul(m, n, k, "i8", "i8", "i32", "b"))


add("i8-gelu-8192", quantised, dict(m=8192, n=8192, k=8192),
    dict(m=67, n=136, k=400), library=1.2)
