# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Depthwise convolutions, poolings and time steps."""

from .case import In, Problem, Sample, add


def depthwise_chain(batch, channels, height, width):
    def graph(b, x, *kernels):
        for k in kernels:
            x = b.relu(b.convolution(x, k, strides=(1, 1), low=(1, 1),
                                     high=(1, 1), groups=channels))
        return {"y": x}

    def formula(F, x, *kernels):
        for k in kernels:
            x = F.relu(F.depthwise(x, k))
        return F.cast(x, "f16"),

    def native(F, x, *kernels):
        f = F.torch.nn.functional
        for k in kernels:
            x = f.relu(f.conv2d(x, k, padding=1, groups=channels))
        return x,

    def cudnn(F, x, *kernels):
        for k in kernels:
            x = F.depthwise(x, k).relu_()
        return x,
    count = batch * channels * height * width
    return Problem([In("x", "f16", (batch, channels, height, width))]
                   + [In(f"k{i}", "f16", (channels, 1, 3, 3), scale=0.4)
                      for i in range(3)], graph, formula, 4 * count,
                   [Sample([0], {0: 0})], {0: "loose"}, native, cudnn)


def jacobi(m, n, steps):
    """Five-point steps with zeros around."""
    near = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))

    def graph(b, x):
        for _ in range(steps):
            p = b.pad(x, 0.0, (1, 1), (1, 1))
            parts = [b.slice(p, (1 + i, 1 + j), (m, n)) for i, j in near]
            x = (parts[0] + parts[1] + parts[2] + parts[3] + parts[4]) * 0.2
        return {"y": x}

    def formula(F, x):
        for _ in range(steps):
            total = x
            for i, j in near[1:]:
                total = total + F.shifted(x, {0: i, 1: j}, 0.0)
            x = total * 0.2
        return x,
    return Problem([In("x", "f32", (m, n))], graph, formula, 8 * m * n)


def pool_chain(batch, channels, height, width):
    edges = (0, 0, 1, 1)

    def graph(b, x):
        y = b.window_reduce("max", x, (1, 1, 3, 3), low=edges, high=edges)
        y = b.window_reduce("sum", y, (1, 1, 3, 3), low=edges, high=edges)
        return {"y": y * (1 / 9)}

    def formula(F, x):
        return F.pool(F.pool(x, "max"), "mean"),

    def native(F, x):
        f = F.torch.nn.functional
        return f.avg_pool2d(f.max_pool2d(x, 3, 1, 1), 3, 1, 1),
    count = batch * channels * height * width
    return Problem([In("x", "f16", (batch, channels, height, width))], graph,
                   formula, 4 * count, [Sample([0], {0: 0})], {}, native,
                   cudnn=formula)


def depthwise_layer_norm(batch, height, width, channels):
    """Depthwise 7x7, then a layer norm over channels. Channels last."""
    def graph(b, x, k, gamma, beta):
        y = b.convolution(x, k, strides=(1, 1), low=(3, 3), high=(3, 3),
                          groups=channels, channels_last=True)
        return {"y": b.layer_norm(y, gamma, beta)}

    def formula(F, x, k, gamma, beta):
        y = F.depthwise(x, F.permute(k, (3, 2, 0, 1)), channels_last=True)
        return F.cast(F.layer_norm(y, gamma, beta), "bf16"),

    def native(F, x, k, gamma, beta):
        f = F.torch.nn.functional
        y = f.conv2d(x.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1), padding=3,
                     groups=channels)
        return f.layer_norm(y.permute(0, 2, 3, 1), (channels,), gamma, beta,
                            1e-5),

    def cudnn(F, x, k, gamma, beta):
        y = F.depthwise(x.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1))
        return F.torch.nn.functional.layer_norm(
            y.permute(0, 2, 3, 1), (channels,), gamma, beta, 1e-5),
    count = batch * height * width * channels
    return Problem([In("x", "bf16", (batch, height, width, channels)),
                    In("k", "bf16", (7, 7, 1, channels), scale=0.15),
                    In("gamma", "bf16", (channels,)),
                    In("beta", "bf16", (channels,))], graph, formula,
                   4 * count, [Sample([0], {0: 0})], {0: "normed"}, native,
                   cudnn)


add("depthwise-chain", depthwise_chain,
    dict(batch=8, channels=16, height=1024, width=1024),
    dict(batch=2, channels=3, height=9, width=11), 1.7)
add("jacobi4", jacobi, dict(m=8192, n=8192, steps=4),
    dict(m=17, n=19), 1.25)
add("pool-chain", pool_chain,
    dict(batch=64, channels=96, height=112, width=112),
    dict(batch=2, channels=3, height=9, width=11), 1.15)
add("depthwise7-layernorm", depthwise_layer_norm,
    dict(batch=128, height=56, width=56, channels=96),
    dict(batch=2, height=8, width=9, channels=6), 2.2)
