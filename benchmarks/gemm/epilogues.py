# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with what stands before and behind them in networks."""

from .case import In, Plain, Product, Sample, add, size
from .products import product


def _gelu_tanh(F, x):
    return 0.5 * x * (1 + F.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))


def bias_gelu(m, n, k, dtype="bf16"):
    """tanh GELU of x . w + bias."""
    def graph(b, x, w, bias):
        return {"y": b.gelu_tanh(b.matmul(x, w) + bias)}

    def formula(F, x, w, bias):
        return _gelu_tanh(F, x @ w + bias),

    def native(torch, x, w, bias):
        return torch.nn.functional.gelu(torch.addmm(bias, x, w),
                                        approximate="tanh")

    def fused(torch, x, w, bias):
        return torch._addmm_activation(bias, x, w, use_gelu=True)
    return Product([In("x", dtype, (m, k)), In("w", dtype, (k, n), scale=k ** -0.5),
                    In("bias", dtype, (n,))], graph, formula,
                   size(dtype, m, k) + size(dtype, k, n) + size(dtype, m + 1, n),
                   [Sample([0], {0: 0})], {0: "loose"}, flops=2 * m * n * k,
                   natives=[("addmm, gelu", native), ("cublasLt", fused)],
                   plain=Plain(product(m, n, k, dtype)))


def linear(m, n, k, dtype="f16", residual=False):
    """x . w + bias, and a matrix added."""
    def graph(b, x, w, bias, *r):
        y = b.matmul(x, w) + bias
        return {"y": y + r[0] if r else y}

    def formula(F, x, w, bias, *r):
        y = x @ w + bias
        return y + r[0] if r else y,

    def native(torch, x, w, bias, *r):
        y = torch.addmm(bias, x, w)
        return y + r[0] if r else y

    def added(torch, x, w, bias, r):
        return torch.addmm(r, x, w) + bias
    more = [In("r", dtype, (m, n))] if residual else []
    return Product([In("x", dtype, (m, k)), In("w", dtype, (k, n), scale=k ** -0.5),
                    In("bias", dtype, (n,)), *more], graph, formula,
                   size(dtype, m, k) + size(dtype, k, n) + size(dtype, 1, n)
                   + (2 if residual else 1) * size(dtype, m, n),
                   [Sample([0], {0: 0, 3: 0} if residual else {0: 0})],
                   {0: "loose"}, flops=2 * m * n * k,
                   natives=[("addmm", native)]
                   + ([("addmm of r", added)] if residual else []))


def gelu_fp8(m, n, k):
    """erf GELU of x . w + bias, divided by a scale, in float8."""
    def graph(b, x, w, bias, scale):
        y = b.gelu(b.matmul(x, w) + bias)
        return {"y": b.cast(b.cast(y, "f32") / scale, "f8e4m3")}

    def formula(F, x, w, bias, scale):
        return F.gelu(x @ w + bias) / scale,

    def native(torch, x, w, bias, scale):
        y = torch.nn.functional.gelu(torch.addmm(bias, x, w))
        return (y / scale).to(torch.float8_e4m3fn)
    return Product([In("x", "bf16", (m, k)), In("w", "bf16", (k, n), scale=k ** -0.5),
                    In("bias", "bf16", (n,)),
                    In("scale", "f32", (), "near", 0.05)], graph, formula,
                   size("bf16", m, k) + size("bf16", k, n) + m * n,
                   [Sample([0], {0: 0})], {0: "loose"}, flops=2 * m * n * k,
                   natives=[("addmm, gelu, cast", native)],
                   plain=Plain(product(m, n, k)))


def residual_squares(m, n, k):
    """y = x . w + r, and the sum of the squares of each row of y."""
    def graph(b, x, w, r):
        y = b.matmul(x, w) + r
        wide = b.cast(y, "f32")
        return {"y": y, "s": b.sum(wide * wide, 1)}

    def formula(F, x, w, r):
        y = x @ w + r
        return y, F.sum(y * y, (1,))

    def native(torch, x, w, r):
        y = torch.addmm(r, x, w)
        return y, y.float().square().sum(1)
    return Product([In("x", "bf16", (m, k)), In("w", "bf16", (k, n), scale=k ** -0.5),
                    In("r", "bf16", (m, n))], graph, formula,
                   size("bf16", m, k) + size("bf16", k, n)
                   + size("bf16", 2 * m, n) + 4 * m,
                   [Sample([0, 1], {0: 0, 2: 0})], {0: "loose", 1: "squares"},
                   flops=2 * m * n * k, natives=[("addmm, square, sum", native)],
                   plain=Plain(product(m, n, k)))


