# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 8-bit floats: plain, and as quantised networks spell them. With
`fast`, sums are not promoted; PyTorch's use_fast_accum both ways."""

from .case import In, Matmul, Product, Sample, add, size

_NAMES = {"f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2"}


def _tensor(dtype, *shape):
    text = "x".join([*map(str, shape), _NAMES.get(dtype, dtype)])
    return f"tensor<{text}>"


def _contract(x, w, y, fast, names="%x, %w", turned=True):
    flag = " {graph.fast_accumulation}" if fast else ""
    return (f"graph.contract {names} batch [] x [] contract [1] x "
            f"[{int(turned)}]{flag} : {x}, {w} -> {y}")


def _scaled(fast, bias=False):
    """torch._scaled_mm; with row scales where there is a bias."""
    def native(torch, x, w, *rest):
        one = torch.ones((), device=x.device)
        extra = {"bias": rest[2]} if bias else {}
        return torch._scaled_mm(x, w.t(), one, one, out_dtype=torch.bfloat16,
                                use_fast_accum=fast, **extra)
    return native


_PEERS = [("scaled_mm", _scaled(False)), ("scaled_mm, fast", _scaled(True))]


def plain(m, n, k, a="f8e4m3", b="f8e4m3", fast=False, turned=True,
          result="bf16"):
    """x [m, k] . w [n, k] (`turned`) or [k, n]."""
    shape = (n, k) if turned else (k, n)
    x, w, y = _tensor(a, m, k), _tensor(b, *shape), _tensor(result, m, n)
    text = f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %y = {_contract(x, w, y, fast, turned=turned)}
  return %y : {y}
}}
"""

    def formula(F, x, w):
        return x @ (w.swapaxes(0, 1) if turned else w),
    return Product([In("x", a, (m, k)), In("w", b, shape)], None, formula,
                   size(a, m, k) + size(b, n, k) + size(result, m, n),
                   [Sample([0], {0: 0})], {0: "fast8" if fast else "sum8"},
                   flops=2 * m * n * k,
                   natives=_PEERS if turned and result == "bf16" else [],
                   text=text,
                   matmul=Matmul(m, n, k, a, b, result, "b" if turned else "",
                                  fast=fast))


def quantised(m, n, k, fast=False):
    """Dequantised operands (a scale for x, one for each row of w), bias, tanh
    GELU, and e4m3 again, in bf16 arithmetic. The peer has the product and the
    bias alone."""
    x, w, y = (_tensor("f8e4m3", *s) for s in ((m, k), (n, k), (m, n)))
    xb, wb, yb = (_tensor("bf16", *s) for s in ((m, k), (n, k), (m, n)))
    s, row = _tensor("bf16"), _tensor("bf16", n)
    text = f"""func.func @main(%x: {x}, %w: {w}, %sx: {s}, %sw: {row},
                %bias: {row}, %sy: {s}) -> {y} {{
  %xw = graph.cast %x : {x} -> {xb}
  %ww = graph.cast %w : {w} -> {wb}
  %sxs = graph.broadcast %sx [] : {s} -> {xb}
  %sws = graph.broadcast %sw [0] : {row} -> {wb}
  %xs = graph.mul %xw, %sxs : {xb}
  %ws = graph.mul %ww, %sws : {wb}
  %p = {_contract(xb, wb, yb, fast, "%xs, %ws")}
  %bs = graph.broadcast %bias [1] : {row} -> {yb}
  %h = graph.add %p, %bs : {yb}
  %g = graph.gelu tanh %h : {yb}
  %zero = graph.constant dense<0.0> : {_tensor("f8e4m3")}
  %zeros = graph.broadcast %zero [] : {_tensor("f8e4m3")} -> {y}
  %sys = graph.broadcast %sy [] : {s} -> {yb}
  %q = graph.quantize %g, %sys, %zeros : {yb}, {yb}, {y} -> {y}
  return %q : {y}
}}
"""

    def formula(F, x, w, sx, sw, bias, sy):
        h = (x * sx) @ (w * sw[:, None]).swapaxes(0, 1) + bias
        g = 0.5 * h * (1 + F.tanh(0.7978845608028654 * (h + 0.044715 * h ** 3)))
        return g / sy,
    return Product([In("x", "f8e4m3", (m, k)), In("w", "f8e4m3", (n, k)),
                    In("sx", "bf16", (), "near"),
                    In("sw", "bf16", (n,), "near", k ** -0.5),
                    In("bias", "bf16", (n,)),
                    In("sy", "bf16", (), "near", 0.05)], None, formula,
                   m * k + n * k + m * n,
                   [Sample([0], {0: 0})], {0: "fast8" if fast else "sum8"},
                   flops=2 * m * n * k,
                   natives=[(f"{label}, alone", f) for label, f in _PEERS],
                   text=text,
                   matmul=Matmul(m, n, k, "f8e4m3", "f8e4m3", "bf16", "b",
                                  fast=fast))


_SMALL = dict(m=67, n=136, k=400)
_L = dict(m=8192, n=8192, k=8192)
for _fast in (False, True):
    _end = "-fast" if _fast else ""
    add("f8-8192" + _end, plain, dict(_L, fast=_fast), _SMALL, library=0.97)
    add("f8-4096" + _end, plain, dict(m=4096, n=4096, k=4096, fast=_fast),
        _SMALL, library=0.97)
    add("f8-8192-f32" + _end, plain, dict(_L, fast=_fast, result="f32"), _SMALL,
        library=0.97)
    add("f8-gelu-8192" + _end, quantised, dict(_L, fast=_fast), _SMALL,
        library=0.95)
add("f8-8192x8192x512", plain, dict(m=8192, n=8192, k=512), _SMALL,
    library=0.97)
add("f8-mixed-8192", plain, dict(_L, b="f8e5m2"), _SMALL, library=0.97)
add("f8-8192-kn", plain, dict(_L, turned=False), _SMALL, library=0.97)
add("f8-odd-8191x4099x1027", plain, dict(m=8191, n=4099, k=1027),
    dict(m=35, n=27, k=33), library=0.85)
