# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small graphs that reach every family of GPU kernels.

    python3 families.py FOLDER

writes one .mlir file per graph. The first line of each is `// kernels: A, B`:
a kind of `fusec explain`, and words that the generated CUDA text must hold, with
" and " between several, so that a graph that no longer reaches its family is noticed
(test/Tool/gpu-families.test).
"""
import math
import os
import sys


def elements(type_):
    """How many a tensor type has."""
    return math.prod(int(part) for part in type_[len("tensor<"):-1].split("x")[:-1])


def tensor(*parts):
    return "tensor<" + "x".join(str(part) for part in parts) + ">"


class Graph:
    """A function that is written line by line."""

    def __init__(self):
        self.arguments, self.lines, self.results = [], [], []
        self.types = {}
        # About how long an oracle takes: elements, and the multiplications of products.
        self.work = 0

    def argument(self, type_):
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {type_}")
        self.types[name] = type_
        return name

    def op(self, name, *operands, attrs="", to=None, wide=False):
        """`graph.NAME OPERANDS ATTRS : types`; `to` where the result has another type."""
        value = f"%v{len(self.lines)}"
        first = self.types[operands[0]]
        types = ", ".join(self.types[o] for o in operands) if to or wide else first
        text = f"  {value} = graph.{name} {', '.join(operands)}{' ' + attrs if attrs else ''} : {types}"
        self.types[value] = to or first
        self.work += elements(self.types[value])
        if name == "contract":
            batch = int(first[len("tensor<"):].split("x")[0]) if "batch [0]" in attrs else 1
            self.work += math.isqrt(math.prod(elements(self.types[v]) for v in (*operands, value)) // batch)
        self.lines.append(text + (f" -> {to}" if to else ""))
        return value

    def constant(self, text, type_):
        value = f"%v{len(self.lines)}"
        self.lines.append(f"  {value} = graph.constant dense<{text}> : {type_}")
        self.types[value] = type_
        return value

    def out(self, *values):
        self.results += values
        return self

    def text(self, kernels):
        types = ", ".join(self.types[v] for v in self.results)
        return (f"// kernels: {kernels}\nfunc.func @main({', '.join(self.arguments)}) -> ({types}) {{\n"
                + "\n".join(self.lines) + f"\n  return {', '.join(self.results)} : {types}\n}}\n")


def pointwise(type_, shape):
    g = Graph()
    full = tensor(*shape, type_)
    x, y = g.argument(full), g.argument(tensor(shape[-1], type_))
    wide = g.op("broadcast", y, attrs=f"[{len(shape) - 1}]", to=full)
    z = g.op("add", x, wide)
    return g.out(g.op("tanh", z) if type_.startswith(("f", "bf")) else g.op("mul", z, x), z)


def movement():
    g = Graph()
    x = g.argument("tensor<37x53xf32>")
    pad = g.constant("1.0", "tensor<f32>")
    t = g.op("transpose", x, attrs="[1, 0]", to="tensor<53x37xf32>")
    p = g.op("pad", t, pad, attrs="low [1, 0] high [2, 3]", to="tensor<56x40xf32>")
    s = g.op("slice", p, attrs="offsets [55, 1] strides [-2, 3]", to="tensor<28x13xf32>")
    c = g.op("concat", s, s, attrs="axis = 1", to="tensor<28x26xf32>")
    i = g.argument("tensor<11xi32>")
    return g.out(g.op("neg", c), g.op("gather", x, i, attrs="axis = 0", to="tensor<11x53xf32>"))


def rotary(type_, rows, heads, half):
    """Rotary embeddings, with heads in front of the rows."""
    g = Graph()
    x = g.argument(tensor(2, rows, heads, 2 * half, type_))
    part = tensor(2, rows, heads, half, type_)
    cos, sin = (g.op("broadcast", g.argument(tensor(rows, half, type_)), attrs="[1, 3]", to=part)
                for _ in range(2))
    low, high = (g.op("slice", x, attrs=f"offsets [0, 0, 0, {at}] strides [1, 1, 1, 1]", to=part)
                 for at in (0, half))
    a = g.op("sub", g.op("mul", low, cos), g.op("mul", high, sin))
    b = g.op("add", g.op("mul", low, sin), g.op("mul", high, cos))
    whole = g.op("concat", a, b, attrs="axis = 3", to=g.types[x])
    return g.out(g.op("transpose", whole, attrs="[0, 2, 1, 3]",
                      to=tensor(2, heads, rows, 2 * half, type_)))


def transpose(type_, rows, columns):
    g = Graph()
    x = g.argument(tensor(rows, columns, type_))
    t = g.op("transpose", x, attrs="[1, 0]", to=tensor(columns, rows, type_))
    return g.out(g.op("neg", t))


def softmax(rows, columns, axis, type_="f32"):
    g = Graph()
    full, kept = tensor(rows, columns, type_), tensor(columns if axis == 0 else rows, type_)
    x = g.argument(full)
    wide = f"[{1 - axis}]"
    m = g.op("broadcast", g.op("reduce max", x, attrs=f"[{axis}]", to=kept), attrs=wide, to=full)
    e = g.op("exp", g.op("sub", x, m))
    s = g.op("broadcast", g.op("reduce sum", e, attrs=f"[{axis}]", to=kept), attrs=wide, to=full)
    return g.out(g.op("div", e, s))


def layer_norm(rows, columns, type_="f16"):
    g = Graph()
    full = tensor(rows, columns, type_)
    x, scale, shift = g.argument(full), g.argument(tensor(columns, type_)), g.argument(tensor(columns, type_))
    y = g.op("add", x, x)
    return g.out(y, g.op("layer_norm", y, scale, shift, attrs="axis = 1 epsilon = 1.0e-5", wide=True))


def embedding(rows, columns):
    """Rows of a table at places from both ends, and their norm."""
    g = Graph()
    full = tensor(rows, columns, "f16")
    table, scale = g.argument(tensor(61, columns, "f16")), g.argument(tensor(columns, "f16"))
    place = g.op("sub", g.argument(tensor(rows, "i64")), g.constant("50", tensor(rows, "i64")))
    x = g.op("gather", table, place, attrs="axis = 0", to=full)
    return g.out(g.op("layer_norm", x, scale, scale, attrs="axis = 1 epsilon = 1.0e-5", wide=True))


def norm_backward(rows, columns):
    """Sums over rows beside sums over columns."""
    g = Graph()
    full, row, column = tensor(rows, columns, "f32"), tensor(rows, "f32"), tensor(columns, "f32")
    x, dy = (g.op("cast", g.argument(tensor(rows, columns, "bf16")), to=full) for _ in range(2))
    scale = g.op("broadcast", g.argument(column), attrs="[1]", to=full)
    w = g.op("mul", dy, scale)
    m = g.op("broadcast", g.op("reduce sum", g.op("mul", x, w), attrs="[1]", to=row), attrs="[0]", to=full)
    n = g.op("broadcast", g.op("reduce sum", w, attrs="[1]", to=row), attrs="[0]", to=full)
    dx = g.op("cast", g.op("sub", g.op("sub", w, g.op("mul", x, m)), n), to=tensor(rows, columns, "bf16"))
    return g.out(dx, g.op("reduce sum", g.op("mul", dy, x), attrs="[0]", to=column),
                 g.op("reduce sum", dy, attrs="[0]", to=column))


def statistics(rows, columns):
    """Mean and squared distances from it, of columns."""
    g = Graph()
    full, column = tensor(rows, columns, "f32"), tensor(columns, "f32")
    x = g.argument(full)
    part = g.constant(str(1 / rows), column)
    mean = g.op("mul", g.op("reduce sum", x, attrs="[0]", to=column), part)
    d = g.op("sub", x, g.op("broadcast", mean, attrs="[1]", to=full))
    return g.out(mean, g.op("reduce sum", g.op("mul", d, d), attrs="[0]", to=column))


def normalise(images, pixels, groups, each):
    """Distances to the mean of groups of channels, the channels last."""
    g = Graph()
    full, row = tensor(images, pixels, groups, each, "f32"), tensor(images, groups, "f32")
    x = g.argument(full)
    mean = g.op("mul", g.op("reduce sum", x, attrs="[1, 3]", to=row), g.constant(str(1 / (pixels * each)), row))
    return g.out(g.op("sub", x, g.op("broadcast", mean, attrs="[0, 2]", to=full)), mean)


def turned(rows, groups, columns):
    """Blocks of rows times their greatest, stored transposed."""
    flat, cut = (rows, groups * columns), (rows, groups, columns)
    g = Graph()
    x = g.argument(tensor(*flat, "bf16"))
    wide = g.op("cast", x, to=tensor(*flat, "f32"))
    blocks = g.op("reshape", wide, to=tensor(*cut, "f32"))
    top = g.op("reduce max", g.op("abs", blocks), attrs="[2]", to=tensor(rows, groups, "f32"))
    scaled = g.op("mul", blocks, g.op("broadcast", top, attrs="[0, 1]", to=tensor(*cut, "f32")))
    back = g.op("cast", g.op("reshape", scaled, to=tensor(*flat, "f32")), to=tensor(*flat, "f8E4M3FN"))
    g.out(g.op("transpose", back, attrs="[1, 0]", to=tensor(*reversed(flat), "f8E4M3FN")), top)
    return g


def reduce(kind, rows, columns, axis, type_):
    g = Graph()
    x = g.argument(tensor(rows, columns, type_))
    return g.out(g.op(f"reduce {kind}", x, attrs=f"[{axis}]", to=tensor(columns if axis == 0 else rows, type_)))


def arg_reduce(rows, columns):
    g = Graph()
    x = g.argument(tensor(rows, columns, "f32"))
    i = g.op("arg_reduce max", x, attrs="dimension = 1", to=tensor(rows, "i64"))
    return g.out(i, g.op("cumulative sum", x, attrs="dimension = 1"))


def scatter():
    g = Graph()
    x, i, u = g.argument("tensor<14x6xf32>"), g.argument("tensor<5x1xi64>"), g.argument("tensor<5x6xf32>")
    return g.out(g.op("scatter_nd add", x, i, u, wide=True))


def depthwise(channels, height, width, stages, type_="f32"):
    g = Graph()
    t = tensor(1, channels, height, width, type_)
    x, k = g.argument(t), g.argument(tensor(channels, 1, 3, 3, type_))
    for _ in range(stages):
        x = g.op("relu", convolution(g, x, k, t, groups=channels))
    return g.out(x)


def channels_last(height, width, channels, size, type_, norm=False):
    """A depthwise window over an image with channels last, and a norm over them."""
    g = Graph()
    t, c = tensor(2, height, width, channels, type_), tensor(channels, type_)
    x, k = g.argument(t), g.argument(tensor(size, size, 1, channels, type_))
    pad = size // 2
    y = g.op("convolution", x, k, to=t, attrs=(
        f"strides [1, 1] dilations [1, 1] low [{pad}, {pad}] high [{pad}, {pad}] "
        f"dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = {channels}"))
    if norm:
        y = g.op("layer_norm", y, g.argument(c), g.argument(c), attrs="axis = 3 epsilon = 1.0e-5", wide=True)
    return g.out(y)


def convolution(g, x, k, to, groups=1, stride=1, pad=1, dims="[0, 1, 2, 3]"):
    return g.op("convolution", x, k, to=to, attrs=(
        f"strides [{stride}, {stride}] dilations [1, 1] low [{pad}, {pad}] high [{pad}, {pad}] "
        f"dims {dims} x {dims} -> {dims} groups = {groups}"))


def pools(height, width):
    g = Graph()
    t = tensor(2, 3, height, width, "f32")
    x = g.argument(t)
    m = g.op("window_reduce max", x, to=t, attrs=(
        "window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1]"))
    half = tensor(2, 3, (height - 1) // 2 + 1, (width - 1) // 2 + 1, "f32")
    return g.out(g.op("window_reduce sum", m, to=half, attrs=(
        "window [1, 1, 3, 3] strides [1, 1, 2, 2] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1]")))


def windows(size):
    g = Graph()
    x = g.argument(tensor(size, "f32"))
    for kind in ("sum", "max"):
        x = g.op(f"window_reduce {kind}", x, to=tensor(size, "f32"),
                 attrs="window [3] strides [1] dilations [1] low [1] high [1]")
    return g.out(x)


def product(m, n, k, type_, batch=0, lhs=False, rhs=False, before=False, after=False, tf32=False,
            other=None, result=None, fast=False):
    """batch x m x k times batch x k x n, operands transposed where asked, with arithmetic around."""
    g = Graph()
    lead = (batch,) if batch else ()
    a = g.argument(tensor(*lead, *((k, m) if lhs else (m, k)), type_))
    b = g.argument(tensor(*lead, *((n, k) if rhs else (k, n)), other or type_))
    first = len(lead)
    type_ = result or type_
    full = tensor(*lead, m, n, type_)
    if before:
        a = g.op("relu", a)
    c = g.op("contract", a, b, to=full, attrs=(
        f"batch {'[0] x [0]' if batch else '[] x []'} contract [{first + (not lhs)}] x [{first + rhs}]{' {allowTf32 = true}' if tf32 else ''}{' {graph.fast_accumulation}' if fast else ''}"))
    if after:
        bias = g.op("broadcast", g.argument(tensor(n, type_)), attrs=f"[{first + 1}]", to=full)
        c = g.op("gelu erf", g.op("add", c, bias))
    return g.out(c)


def gated(m, n, k, type_, rhs=False):
    """Two products of one operand; the first one's GELU times the second."""
    g = Graph()
    full = tensor(m, n, type_)
    x = g.argument(tensor(m, k, type_))
    a, b = (g.op("contract", x, g.argument(tensor(*((n, k) if rhs else (k, n)), type_)), to=full,
                 attrs=f"batch [] x [] contract [1] x [{int(rhs)}]") for _ in range(2))
    return g.out(g.op("mul", g.op("gelu tanh", a), b))


