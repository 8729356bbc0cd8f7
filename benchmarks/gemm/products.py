# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain products: squares, transpositions, short sums, few columns, batches,
odd sizes, other types."""

from .case import In, Matmul, Product, Sample, add, as_double, size


def _operand(name, dtype, rows, columns, turned, batch, deviation=1.0):
    """A [rows, columns] matrix, stored the other way round if `turned`."""
    shape = (columns, rows) if turned else (rows, columns)
    if dtype in ("i8", "u8"):
        return In(name, dtype, batch + shape, "ints", 100)
    return In(name, dtype, batch + shape, scale=deviation)


def _swap(x):
    """The last two dimensions, of arrays of NumPy and PyTorch."""
    return x.swapaxes(-1, -2)


def product(m, n, k, dtype="bf16", turned="", batch=()):
    """out = x . w, of the operands' type. `turned`: "a", "b", "ab"."""
    ta, tb = "a" in turned, "b" in turned
    axes = len(batch) + 2
    order = [*range(axes - 2), axes - 1, axes - 2]

    def graph(b, x, w):
        x = b.transpose(x, order) if ta else x
        w = b.transpose(w, order) if tb else w
        return {"y": b.matmul(x, w)}

    def formula(F, x, w):
        return (_swap(x) if ta else x) @ (_swap(w) if tb else w),

    def native(torch, x, w):
        return formula(None, x, w)
    count = 1
    for extent in batch:
        count *= extent
    axis = {0: 0, 1: 0} if batch else {0: 1 if ta else 0}
    return Product(
        [_operand("x", dtype, m, k, ta, batch),
         _operand("w", dtype, k, n, tb, batch, k ** -0.5)], graph, formula,
        count * (size(dtype, m, k) + size(dtype, k, n) + size(dtype, m, n)),
        [Sample([0], axis)], {0: "loose"},
        flops=2 * count * m * n * k, natives=[("matmul", native)],
        matmul=Matmul(m, n, k, dtype, dtype, dtype, turned, count))


def text_product(m, n, k, dtype, result, tf32=False):
    """x [m, k] . w [n, k], spelled as the graph's own operator."""
    flag = " {allowTf32 = true}" if tf32 else ""
    x, w, y = (f"tensor<{a}x{b}x{t}>" for a, b, t in
               ((m, k, dtype), (n, k, dtype), (m, n, result)))
    text = f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %y = graph.contract %x, %w batch [] x [] contract [1] x [1]{flag}
      : {x}, {w} -> {y}
  return %y : {y}
}}
"""

    def formula(F, x, w):
        x, w = as_double(x), as_double(w)
        return x @ _swap(w),

    def native(torch, x, w):
        if dtype == "i8":
            return torch._int_mm(x, w.t())
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            return x @ w.t()
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
    check = "equal" if dtype == "i8" else "tf32" if tf32 else "loose"
    return Product(
        [_operand("x", dtype, m, k, False, ()),
         _operand("w", dtype, k, n, True, (), 1 if dtype == "i8" else k ** -0.5)],
        None, formula,
        size(dtype, m, k) + size(dtype, k, n) + size(result, m, n),
        [Sample([0], {0: 0})], {0: check}, flops=2 * m * n * k,
        natives=[("matmul", native)], text=text,
        matmul=Matmul(m, n, k, dtype, dtype, result, "b", tf32=tf32))


_SMALL = dict(m=67, n=136, k=96)
_ODD = dict(m=35, n=27, k=33)
_S, _L = 4096, 8192
add("bf16-8192x8192x4096", product, dict(m=_L, n=_L, k=_S), _SMALL,
    library=0.98)
add("bf16-8192", product, dict(m=_L, n=_L, k=_L), _SMALL, library=0.98)
add("bf16-8192x6144x4096", product, dict(m=_L, n=6144, k=_S), _SMALL,
    library=0.97)
for _t in ("", "a", "b", "ab"):
    add("bf16-4096" + ("-t" + _t if _t else ""), product,
        dict(m=_S, n=_S, k=_S, turned=_t), _SMALL,
        library=0.97 if _t else 0.98)
add("bf16-8192x8192x256", product, dict(m=_L, n=_L, k=256), _SMALL,
    library=0.97)
for _t in ("", "b"):
    add("bf16-65536x320x1280" + ("-t" + _t if _t else ""), product,
        dict(m=65536, n=320, k=1280, turned=_t), _SMALL, library=0.97)
add("bf16-64x512", product, dict(m=512, n=512, k=512, batch=(64,)),
    dict(m=33, n=40, k=24, batch=(3,)), library=0.97)
add("bf16-4096x1024x1024", product, dict(m=_S, n=1024, k=1024), _SMALL,
    library=0.97)
for _m, _k in ((1024, _L), (512, 16384)):
    add(f"bf16-{_m}x{_m}x{_k}", product, dict(m=_m, n=_m, k=_k),
        dict(m=33, n=40, k=264), library=0.97)
add("bf16-8191x4099x1027", product, dict(m=8191, n=4099, k=1027), _ODD,
    library=0.85)
add("f32-4096", product, dict(m=_S, n=_S, k=_S, dtype="f32"), _ODD, library=0.9)
add("tf32-8192", text_product,
    dict(m=_L, n=_L, k=_L, dtype="f32", result="f32", tf32=True), _SMALL,
    library=0.95)
add("i8-8192", text_product,
    dict(m=_L, n=_L, k=_L, dtype="i8", result="i32"), _SMALL, library=1.0)
