# small.py - an LSTM, a NeRF's field.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from . import layers as L
from .graph import Graph


def lstm(size):
    """One layer over `seq` steps; decomposed: the step of a cell in primitives."""
    b, h = size.batch, size.hidden
    g = Graph("lstm", size.dtype)
    if not size.decomposed:
        x = g.input("x", [size.seq, b, h])
        w, r = g.weight(1, 4 * h, h), g.weight(1, 4 * h, h)
        y, _, cell = g.op("LSTM", x, w, r, g.weight(1, 8 * h, scale=0.02), outputs=3,
                          hidden_size=h)
        g.output(y, [size.seq, 1, b, h])
        g.output(cell, [1, b, h])
        return g.model()
    x, hidden, cell = (g.input(name, [b, h]) for name in ("x", "hidden", "cell"))
    gates = g.Add(L.gemm(g, x, h, 4 * h), L.gemm(g, hidden, h, 4 * h))
    i, f, c, o = g.op("Split", gates, g.ints([h] * 4), outputs=4, axis=1)
    cell = g.Add(g.Mul(g.Sigmoid(f), cell), g.Mul(g.Sigmoid(i), g.Tanh(c)))
    hidden = g.Mul(g.Sigmoid(o), g.Tanh(cell))
    g.output(hidden, [b, h])
    g.output(cell, [b, h])
    return g.model()


def encode(g, x, bands):
    """x beside sines and cosines of its multiples."""
    parts = [x]
    for band in range(bands):
        scaled = g.Mul(x, g.number(2.0**band))
        parts += [g.Sin(scaled), g.Cos(scaled)]
    return g.Concat(*parts, axis=1)


def nerf(size):
    """Eight dense layers with a skip to the fifth, density and colour."""
    n, h = size.batch, size.hidden
    g = Graph("nerf", size.dtype)
    position, direction = g.input("position", [n, 3]), g.input("direction", [n, 3])
    p, d = encode(g, position, 10), encode(g, direction, 4)
    wide, inputs = 63, 63
    x = p
    for layer in range(8):
        if layer == 5:
            x, inputs = g.Concat(p, x, axis=1), wide + h
        x, inputs = g.Relu(L.gemm(g, x, inputs, h)), h
    density = g.Relu(L.gemm(g, x, h, 1))
    x = g.Concat(L.gemm(g, x, h, h), d, axis=1)
    x = g.Relu(L.gemm(g, x, h + 27, h // 2))
    g.output(g.Sigmoid(L.gemm(g, x, h // 2, 3)), [n, 3])
    g.output(density, [n, 1])
    return g.model()