def product_statistics(m, n, k, type_, batch=0, rhs=False):
    """A product and a residual; squares of its rows, sums and maxima of its columns."""
    g = Graph()
    lead = (batch,) if batch else ()
    first = len(lead)
    a = g.argument(tensor(*lead, m, k, type_))
    b = g.argument(tensor(*lead, *((n, k) if rhs else (k, n)), type_))
    full, wide = tensor(*lead, m, n, type_), tensor(*lead, m, n, "f32")
    p = g.op("contract", a, b, to=full, attrs=(
        f"batch {'[0] x [0]' if batch else '[] x []'} contract [{first + 1}] x [{first + rhs}]"))
    y = g.op("add", p, g.argument(full))
    w = g.op("cast", y, to=wide) if type_ != "f32" else g.op("abs", y)
    return g.out(y, g.op("reduce sum", g.op("mul", w, w), attrs=f"[{first + 1}]", to=tensor(*lead, m, "f32")),
                 g.op("reduce sum", w, attrs=f"[{first}]", to=tensor(*lead, n, "f32")),
                 g.op("reduce max", w, attrs=f"[{first}]", to=tensor(*lead, n, "f32")))


def row_squares(m, n, k, type_):
    """A product and a residual; squares of its rows."""
    g = Graph()
    full = tensor(m, n, type_)
    y = g.op("add", g.op("contract", g.argument(tensor(m, k, type_)), g.argument(tensor(k, n, type_)), to=full,
                         attrs="batch [] x [] contract [1] x [0]"), g.argument(full))
    w = g.op("cast", y, to=tensor(m, n, "f32"))
    return g.out(y, g.op("reduce sum", g.op("mul", w, w), attrs="[1]", to=tensor(m, "f32")))


