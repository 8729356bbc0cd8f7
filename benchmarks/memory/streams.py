# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise chains."""

from .case import In, Problem, Sample, add


def gelu_gate(n, dtype="bf16"):
    def graph(b, x, bias, c):
        return {"y": b.gelu(x * 1.7 + bias) * b.logistic(c)}

    def formula(F, x, bias, c):
        return F.gelu(1.7 * x + bias) * F.sigmoid(c),
    shape = (n,)
    return Problem([In(name, dtype, shape) for name in "xbc"], graph, formula,
                   4 * 2 * n, [Sample([0], {0: 0, 1: 0, 2: 0})])


def chain(m, n):
    def graph(b, x, y, z):
        s = b.tanh(x * y + z)
        t = b.logistic(s * 1.5 - y)
        return {"u": b.relu(t * x + s), "v": b.sqrt(b.abs(t - z)) * 0.5}

    def formula(F, x, y, z):
        s = F.tanh(x * y + z)
        t = F.sigmoid(s * 1.5 - y)
        return F.relu(t * x + s), F.sqrt(F.abs(t - z)) * 0.5
    return Problem([In(name, "f32", (m, n)) for name in "xyz"], graph, formula,
                   5 * 4 * m * n, [Sample([0, 1], {0: 0, 1: 0, 2: 0})],
                   checks={1: "root"})


def bias_gelu(m, n):
    def graph(b, x, bias):
        return {"y": b.gelu(x + bias)}

    def formula(F, x, bias):
        return F.gelu(x + bias),
    return Problem([In("x", "bf16", (m, n)), In("bias", "bf16", (n,))], graph,
                   formula, 4 * m * n + 2 * n, [Sample([0], {0: 0})])


def rope(batch, length, heads, groups, width):
    half = width // 2

    def rotate(b, x, count, cos, sin):
        shape = (batch, length, count, half)
        low = b.slice(x, (0, 0, 0, 0), shape)
        high = b.slice(x, (0, 0, 0, half), shape)
        c = b.reshape(cos, (1, length, 1, half))
        s = b.reshape(sin, (1, length, 1, half))
        low, high = b.cast(low, "f32"), b.cast(high, "f32")
        both = b.concat([low * c - high * s, high * c + low * s], 3)
        return b.cast(both, "bf16")

    def graph(b, q, k, cos, sin):
        return {"q2": rotate(b, q, heads, cos, sin),
                "k2": rotate(b, k, groups, cos, sin)}

    def formula(F, q, k, cos, sin):
        def one(x):
            w = F.wide(x)
            low, high = w[..., :half], w[..., half:]
            c, s = cos[None, :, None, :], sin[None, :, None, :]
            return F.cast(F.concat([low * c - high * s, high * c + low * s],
                                   -1), "bf16")
        return one(q), one(k)
    tokens = batch * length
    return Problem([In("q", "bf16", (batch, length, heads, width)),
                    In("k", "bf16", (batch, length, groups, width)),
                    In("cos", "f32", (length, half)),
                    In("sin", "f32", (length, half))], graph, formula,
                   tokens * (heads + groups) * width * 4 + length * width * 4,
                   [Sample([0, 1], {0: 1, 1: 1, 2: 0, 3: 0}, 1)])


def quantize(m, n, dtype):
    def graph(b, x, scale):
        return {"y": b.quantize(x, scale, b.full(dtype, 0))}

    def formula(F, x, scale):
        return F.quantize(F.wide(x), scale, dtype),
    return Problem([In("x", "bf16", (m, n)),
                    In("scale", "f32", (), "near", 0.05)], graph, formula,
                   3 * m * n, [Sample([0], {0: 0})],
                   {0: "step" if dtype == "i8" else "close"})


add("gelu-gate", gelu_gate, dict(n=64 << 20), dict(n=1025), 1.03,
    [("odd", dict(n=(64 << 20) + 1), 1.06), ("unaligned", {}, 1.061)])
add("chain12", chain, dict(m=8192, n=8192), dict(m=7, n=33), 1.03,
    [("odd", dict(m=8191, n=8193), 1.06)])
add("bias-gelu", bias_gelu, dict(m=16384, n=8192), dict(m=5, n=65), 1.03,
    [("odd", dict(m=16384, n=8191), 1.06)])
add("rope", rope, dict(batch=4, length=4096, heads=32, groups=8, width=128),
    dict(batch=2, length=5, heads=4, groups=2, width=8), 1.03,
    [("unaligned", {}, 1.061)])
for _dtype in ("f8e4m3", "i8"):
    add(f"quantize-{_dtype}", quantize, dict(m=16384, n=8192, dtype=_dtype),
        dict(m=5, n=67), 1.03, [("unaligned", {}, 1.061)])
