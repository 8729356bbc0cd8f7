# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposes and changes of layout, fused with what is beside them."""

from .case import In, Problem, Sample, add


def relu_transpose_add(m, n):
    def graph(b, x, y):
        return {"z": b.relu(b.transpose(x, (1, 0)) + y)}

    def formula(F, x, y):
        return F.relu(F.permute(x, (1, 0)) + y),
    return Problem([In("x", "f32", (n, m)), In("y", "f32", (m, n))], graph,
                   formula, 12 * m * n, [Sample([0], {0: 1, 1: 0})])


def transpose_scale(m, n):
    def graph(b, x, scale):
        return {"z": b.transpose(x, (1, 0)) * scale}

    def formula(F, x, scale):
        return _contiguous(F.permute(x, (1, 0)) * scale),
    return Problem([In("x", "bf16", (m, n)), In("scale", "bf16", ())], graph,
                   formula, 4 * m * n, [Sample([0], {0: 1})])


def heads_first(batch, length, heads, width):
    """[B, S, H, D] -> [B, H, S, D], with a bias, to fp8."""
    def graph(b, x, bias):
        y = b.transpose(b.cast(x, "f32") + b.cast(bias, "f32"), (0, 2, 1, 3))
        return {"y": b.cast(y, "f8e4m3")}

    def formula(F, x, bias):
        y = F.permute(F.wide(x) + F.wide(bias), (0, 2, 1, 3))
        return _contiguous(F.cast(y, "f8e4m3")),
    count = batch * length * heads * width
    return Problem([In("x", "bf16", (batch, length, heads, width)),
                    In("bias", "bf16", (heads, width))], graph, formula,
                   3 * count + 2 * heads * width, [Sample([0], {0: 1}, 2)])


def channels_last(batch, channels, height, width):
    """u8 NCHW -> normalised bf16 NHWC."""
    def graph(b, x, mean, scale):
        y = b.transpose(b.cast(x, "f32"), (0, 2, 3, 1))
        return {"y": b.cast((y - mean) * scale, "bf16")}

    def formula(F, x, mean, scale):
        y = F.permute(x, (0, 2, 3, 1))
        return _contiguous(F.cast((y - mean) * scale, "bf16")),
    count = batch * channels * height * width
    return Problem([In("x", "u8", (batch, channels, height, width), "ints",
                       256),
                    In("mean", "f32", (channels,)),
                    In("scale", "f32", (channels,))], graph, formula,
                   3 * count + 8 * channels, [Sample([0], {0: 0})])


def block_quantize(m, n, block=32):
    """fp8 with one power of two per `block` elements of a row, the values
    written transposed: (n, m), and exponents + 127 as u8 (m, n / block)."""
    count = n // block

    def graph(b, x):
        w = b.reshape(b.cast(x, "f32"), (m, count, block))
        top = b.max(b.reduce("max", b.abs(w), 2, True), 1e-30)
        power = b.ceil(b.log2(top * (1 / 448)))
        y = b.transpose(b.reshape(w * b.exp2(-power), (m, n)), (1, 0))
        return {"values": b.cast(y, "f8e4m3"),
                "powers": b.cast(b.reshape(power + 127.0, (m, count)), "u8")}

    def formula(F, x):
        w = F.wide(x).reshape(x.shape[0], count, block)
        top = F.clamp(F.max(F.abs(w), 2, True), 1e-30, 1e30)
        power = F.ceil(F.log2(top * (1 / 448)))
        y = F.permute((w * F.exp2(-power)).reshape(x.shape[0], n), (1, 0))
        powers = F.cast(power[..., 0] + 127, "u8")
        return _contiguous(F.cast(y, "f8e4m3")), powers
    return Problem([In("x", "bf16", (m, n))], graph, formula,
                   3 * m * n + m * count,
                   [Sample([0], {0: 0}, 1), Sample([1], {0: 0})],
                   {0: "loose", 1: "step"})


def _contiguous(x):
    """PyTorch keeps a transposed result's strides; the others have none."""
    return x.contiguous() if hasattr(x, "contiguous") else x


add("relu-transpose-add", relu_transpose_add, dict(m=8192, n=8192),
    dict(m=35, n=67), 1.03, [("odd", dict(m=8191, n=8193), 1.29)])
add("transpose-scale", transpose_scale, dict(m=16384, n=16384),
    dict(m=35, n=67), 1.05, [("odd", dict(m=16383, n=16385), 1.31)])
add("heads-first-fp8", heads_first,
    dict(batch=8, length=4096, heads=32, width=128),
    dict(batch=2, length=5, heads=3, width=8), 1.08)
add("channels-last-u8", channels_last,
    dict(batch=1024, channels=3, height=224, width=224),
    dict(batch=2, channels=3, height=7, width=5), 1.08)
add("block-quantize", block_quantize, dict(m=16384, n=16384),
    dict(m=35, n=96), 1.15)