def weights(m, n, k, type_, along_k=True):
    """Rows of bf16 times weights of a byte with a scale for each column."""
    g = Graph()
    x = g.argument(tensor(m, k, "bf16"))
    w = g.argument(tensor(*((n, k) if along_k else (k, n)), type_))
    wide = tensor(*((n, k) if along_k else (k, n)), "bf16")
    scale = g.op("broadcast", g.argument(tensor(n, "bf16")), attrs=f"[{0 if along_k else 1}]", to=wide)
    w = g.op("mul", g.op("cast", w, to=wide), scale)
    return g.out(g.op("contract", x, w, to=tensor(m, n, "bf16"),
                      attrs=f"batch [] x [] contract [1] x [{1 if along_k else 0}]"))


def nibbles(m, n, k):
    """Rows of bf16 times weights of 4 bits, two in a byte, with a zero point and a
    scale for each 32."""
    g = Graph()
    x = g.argument(tensor(m, k, "bf16"))
    packed, apart, blocks = tensor(n, k // 2, "ui8"), tensor(n, k // 2, 1, "ui8"), (n, k // 32, 32)
    w, wide = g.argument(packed), tensor(*blocks, "bf16")
    parts = [g.op("reshape", g.op(name, w, g.constant(number, packed)), to=apart)
             for name, number in (("and", "15"), ("shr", "4"))]
    both = g.op("concat", *parts, attrs="axis = 2", to=tensor(n, k // 2, 2, "ui8"))
    q = g.op("cast", g.op("reshape", both, to=tensor(*blocks, "ui8")), to=wide)
    scale = g.op("broadcast", g.argument(tensor(n, k // 32, 1, "bf16")), attrs="[0, 1, 2]", to=wide)
    q = g.op("mul", g.op("sub", q, g.constant("8.0", wide)), scale)
    return g.out(g.op("contract", x, g.op("reshape", q, to=tensor(n, k, "bf16")), to=tensor(m, n, "bf16"),
                      attrs="batch [] x [] contract [1] x [1]"))


def image(type_, last, channels=16, outputs=24, size=13, stride=1):
    g = Graph()
    result = (size + 2 - 3) // stride + 1
    if last:
        x, k = g.argument(tensor(2, size, size, channels, type_)), g.argument(tensor(outputs, 3, 3, channels, type_))
        t, dims = tensor(2, result, result, outputs, type_), "[0, 3, 1, 2]"
    else:
        x, k = g.argument(tensor(2, channels, size, size, type_)), g.argument(tensor(outputs, channels, 3, 3, type_))
        t, dims = tensor(2, outputs, result, result, type_), "[0, 1, 2, 3]"
    return g.out(g.op("relu", convolution(g, x, k, t, stride=stride, dims=dims)))


def siblings():
    """One operand, three products, as in attention: one kernel."""
    g = Graph()
    x = g.argument("tensor<128x64xf16>")
    return g.out(*(g.op("contract", x, g.argument("tensor<64x64xf16>"), to="tensor<128x64xf16>",
                        attrs="batch [] x [] contract [1] x [0]") for _ in range(3)))


def side_by_side(rows_too, stencils_too=False):
    g = Graph()
    for size in (1, 33, 1000, 4096):
        g.out(g.op("exp", g.argument(tensor(size, "f32"))))
    if rows_too:
        for rows, columns, axis, type_ in ((100, 70, 1, "f32"), (3, 5000, 1, "f32"), (129, 64, 0, "f16")):
            x = g.argument(tensor(rows, columns, type_))
            g.out(g.op("reduce max", x, attrs=f"[{axis}]", to=tensor(columns if axis == 0 else rows, type_)))
    if stencils_too:
        for size in (33, 500):
            g.out(g.op("window_reduce sum", g.argument(tensor(size, "f32")), to=tensor(size, "f32"),
                       attrs="window [3] strides [1] dilations [1] low [1] high [1]"))
    return g


def chain(type_="f32", rounds=6, size=60):
    g = Graph()
    full, kept = tensor(size, size, type_), tensor(size, type_)
    x = g.argument(full)
    for _ in range(rounds):
        r = g.op("broadcast", g.op("reduce sum", x, attrs="[1]", to=kept), attrs="[0]", to=full)
        m = g.op("broadcast", g.op("reduce max", x, attrs="[0]", to=kept), attrs="[1]", to=full)
        t = g.op("transpose", x, attrs="[1, 0]", to=full)
        x = g.op("tanh", g.op("add", g.op("sub", t, m), r))
    return g.out(x)


def families():
    """Name -> (what the plan or text must hold, graph)."""
    all_ = {
        "pointwise-vectors": ("pointwise", pointwise("f32", (32, 1024))),
        "pointwise-tails": ("pointwise", pointwise("f16", (7, 5, 33))),
        "pointwise-bytes": ("pointwise", pointwise("i8", (13, 101))),
        "pointwise-wide": ("pointwise", pointwise("f64", (17, 31))),
        "pointwise-pieces": ("pointwise", rotary("bf16", 37, 5, 24)),
        "movement": ("multi", movement()),
        "transpose-f32": ("pointwise", transpose("f32", 67, 129)),
        "transpose-bf16": ("pointwise", transpose("bf16", 64, 256)),
        "transpose-odd": ("pointwise, cp_async16", transpose("bf16", 131, 333)),
        "scatter": ("naive", scatter()),
        "row-warp": ("row", softmax(33, 31, 1)),
        "row-block": ("row", softmax(5, 4099, 1)),
        "row-shared-long": ("row, FUSEC_KERNEL_GRID", softmax(1, 1000003, 1)),
        "row-cluster": ("row, st_async", softmax(3, 40961, 1)),
        "row-cluster-kept": ("row, FUSEC_SHARED_DYN_AT",
                             softmax(150, 40961, 1)),
        "row-chunks": ("row", softmax(300, 12289, 1)),
        "row-across": ("row", softmax(257, 33, 0)),
        "row-lines": ("row, st_async", softmax(700, 8480, 0)),
        "row-half": ("row", softmax(16, 1024, 1, "f16")),
        "row-norm": ("row", layer_norm(37, 768)),
        "row-columns": ("row, FUSEC_KERNEL_GRID", norm_backward(1031, 4096)),
        "row-columns-long": ("row, FUSEC_KERNEL_GRID", norm_backward(263, 8192)),
        "row-shared-groups": ("row, FUSEC_KERNEL_GRID", normalise(2, 8192, 8, 10)),
        "row-shared": ("row, FUSEC_KERNEL_GRID", normalise(1, 70001, 64, 1)),
        "row-statistics": ("row, FUSEC_KERNEL_CLUSTER", statistics(20011, 64)),
        "row-turned": ("row, FUSEC_SHARED(f8e4m3", turned(300, 7, 32)),
        "row-run": ("row, cp_async16(s0", softmax(2117, 45, 1)),
        "row-tables": ("row, ldm<4>", embedding(37, 384)),
        "row-run-half": ("row, cp_async16(s0", layer_norm(2128, 129)),
        "row-arg": ("row", arg_reduce(9, 1025)),
        "split-row": ("row, ticket", reduce("sum", 1, 200003, 1, "f32")),
        "split-columns": ("row, ticket", reduce("max", 8200, 33, 0, "f32")),
        "split-skewed": ("row, ticket and ldm<4>(a1",
                         reduce("max", 1032, 301, 0, "f32")),
        "split-bytes": ("row, ticket", reduce("min", 2, 140003, 1, "i8")),
        "stencil-march": ("stencil", depthwise(3, 40, 70, 3)),
        "stencil-inner": ("stencil", depthwise(1, 140, 200, 2)),
        "stencil-channels": ("stencil", channels_last(13, 11, 72, 3, "f16")),
        "stencil-norm": ("stencil, FUSEC_SHARED(f32 and shfl_xor", channels_last(13, 10, 96, 7, "bf16", True)),
        "stencil-norm-odd": ("stencil, FUSEC_SHARED(f32 and shfl_xor", channels_last(9, 17, 75, 3, "f32", True)),
        "stencil-tile": ("stencil", pools(17, 33)),
        "stencil-line": ("stencil", windows(1023)),
        "merged-pointwise": ("multi, FUSEC_TABLE", side_by_side(False)),
        "merged-rows": ("multi", side_by_side(True)),
        "merged-stencils": ("multi", side_by_side(False, True)),
        "chain": ("chain, Sent<", chain()),
        "chain-long": ("chain, meet<true>", chain(rounds=16)),
        "chain-memory": ("chain, cluster_sync();", chain("f16")),
        "siblings": ("contraction", siblings()),
    }
    for name, type_, marks in (("fma", "f32", "GemmKind::F32"), ("mma", "f16", "Config<GemmKind::F16")):
        all_[f"{name}-primes"] = (f"contraction, {marks}", product(33, 31, 37, type_))
        all_[f"{name}-batch"] = (f"contraction, {marks}", product(16, 21, 13, type_, batch=3, rhs=True))
        all_[f"{name}-around"] = (f"contraction, {marks}",
                                  product(65, 72, 40, type_, before=True, after=True, lhs=True))
    for type_ in ("f16", "bf16"):
        for lhs in (False, True):
            for rhs in (False, True):
                all_[f"wgmma-{type_}-{'t' if lhs else 'n'}{'t' if rhs else 'n'}"] = (
                    "contraction, GemmWgmmaConfig", product(136, 200, 152, type_, lhs=lhs, rhs=rhs))
    all_["wgmma-batch"] = ("contraction, GemmWgmmaConfig", product(72, 128, 64, "f16", batch=3))
    all_["wgmma-epilogue"] = ("contraction, GemmWgmmaConfig", product(200, 136, 264, "f16", after=True))
    # Clusters of two need 67 tiles of 128 x 256 at least, which 200 columns fill
    # badly enough to be cheap to judge; k goes round the ring. Of "odd" the
    # second tile of every other cluster is empty.
    all_["wgmma-cluster"] = ("contraction, GemmWgmmaConfig<GemmKind::F16, 2, 256, 4, 8, 1, 2>;",
                             product(136, 200, 1032, "f16", batch=45, after=True))
    all_["wgmma-cluster-odd"] = ("contraction, GemmWgmmaConfig<GemmKind::BF16, 2, 256, 4, 8, 1, 2>;",
                                 product(264, 200, 1032, "bf16", batch=34, rhs=True))
    # Rows and columns over several tiles, whose ends are ragged; more tiles than
    # blocks, and than clusters of two; parts of k.
    both = "struct Row { and struct Column { and "
    all_["statistics-fma"] = (f"contraction, {both}GemmKind::F32", product_statistics(133, 131, 37, "f32"))
    all_["statistics-mma"] = (f"contraction, {both}Config<GemmKind::BF16", product_statistics(133, 131, 37, "bf16"))
    all_["statistics-wgmma"] = (f"contraction, {both}GemmWgmmaConfig",
                                product_statistics(1160, 1096, 72, "f16"))
    all_["statistics-cluster"] = (f"contraction, {both}GemmWgmmaConfig<GemmKind::BF16, 2, 256, 4, 8, 1, 2>;",
                                  product_statistics(264, 200, 1032, "bf16", batch=34, rhs=True))
    # The second tile of a block has other rows than the first.
    all_["statistics-rows"] = ("contraction, struct Row { and GemmWgmmaConfig",
                               row_squares(8456, 456, 264, "bf16"))
    all_["statistics-split"] = (f"contraction, {both}GemmSplitConfig",
                                product_statistics(130, 264, 2056, "bf16"))
    all_["wgmma-tf32"] = ("contraction, GemmWgmmaConfig<GemmKind::TF32", product(136, 200, 152, "f32", rhs=True, tf32=True))
    all_["wgmma-tf32-cluster"] = ("contraction, GemmWgmmaConfig<GemmKind::TF32, 2, 256, 4, 8, 1, 2>;",
                                  product(8456, 200, 136, "f32", rhs=True, after=True, tf32=True))
    for name, kind, lhs, rhs in (("e4", "E4M3", "f8E4M3FN", "f8E4M3FN"), ("e5", "E5M2", "f8E5M2", "f8E5M2"),
                                 ("e4e5", "E4M3E5M2", "f8E4M3FN", "f8E5M2")):
        for fast in (False, True):
            all_[f"wgmma-{name}{'-fast' if fast else ''}"] = (
                f"contraction, GemmKind::{kind}",
                product(136, 200, 528, lhs, rhs=True, other=rhs, result="f32", fast=fast))
    all_["wgmma-f8-cluster"] = ("contraction, GemmWgmmaConfig<GemmKind::E4M3, 2, 256, 4, 8, 1, 2, 2>;",
                                product(144, 208, 272, "f8E4M3FN", batch=45, rhs=True, result="f16", after=True))
    for name, kind, rhs in (("i8", "I8", "i8"), ("i8u8", "I8U8", "ui8")):
        all_[f"wgmma-{name}"] = (f"contraction, GemmWgmmaConfig<GemmKind::{kind},",
                                 product(136, 200, 528, "i8", rhs=True, other=rhs, result="i32"))
    all_["wgmma-tf32-turned"] = ("contraction, GemmWgmmaConfig<GemmKind::TF32",
                                 product(520, 520, 264, "f32", tf32=True))
    all_["wgmma-padded"] = ("contraction, GemmWgmmaConfig", product(1021, 1033, 1027, "bf16"))
    all_["wgmma-apart"] = ("contraction, GemmApartConfig", product(8456, 320, 264, "bf16", after=True))
    # Tiles in turns: rounds that are not full, the last rows and columns cut.
    all_["wgmma-turns"] = ("contraction, GemmAlternateConfig<GemmKind::BF16, 160, 5, 5, 8, 2>",
                           product(34000, 312, 136, "bf16", after=True))
    all_["wgmma-turns-k"] = ("contraction, GemmAlternateConfig<GemmKind::F16, 160, 5, 5, 8, 2>",
                             product(34000, 320, 328, "f16", rhs=True))
    # Columns that stay: blocks that change columns, the last box cut; batches; without boxes of results.
    all_["wgmma-held"] = ("contraction, GemmHeldConfig", product(9000, 2040, 136, "bf16", after=True))
    all_["wgmma-held-batch"] = ("contraction, GemmHeldConfig", product(3000, 1016, 256, "f16", batch=7))
    all_["wgmma-held-k"] = ("contraction, GemmHeldConfig", product(9000, 2048, 200, "f16", rhs=True))
    # More tiles than blocks, the last ones ragged; one box for both, and order of accumulators.
    all_["wgmma-pair"] = ("contraction, GemmPairConfig", gated(2312, 1160, 264, "bf16"))
    all_["wgmma-pair-k"] = ("contraction, GemmPairConfig", gated(2312, 1184, 264, "f16", rhs=True))
    all_["few-copied"] = ("contraction, GemmFewConfig<GemmKind::F16, 8",
                          product(5, 4100, 1000, "f16", rhs=True))
    all_["few-cluster"] = ("contraction, gemm_few", product(13, 520, 4104, "bf16", rhs=True, after=True))
    all_["few-batch"] = ("contraction, gemm_few", product(33, 200, 264, "f16", batch=3, rhs=True))
    all_["few-tf32"] = ("contraction, GemmFewConfig<GemmKind::TF32", product(9, 1000, 516, "f32", rhs=True, tf32=True))
    all_["few-reduction"] = ("contraction, shfl_xor", product(5, 1000, 516, "f32", rhs=True, after=True))
    all_["few-i8"] = ("contraction, GemmFewConfig<GemmKind::I8", product(9, 1000, 528, "i8", rhs=True, result="i32"))
    # A in shared memory, B straight to registers: along k it is computed, along n copied.
    for type_ in ("i8", "f8E4M3FN"):
        for rows, kind in ((16, "GemmDirectConfig<GemmKind::BF16, 16"), (17, "GemmFewConfig<GemmKind::BF16, 32")):
            all_[f"few-weights-{type_[:2]}-k-{rows}"] = (
                f"contraction, {kind}", weights(rows, 1000, 520, type_, True))
        all_[f"few-weights-{type_[:2]}-n"] = (
            "contraction, GemmFewConfig<GemmKind::BF16, 16", weights(16, 1000, 520, type_, False))
    for rows in (1, 3, 16):
        all_[f"few-weights-u4-{rows}"] = ("contraction, gemm_direct and fields<bf16, 4", nibbles(rows, 1000, 1056))
    all_["few-weights-u4-17"] = ("contraction, gemm_few and fields<bf16, 4", nibbles(17, 1000, 1056))
    for rows in (1, 5):
        all_[f"few-across-{rows}"] = ("contraction, gemm_direct", product(rows, 4104, 1000, "bf16", after=True))
    all_["split-sums"] = ("contraction, gemm", product(128, 128, 16384, "bf16", rhs=True, before=True))
    # Clusters divide k: two tiles of a cluster share B, uneven parts, both orders, batches.
    for name, size, options in (("", (128, 128, 8192), {"rhs": True}), ("-odd", (130, 264, 2056), {"after": True}),
                                ("-batch", (72, 80, 2056), {"batch": 3, "lhs": True})):
        all_["wgmma-split" + name] = ("contraction, GemmSplitConfig<GemmKind::BF16", product(*size, "bf16", **options))
    all_["wgmma-split-tf32"] = ("contraction, GemmSplitConfig<GemmKind::TF32",
                                product(136, 200, 2056, "f32", rhs=True, tf32=True))
    all_["wgmma-split-e4"] = ("contraction, GemmSplitConfig<GemmKind::E4M3",
                              product(136, 208, 8208, "f8E4M3FN", rhs=True, result="f32"))
    all_["wgmma-split-i8"] = ("contraction, GemmSplitConfig<GemmKind::I8,",
                              product(136, 208, 8208, "i8", rhs=True, result="i32"))
    all_["mma-tf32"] = ("contraction, GemmKind::TF32", product(65, 72, 40, "f32", tf32=True))
    for type_ in ("f32", "f16"):
        all_[f"conv-last-{type_}"] = ("contraction", image(type_, True))
        all_[f"conv-first-{type_}"] = ("contraction", image(type_, False, stride=2))
    return all_


def write(folder):
    os.makedirs(folder, exist_ok=True)
    for name, (kernels, graph) in families().items():
        with open(os.path.join(folder, name + ".mlir"), "w", encoding="utf-8") as file:
            file.write(graph.text(kernels))


if __name__ == "__main__":
    write(sys.argv[1])
