# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows, which are bound by reading the weights: decoding."""

from .case import In, Product, Sample, add, as_double, size
from .epilogues import _gelu_tanh

_N, _K = 8192, 4096


def dense(m, n, k, turned=False):
    """tanh GELU of x . w + bias; w is [n, k] if `turned`."""
    def graph(b, x, w, bias):
        w = b.transpose(w, [1, 0]) if turned else w
        return {"y": b.gelu_tanh(b.matmul(x, w) + bias)}

    def formula(F, x, w, bias):
        return _gelu_tanh(F, x @ (w.swapaxes(0, 1) if turned else w) + bias),

    def native(torch, x, w, bias):
        y = torch.addmm(bias, x, w.t() if turned else w)
        return torch.nn.functional.gelu(y, approximate="tanh")

    def fused(torch, x, w, bias):
        return torch._addmm_activation(bias, x, w.t() if turned else w,
                                       use_gelu=True)
    shape = (n, k) if turned else (k, n)
    return Product([In("x", "bf16", (m, k)),
                    In("w", "bf16", shape, scale=k ** -0.5),
                    In("bias", "bf16", (n,))], graph, formula,
                   size("bf16", m, k) + size("bf16", k, n)
                   + size("bf16", m + 1, n),
                   [Sample([0], {0: 0})], {0: "loose"}, flops=2 * m * n * k,
                   natives=[("addmm, gelu", native), ("cublasLt", fused)])


def byte_weights(m, n, k, dtype="i8", block=0):
    """x . w with weights [n, k] of a byte each, times a scale for each column
    of the result, or for each `block` of weights along k."""
    scales = (n, k // block) if block else (n,)

    def wide(b, w, s):
        w = b.cast(w, "bf16")
        if not block:
            return w * b.reshape(s, (n, 1))
        w = b.reshape(w, (n, k // block, block))
        return b.reshape(w * b.reshape(s, (n, k // block, 1)), (n, k))

    def graph(b, x, w, s):
        return {"y": b.matmul(x, b.transpose(wide(b, w, s), [1, 0]))}

    def plain(w, s):
        if not block:
            return w * s.reshape(n, 1)
        return (w.reshape(n, -1, block) * s.reshape(n, -1, 1)).reshape(n, k)

    def formula(F, x, w, s):
        return x @ plain(as_double(w), s).swapaxes(0, 1),

    def native(torch, x, w, s):
        return x @ plain(w.to(torch.bfloat16), s).t()

    def packed(torch, x, w, s):
        return torch.ops.aten._weight_int8pack_mm(x, w, s)
    wide_range = dtype == "i8"
    weights = (In("w", "i8", (n, k), "ints", 100) if wide_range else
               In("w", dtype, (n, k)))
    return Product([In("x", "bf16", (m, k)), weights,
                    In("s", "bf16", scales, "near",
                       (0.02 if wide_range else 1.0) * k ** -0.5)],
                   graph, formula,
                   size("bf16", m, k) + n * k + size("bf16", m, n)
                   + size("bf16", *scales),
                   [Sample([0], {0: 0})], {0: "operands"}, flops=2 * m * n * k,
                   natives=[("convert, matmul", native)]
                   + ([("int8pack_mm", packed, lambda torch, *x: x)]
                      if wide_range and not block else []))


def nibble_weights(m, n, k, block=32):
    """x . w with weights of 4 bits in [-8, 8), two in a byte along k (the first
    in the low bits), and a scale for each block along k."""
    def graph(b, x, w, s):
        low = b.reshape(b.and_(w, b.full("u8", 15)), (n, k // 2, 1))
        high = b.reshape(b.shr(w, b.full("u8", 4)), (n, k // 2, 1))
        q = b.cast(b.reshape(b.concat([low, high], 2), (n, k // block, block)),
                   "bf16")
        q = (q - 8.0) * b.reshape(s, (n, k // block, 1))
        return {"y": b.matmul(x, b.transpose(b.reshape(q, (n, k)), [1, 0]))}

    def formula(F, x, w, s):
        # Pairs side by side: sums over k are split into even and odd.
        high = w // 16
        low, high = as_double(w - 16 * high - 8), as_double(high - 8)
        total = 0.0
        for first, part in ((0, low), (1, high)):
            q = part.reshape(n, k // block, block // 2) * s.reshape(n, -1, 1)
            total = total + x[:, first::2] @ q.reshape(n, k // 2).swapaxes(0, 1)
        return total,

    def native(torch, x, w, s):
        q = torch.stack((w & 15, w >> 4), -1).to(torch.bfloat16) - 8
        q = q.reshape(n, -1, block) * s.reshape(n, -1, 1)
        return x @ q.reshape(n, k).t()

    def pack(torch, x, w, s):
        """PyTorch has the first of two weights in the high bits, and beside
        each scale what is added to (q - 8) * scale."""
        turned = (w >> 4) | (w << 4)
        packed = torch.ops.aten._convert_weight_to_int4pack(turned, 8)
        scales = torch.stack((s, torch.zeros_like(s)), -1)
        return x, packed, scales.transpose(0, 1).contiguous()

    def packed(torch, x, w, s):
        return torch.ops.aten._weight_int4pack_mm(x, w, block, s)
    return Product([In("x", "bf16", (m, k)), In("w", "u8", (n, k // 2), "ints", 256),
                    In("s", "bf16", (n, k // block), "near", 0.2 * k ** -0.5)],
                   graph, formula,
                   size("bf16", m, k) + n * k // 2 + size("bf16", m, n)
                   + size("bf16", n, k // block),
                   [Sample([0], {0: 0})], {0: "operands"}, flops=2 * m * n * k,
                   natives=[("unpack, matmul", native),
                            ("int4pack_mm", packed, pack)])


_SMALL = dict(n=136, k=96)
for _m in (1, 4, 16, 64):
    for _turned in (False, True):
        add(f"gelu-{_m}x8192x4096" + ("-tb" if _turned else ""), dense,
            dict(m=_m, n=_N, k=_K, turned=_turned), _SMALL, best=1.25,
            read=0.8 if _m <= 16 else 0.7)
for _m in (1, 16):
    for _name, _make, _more in (
            ("w8", byte_weights, {}), ("w8-block32", byte_weights, {"block": 32}),
            ("wf8", byte_weights, {"dtype": "f8e4m3"}),
            ("w4-block32", nibble_weights, {})):
        add(f"{_name}-{_m}x8192x4096", _make, dict(m=_m, n=_N, k=_K, **_more),
            _SMALL, best=1.25, read=0.65)
