# transformers.py - BERT, GPT-2, LLaMA and ViT.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np

from . import layers as L
from .graph import Graph


def bert(size):
    """An encoder (MiniLM-L6-H384 by default): embeddings and `layers` layers."""
    b, s, h, heads = size.batch, size.seq, size.hidden, size.heads
    g = Graph("bert", size.dtype, 17 if size.decomposed else 20)
    ids = g.input("input_ids", [b, s], "i64")
    mask = g.input("attention_mask", [b, s], "i64")
    segments = g.input("token_type_ids", [b, s], "i64")
    x = g.Gather(g.weight(size.vocab, h, scale=0.05), ids)
    x = g.Add(x, g.Gather(g.weight(2, h, scale=0.05), segments))
    x = g.Add(x, g.weight(1, s, h, scale=0.05))
    x = L.layer_norm(g, x, h, size.decomposed, 1e-12 if size.dtype == "f32" else 1e-5)
    mask = g.Cast(g.Unsqueeze(mask, g.ints([1, 2])), to=g.onnx_type)
    bias = g.Mul(g.Sub(g.number(1), mask), g.number(-1e4))
    for _ in range(size.layers):
        q, k, v = (
            L.split_heads(g, L.linear(g, x, h, h), b, s, heads, h // heads) for _ in range(3)
        )
        y = L.merge_heads(g, L.attention(g, q, k, v, h // heads, bias), b, s, h)
        x = L.layer_norm(g, g.Add(L.linear(g, y, h, h), x), h, size.decomposed)
        y = L.gelu(g, L.linear(g, x, h, 4 * h), size.decomposed)
        x = L.layer_norm(g, g.Add(L.linear(g, y, 4 * h, h), x), h, size.decomposed)
    g.output(x, [b, s, h])
    return g.model()


def gpt2(size):
    """Decoder blocks before and after norms, with one product for q, k and v."""
    b, s, h, heads = size.batch, size.seq, size.hidden, size.heads
    g = Graph("gpt2", size.dtype, 17 if size.decomposed else 20)
    x = g.input("hidden", [b, s, h])
    mask = L.causal_mask(g, s)
    for _ in range(size.layers):
        y = L.layer_norm(g, x, h, size.decomposed)
        y = g.Reshape(L.gemm(g, g.Reshape(y, g.ints([-1, h])), h, 3 * h), g.ints([b, s, 3 * h]))
        parts = g.op("Split", y, g.ints([h, h, h]), outputs=3, axis=2)
        q, k, v = (L.split_heads(g, part, b, s, heads, h // heads) for part in parts)
        y = L.merge_heads(g, L.attention(g, q, k, v, h // heads, mask), b, s, h)
        y = g.Reshape(L.gemm(g, g.Reshape(y, g.ints([-1, h])), h, h), g.ints([b, s, h]))
        x = g.Add(y, x)
        y = g.Reshape(L.layer_norm(g, x, h, size.decomposed), g.ints([-1, h]))
        y = L.gelu_tanh(g, L.gemm(g, y, h, 4 * h), size.decomposed)
        x = g.Add(x, g.Reshape(L.gemm(g, y, 4 * h, h), g.ints([b, s, h])))
    g.output(x, [b, s, h])
    return g.model()


def rotate_half(g, x, size, cos, sin):
    """x cos + [-x2, x1] sin."""
    half, end = g.ints([size // 2]), g.ints([2**31])
    zero, axis = g.ints([0]), g.ints([3])
    first, second = g.Slice(x, zero, half, axis), g.Slice(x, half, end, axis)
    turned = g.Concat(g.Neg(second), first, axis=3)
    return g.Add(g.Mul(x, cos), g.Mul(turned, sin))


def repeat_heads(g, x, b, groups, times, s, size):
    """Every head `times` times in a row, as Expand and Reshape."""
    if times == 1:
        return x
    x = g.Expand(g.Unsqueeze(x, g.ints([2])), g.ints([b, groups, times, s, size]))
    return g.Reshape(x, g.ints([b, groups * times, s, size]))


def llama(size):
    """Decoder blocks: RMS norm, rotary positions, grouped heads, SwiGLU."""
    b, s, h, heads, groups = size.batch, size.seq, size.hidden, size.heads, size.groups
    d = h // heads
    g = Graph("llama", size.dtype, 18 if size.decomposed else 23)
    x = g.input("hidden", [b, s, h])
    angles = np.outer(np.arange(s), 10000.0 ** (-np.arange(0, d, 2) / d))
    if size.decomposed:
        wide = np.concatenate([angles, angles], 1).reshape(1, 1, s, d)
        mask = L.causal_mask(g, s)
    else:
        wide = angles
        positions = g.constant(np.tile(np.arange(s), (b, 1)), "positions")
    cos = g.real(np.cos(wide), "cos")
    sin = g.real(np.sin(wide), "sin")
    for _ in range(size.layers):
        y = L.rms_norm(g, x, h, size.decomposed)
        q = L.split_heads(g, L.linear(g, y, h, h, False), b, s, heads, d)
        k = L.split_heads(g, L.linear(g, y, h, groups * d, False), b, s, groups, d)
        v = L.split_heads(g, L.linear(g, y, h, groups * d, False), b, s, groups, d)
        if size.decomposed:
            q, k = (rotate_half(g, part, d, cos, sin) for part in (q, k))
            k, v = (repeat_heads(g, part, b, groups, heads // groups, s, d) for part in (k, v))
            y = L.attention(g, q, k, v, d, mask)
        else:
            q, k = (g.RotaryEmbedding(part, cos, sin, positions) for part in (q, k))
            y = g.Attention(q, k, v, is_causal=1)
        y = L.linear(g, L.merge_heads(g, y, b, s, h), h, h, False)
        x = g.Add(x, y)
        y = L.rms_norm(g, x, h, size.decomposed)
        up = L.linear(g, y, h, size.inner, False)
        gate = L.silu(g, L.linear(g, y, h, size.inner, False))
        x = g.Add(x, L.linear(g, g.Mul(gate, up), size.inner, h, False))
    g.output(x, [b, s, h])
    return g.model()


def vit(size):
    """A vision transformer (B/16 by default): patches, `layers` layers, classes."""
    b, h, heads = size.batch, size.hidden, size.heads
    side = size.image // size.patch
    s = side * side + 1
    g = Graph("vit", size.dtype, 17 if size.decomposed else 20)
    x = g.input("pixels", [b, 3, size.image, size.image])
    x = g.Conv(x, g.weight(h, 3, size.patch, size.patch), g.weight(h, scale=0.02),
               kernel_shape=[size.patch] * 2, strides=[size.patch] * 2)
    x = g.Transpose(g.Reshape(x, g.ints([b, h, side * side])), perm=[0, 2, 1])
    first = g.Expand(g.weight(1, 1, h, scale=0.02), g.ints([b, 1, h]))
    x = g.Add(g.Concat(first, x, axis=1), g.weight(1, s, h, scale=0.02))
    for _ in range(size.layers):
        y = L.layer_norm(g, x, h, size.decomposed)
        q, k, v = (
            L.split_heads(g, L.linear(g, y, h, h), b, s, heads, h // heads) for _ in range(3)
        )
        y = L.merge_heads(g, L.attention(g, q, k, v, h // heads), b, s, h)
        x = g.Add(L.linear(g, y, h, h), x)
        y = L.layer_norm(g, x, h, size.decomposed)
        y = L.gelu(g, L.linear(g, y, h, 4 * h), size.decomposed)
        x = g.Add(L.linear(g, y, 4 * h, h), x)
    x = L.layer_norm(g, x, h, size.decomposed)
    x = L.gemm(g, g.Gather(x, g.constant(np.array(0, np.int64)), axis=1), h, size.classes)
    g.output(x, [b, size.classes])
    return g.model()