def bias_gradient(m, n, k):
    """dx = (dy . w^T) * gelu'(x), and the sums of the columns of dx: the gradient
    of the bias that was added to x. All in f32 until dx is stored."""
    text = f"""func.func @main(%dy: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}xbf16>,
                %x: tensor<{m}x{n}xbf16>) -> (tensor<{m}x{n}xbf16>, tensor<{n}xf32>) {{
  %one = graph.constant dense<1.0> : tensor<{m}x{n}xf32>
  %half = graph.constant dense<0.5> : tensor<{m}x{n}xf32>
  %minus = graph.constant dense<-0.5> : tensor<{m}x{n}xf32>
  %root = graph.constant dense<0.7071067811865476> : tensor<{m}x{n}xf32>
  %scale = graph.constant dense<0.3989422804014327> : tensor<{m}x{n}xf32>
  %g = graph.contract %dy, %w batch [] x [] contract [1] x [1]
    : tensor<{m}x{k}xbf16>, tensor<{n}x{k}xbf16> -> tensor<{m}x{n}xf32>
  %v = graph.cast %x : tensor<{m}x{n}xbf16> -> tensor<{m}x{n}xf32>
  %r = graph.mul %v, %root : tensor<{m}x{n}xf32>
  %e = graph.erf %r : tensor<{m}x{n}xf32>
  %f = graph.add %e, %one : tensor<{m}x{n}xf32>
  %p = graph.mul %f, %half : tensor<{m}x{n}xf32>
  %vv = graph.mul %v, %v : tensor<{m}x{n}xf32>
  %q = graph.mul %vv, %minus : tensor<{m}x{n}xf32>
  %d = graph.exp %q : tensor<{m}x{n}xf32>
  %vd = graph.mul %v, %d : tensor<{m}x{n}xf32>
  %vs = graph.mul %vd, %scale : tensor<{m}x{n}xf32>
  %slope = graph.add %p, %vs : tensor<{m}x{n}xf32>
  %wide = graph.mul %g, %slope : tensor<{m}x{n}xf32>
  %dx = graph.cast %wide : tensor<{m}x{n}xf32> -> tensor<{m}x{n}xbf16>
  %db = graph.reduce sum %wide [0] : tensor<{m}x{n}xf32> -> tensor<{n}xf32>
  return %dx, %db : tensor<{m}x{n}xbf16>, tensor<{n}xf32>
}}
"""

    def formula(F, dy, w, x):
        dx = (dy @ w.swapaxes(0, 1)) * F.gelu_slope(x)
        return dx, F.sum(dx, (0,))

    def native(torch, dy, w, x):
        dx = torch.ops.aten.gelu_backward(dy @ w.t(), x)
        return dx, torch.sum(dx, 0, dtype=torch.float32)

    def narrow(torch, dy, w, x):
        dx = torch.ops.aten.gelu_backward(dy @ w.t(), x)
        return dx, dx.sum(0)
    return Product([In("dy", "bf16", (m, k)), In("w", "bf16", (n, k), scale=k ** -0.5),
                    In("x", "bf16", (m, n))], None, formula,
                   size("bf16", m, k) + size("bf16", n, k)
                   + size("bf16", 2 * m, n) + 4 * n,
                   [Sample([0], {0: 0, 2: 0}), Sample([1], {1: 0, 2: 1})],
                   {0: "loose", 1: "sum"}, flops=2 * m * n * k,
                   natives=[("matmul, gelu_backward, sum", native),
                            ("matmul, gelu_backward, bf16 sum", narrow)],
                   text=text)


