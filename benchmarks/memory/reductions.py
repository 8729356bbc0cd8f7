# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over all, long, outer and middle axes."""

from .case import In, Problem, Sample, add


def column_sum(m, n):
    def graph(b, x):
        return {"y": b.sum(b.cast(x, "f32"), 0)}

    def formula(F, x):
        return F.sum(F.wide(x), (0,)),

    def native(F, x):
        return F.torch.sum(x, 0, dtype=F.torch.float32),
    return Problem([In("x", "bf16", (m, n), "positive")], graph, formula,
                   2 * m * n + 4 * n, [Sample([0], {0: 1})], {0: "sum"},
                   native)


def gelu_backward(m, n):
    def graph(b, x, dy):
        w, g = b.cast(x, "f32"), b.cast(dy, "f32")
        slope = ((b.erf(w * 0.7071067811865476) + 1.0) * 0.5
                 + w * b.exp(w * w * -0.5) * 0.3989422804014327)
        dx = g * slope
        return {"dx": b.cast(dx, "bf16"), "dbias": b.sum(dx, 0)}

    def formula(F, x, dy):
        dx = F.wide(dy) * F.gelu_slope(F.wide(x))
        return F.cast(dx, "bf16"), F.sum(dx, (0,))

    def native(F, x, dy):
        dx = F.torch.ops.aten.gelu_backward(dy, x)
        return dx, F.torch.sum(dx, 0, dtype=F.torch.float32)
    return Problem([In("x", "bf16", (m, n)),
                    In("dy", "bf16", (m, n), "positive")], graph, formula,
                   6 * m * n + 4 * n,
                   [Sample([0], {0: 0, 1: 0}), Sample([1], {0: 1, 1: 1})],
                   {1: "sum"}, native)


def mean_variance(a, m, n):
    def graph(b, x):
        mean = b.mean(x, 1, True)
        d = x - mean
        return {"mean": b.reshape(mean, (a, n)), "variance": b.mean(d * d, 1)}

    def formula(F, x):
        mean = F.mean(x, (1,), True)
        d = x - mean
        return mean[:, 0], F.mean(d * d, (1,))

    def native(F, x):
        variance, mean = F.torch.var_mean(x, 1, correction=0)
        return mean, variance
    return Problem([In("x", "f32", (a, m, n))], graph, formula,
                   4 * a * m * n + 8 * a * n, [Sample([0, 1], {0: 0})],
                   {0: "loose", 1: "sum"}, native)


def full_sum(n):
    def graph(b, x):
        return {"y": b.sum(x, 0)}

    def formula(F, x):
        return F.sum(x, (0,)),
    return Problem([In("x", "f32", (n,), "positive")], graph, formula,
                   4 * n + 4, checks={0: "sum"})


def l2_norm(n):
    def graph(b, x):
        return {"y": b.sqrt(b.sum(x * x, 0))}

    def formula(F, x):
        return F.sqrt(F.sum(x * x, (0,))),

    def native(F, x):
        return F.torch.linalg.vector_norm(x),
    return Problem([In("x", "f32", (n,))], graph, formula, 4 * n + 4,
                   checks={0: "sum"}, native=native)


def row_sum(m, n):
    def graph(b, x):
        return {"y": b.sum(b.cast(x, "f32"), 1)}

    def formula(F, x):
        return F.sum(F.wide(x), (1,)),

    def native(F, x):
        return F.torch.sum(x, 1, dtype=F.torch.float32),
    return Problem([In("x", "bf16", (m, n), "positive")], graph, formula,
                   2 * m * n + 4 * m, [Sample([0], {0: 0})], {0: "sum"},
                   native)


add("column-sum", column_sum, dict(m=65536, n=4096), dict(m=67, n=33), 1.04,
    [("4095", dict(n=4095), 1.144)], reads_only=True)
add("gelu-backward-bias", gelu_backward, dict(m=16384, n=16384),
    dict(m=67, n=33), 1.04)
add("mean-variance-middle", mean_variance, dict(a=256, m=1024, n=1024),
    dict(a=2, m=67, n=9), 1.04, reads_only=True)
add("full-sum", full_sum, dict(n=1 << 30), dict(n=100003), 1.04,
    [("odd", dict(n=(1 << 30) - 3), 1.07)], reads_only=True)
add("l2-norm", l2_norm, dict(n=64 << 20), dict(n=100003), 1.04,
    reads_only=True)
add("row-sums-32", row_sum, dict(m=32, n=1 << 24), dict(m=3, n=50021), 1.04,
    [("odd", dict(n=(1 << 24) - 1), 1.144)], reads_only=True)
