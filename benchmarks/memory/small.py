# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases that last as long as a launch."""

from .case import In, Problem, Sample, add
from .norms import rms_norm
from .rows import softmax


def hundred_nodes(n):
    """Elementwise nodes, row and column reductions, broadcasts and transposes
    on one n x n matrix: ten rounds of ten."""
    def graph(b, x, y):
        for k in range(10):
            r = b.sum(x, 1, True)
            t = b.transpose(x, (1, 0))
            c = b.reduce("max", x, 0, True)
            x = b.tanh((x - c) * (1.0 / n) + t * 0.5 + y)
            x = x + r * (0.25 / n)
        return {"z": x}

    def formula(F, x, y):
        for k in range(10):
            r = F.sum(x, (1,), True)
            t = F.permute(x, (1, 0))
            c = F.max(x, 0, True)
            x = F.tanh((x - c) * (1.0 / n) + t * 0.5 + y)
            x = x + r * (0.25 / n)
        return x,
    return Problem([In("x", "f32", (n, n)), In("y", "f32", (n, n))], graph,
                   formula, 12 * n * n, checks={0: "loose"})


def hundred_elementwise(n):
    def graph(b, x, y):
        for k in range(25):
            x = b.tanh(x * 0.75 + y) - y * 0.125
        return {"z": x}

    def formula(F, x, y):
        for k in range(25):
            x = F.tanh(x * 0.75 + y) - y * 0.125
        return x,
    return Problem([In("x", "f32", (n,)), In("y", "f32", (n,))], graph,
                   formula, 12 * n, [Sample([0], {0: 0, 1: 0})],
                   {0: "loose"})


add("softmax-4096x256-bf16", softmax,
    dict(shape=(4096, 256), axis=-1, dtype="bf16"), dict(shape=(9, 256)),
    limit=3.0, launch_bound=True)
add("rmsnorm-64x4096", rms_norm, dict(m=64, n=4096), dict(m=3, n=256),
    limit=3.0, launch_bound=True)
add("hundred-nodes-64", hundred_nodes, dict(n=64), dict(n=16), limit=6.0,
    kernels=1, launch_bound=True)
add("hundred-elementwise-4096", hundred_elementwise, dict(n=4096),
    dict(n=129), limit=2.5, kernels=1, launch_bound=True)
