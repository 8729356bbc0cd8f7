# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, cross entropy, arg-max and the best few of a row."""

from .case import SIZES, In, Problem, Sample, add


def softmax(shape, axis, dtype):
    def graph(b, x):
        return {"y": b.softmax(x, axis)}

    def formula(F, x):
        return F.softmax(x, axis),
    count = 1
    for size in shape:
        count *= size
    return Problem([In("x", dtype, shape)], graph, formula,
                   2 * SIZES[dtype] * count, [Sample([0], {0: 0})],
                   {0: "loose"}, cudnn=formula)


def cross_entropy(m, n, gradient):
    def graph(b, x, target):
        w = b.cast(x, "f32")
        top = b.reduce("max", w, 1, True)
        total = b.log(b.sum(b.exp(w - top), 1, True)) + top
        index = b.reshape(target, (m, 1))
        loss = total - b.gather_elements(w, index, 1)
        outputs = {"loss": b.reshape(loss, (m,))}
        if gradient:
            hit = b.eq(b.iota("i64", (m, n), 1), index)
            slope = b.exp(w - total) - b.cast(hit, "f32")
            outputs["dx"] = b.cast(slope * (1.0 / m), "bf16")
        return outputs

    def formula(F, x, target):
        w = F.wide(x)
        top = F.max(w, 1, True)
        total = F.log(F.sum(F.exp(w - top), 1, True)) + top
        index = target[:, None]
        loss = (total - F.take_along(w, index, 1))[:, 0]
        if not gradient:
            return loss,
        hit = F.iota(n, x)[None, :] == index
        slope = F.exp(w - total) - F.where(hit, 1.0, 0.0)
        return loss, F.cast(slope * (1.0 / m), "bf16")

    def native(F, x, target):
        f = F.torch.nn.functional
        if not gradient:
            return f.cross_entropy(x, target, reduction="none").float(),
        with F.torch.enable_grad():
            leaf = x.detach().requires_grad_()
            loss = f.cross_entropy(leaf, target, reduction="none")
            slope, = F.torch.autograd.grad(loss.sum() * (1.0 / m), leaf)
        return loss.detach().float(), slope
    moved = 2 * m * n * (2 if gradient else 1) + 12 * m
    return Problem([In("x", "bf16", (m, n)),
                    In("target", "i64", (m,), "ints", n)], graph, formula,
                   moved, [Sample([0, 1] if gradient else [0], {0: 0, 1: 0})],
                   {0: "loose"}, native)


def argmax(m, n):
    def graph(b, x):
        return {"i": b.arg_reduce("max", x, 1)}

    def formula(F, x):
        return F.argmax(x, 1),
    return Problem([In("x", "bf16", (m, n))], graph, formula,
                   2 * m * n + 8 * m, [Sample([0], {0: 0})], {0: "index:0"})


def top_k(m, n, count):
    def graph(b, x):
        values, indices = b.top_k(x, count, 1)
        return {"values": values, "indices": indices}

    def formula(F, x):
        return F.top_k(x, count)
    return Problem([In("x", "bf16", (m, n))], graph, formula,
                   2 * m * n + 10 * count * m, [Sample([0, 1], {0: 0})],
                   {1: "index:0"})


def _softmax(name, shape, quick, dtype, ratio=1.05, axis=-1, **options):
    add(f"softmax-{name}", softmax, dict(shape=shape, axis=axis, dtype=dtype),
        dict(shape=quick), ratio, **options)


def _near(*columns, rows=16384, ratio=1.155):
    return [(str(n), dict(shape=(rows, n)), ratio) for n in columns]


_UNALIGNED = [("unaligned", {}, 1.155)]
_softmax("16384x4096-bf16", (16384, 4096), (3, 1025), "bf16",
         neighbours=_near(4095, 4097, 12289) + _UNALIGNED)
_softmax("16384x4096-f32", (16384, 4096), (3, 1023), "f32",
         neighbours=_near(4095, 4097, 12289))
_softmax("32768x1024-f32", (32768, 1024), (5, 33), "f32",
         neighbours=_UNALIGNED)
_softmax("1Mx256-bf16", (1 << 20, 256), (70, 256), "bf16",
         neighbours=_near(255, 257, rows=1 << 20))
_softmax("512x262144-f32", (512, 262144), (2, 40961), "f32", 1.08)
_softmax("8192x65536-bf16", (8192, 65536), (2, 65536), "bf16", 1.08,
         neighbours=_near(65535, rows=8192, ratio=1.188))
_softmax("axis1-64x1024x4096-f32", (64, 1024, 4096), (2, 67, 33), "f32", 1.08,
         axis=1)
for _gradient, _name in ((False, "cross-entropy"), (True, "cross-entropy-grad")):
    add(_name, cross_entropy, dict(m=8192, n=128256, gradient=_gradient),
        dict(m=3, n=1031), 1.05, reads_only=not _gradient,
        neighbours=[("50257", dict(n=50257), 1.155)])
add("argmax", argmax, dict(m=32768, n=8192), dict(m=3, n=1031), 1.08,
    reads_only=True)
add("top8", top_k, dict(m=32768, n=8192, count=8), dict(m=3, n=97, count=3), 1.08,
    reads_only=True)