def gated(m, n, k, turned=False, kind="silu"):
    """silu(x . gate) * (x . up), or with the erf GELU. `turned`: weights are
    [n, k]."""
    def graph(b, x, g, u):
        if turned:
            g, u = b.transpose(g, [1, 0]), b.transpose(u, [1, 0])
        return {"y": getattr(b, kind)(b.matmul(x, g)) * b.matmul(x, u)}

    def formula(F, x, g, u):
        if turned:
            g, u = g.swapaxes(0, 1), u.swapaxes(0, 1)
        return getattr(F, kind)(x @ g) * (x @ u),

    def native(torch, x, g, u):
        if turned:
            g, u = g.t(), u.t()
        f = getattr(torch.nn.functional, kind)
        return f(x @ g) * (x @ u)
    w = (n, k) if turned else (k, n)
    return Product([In("x", "bf16", (m, k)), In("gate", "bf16", w, scale=k ** -0.5),
                    In("up", "bf16", w, scale=k ** -0.5)], graph, formula,
                   size("bf16", m, k) + 2 * size("bf16", k, n)
                   + size("bf16", m, n),
                   [Sample([0], {0: 0})], {0: "loose"}, flops=4 * m * n * k,
                   natives=[("two products", native)])


def norm_product(m, n, k):
    """RMS norm with weights, then a product."""
    def graph(b, x, gamma, w):
        return {"y": b.matmul(b.rms_norm(x, gamma), w)}

    def formula(F, x, gamma, w):
        return F.rms_norm(x, gamma) @ w,

    def native(torch, x, gamma, w):
        return torch.nn.functional.rms_norm(x, gamma.shape, gamma, 1e-5) @ w
    return Product([In("x", "bf16", (m, k)), In("gamma", "bf16", (k,), "near"),
                    In("w", "bf16", (k, n), scale=k ** -0.5)], graph, formula,
                   size("bf16", m, k) + size("bf16", k, n) + size("bf16", m, n),
                   [Sample([0], {0: 0})], {0: "loose"}, flops=2 * m * n * k,
                   natives=[("rms_norm, matmul", native)],
                   plain=Plain(product(m, n, k), (0, 2), reads=0))


def unit_norm_product(m, n, k):
    """RMS norm without weights, then a product."""
    def graph(b, x, w):
        ones = b.full("bf16", 1.0, (k,))
        return {"y": b.matmul(b.rms_norm(x, ones), w)}

    def formula(F, x, w):
        return F.rms_norm(x, 1.0) @ w,

    def native(torch, x, w):
        return torch.nn.functional.rms_norm(x, (k,), None, 1e-5) @ w
    return Product([In("x", "bf16", (m, k)),
                    In("w", "bf16", (k, n), scale=k ** -0.5)], graph, formula,
                   size("bf16", m, k) + size("bf16", k, n) + size("bf16", m, n),
                   [Sample([0], {0: 0})], {0: "loose"}, flops=2 * m * n * k,
                   natives=[("rms_norm, matmul", native)],
                   plain=Plain(product(m, n, k), reads=0))


_SMALL = dict(m=67, n=136, k=96)
for _n, _k in ((768, 768), (2304, 768), (768, 3072)):
    for _residual in (False, True):
        add(f"{'residual' if _residual else 'bias'}-f16-32768x{_n}x{_k}", linear,
            dict(m=32768, n=_n, k=_k, residual=_residual), _SMALL,
            best=1.1 if _residual else 0.97)
_LARGE = dict(m=8192, n=8192, k=4096)
_WIDE = dict(m=8192, n=4096, k=4096)
_GATED = dict(m=4096, n=11008, k=4096)
add("gelu-8192x8192x4096", bias_gelu, _LARGE, _SMALL, plain=1 / 1.02,
    compile=1.08)
add("gelu-fp8-8192x8192x4096", gelu_fp8, _LARGE, _SMALL, plain=1 / 1.04)
add("residual-squares-8192x4096x4096", residual_squares, _WIDE, _SMALL,
    plain=1 / 1.04)
add("bias-gradient-8192x4096x4096", bias_gradient, _WIDE, _SMALL, best=1.1)
add("swiglu-4096x11008x4096", gated, _GATED, _SMALL, best=1.04)
add("swiglu-4096x11008x4096-tb", gated, dict(_GATED, turned=True), _SMALL,
    best=1.04)
add("geglu-4096x11008x4096", gated, dict(_GATED, kind="gelu"), _SMALL,
    best=1.04)
add("rmsnorm-8192x4096x4096", norm_product, _WIDE, _SMALL, plain=1 / 1.04)
add("rmsnorm-8192x8192x4096", norm_product, _LARGE, _SMALL, plain=1 / 1.04)
add("unit-rmsnorm-8192x8192x4096", unit_norm_product, _LARGE, _SMALL,
    plain=1 / 1.04)
