# layers.py - parts of networks, the way exporters write them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function takes the graph and value names and returns a value name. With
`decomposed`, norms and activations are written in primitives, as exporters do
for opsets that lack the operator."""

import numpy as np


def linear(g, x, inputs, outputs, bias=True):
    """x W + b."""
    y = g.MatMul(x, g.weight(inputs, outputs))
    return g.Add(g.weight(outputs, scale=0.02), y) if bias else y


def gemm(g, x, inputs, outputs):
    """Rank 2, with the weight transposed."""
    return g.Gemm(x, g.weight(outputs, inputs, scale=inputs**-0.5),
                  g.weight(outputs, scale=0.02), transB=1)


def layer_norm(g, x, size, decomposed, epsilon=1e-5):
    scale, bias = g.near_one(size), g.weight(size, scale=0.02)
    if not decomposed:
        return g.LayerNormalization(x, scale, bias, axis=-1, epsilon=epsilon)
    centred = g.Sub(x, g.ReduceMean(x, axes=[-1]))
    variance = g.ReduceMean(g.Pow(centred, g.number(2)), axes=[-1])
    deviation = g.Sqrt(g.Add(variance, g.number(epsilon)))
    return g.Add(g.Mul(g.Div(centred, deviation), scale), bias)


def rms_norm(g, x, size, decomposed, epsilon=1e-5):
    """Decomposed: computed in f32, whatever the graph's type, as exporters do."""
    scale = g.near_one(size)
    if not decomposed:
        return g.RMSNormalization(x, scale, axis=-1, epsilon=epsilon)
    wide = g.Cast(x, to=1)
    two = g.constant(np.array(2, np.float32))
    axes = g.ints([-1])
    mean = g.ReduceMean(g.Pow(wide, two), axes)
    root = g.Sqrt(g.Add(mean, g.constant(np.array(epsilon, np.float32))))
    one = g.constant(np.array(1, np.float32))
    y = g.Mul(wide, g.Div(one, root))
    return g.Mul(scale, g.Cast(y, to=g.onnx_type))


def gelu(g, x, decomposed):
    """By erf."""
    if not decomposed:
        return g.Gelu(x)
    erf = g.Erf(g.Div(x, g.number(np.sqrt(2))))
    return g.Mul(g.Mul(x, g.Add(erf, g.number(1))), g.number(0.5))


def gelu_tanh(g, x, decomposed):
    if not decomposed:
        return g.Gelu(x, approximate="tanh")
    cubic = g.Mul(g.Pow(x, g.number(3)), g.number(0.044715))
    inner = g.Mul(g.Add(x, cubic), g.number(np.sqrt(2 / np.pi)))
    return g.Mul(g.Mul(x, g.number(0.5)), g.Add(g.Tanh(inner), g.number(1)))


def silu(g, x):
    return g.Mul(x, g.Sigmoid(x))


def split_heads(g, x, batch, length, heads, size):
    """[batch, heads, length, size]."""
    shape = g.ints([batch, length, heads, size])
    return g.Transpose(g.Reshape(x, shape), perm=[0, 2, 1, 3])


def merge_heads(g, x, batch, length, width):
    return g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), g.ints([batch, length, width]))


def attention(g, q, k, v, size, mask=None):
    """[batch, heads, length, size] each; softmax(q k' / sqrt(size) + mask) v."""
    scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
    scores = g.Div(scores, g.number(np.sqrt(size)))
    if mask:
        scores = g.Add(scores, mask)
    return g.MatMul(g.Softmax(scores, axis=-1), v)


def causal_mask(g, length):
    """[1, 1, length, length] of 0 and a large negative number."""
    mask = np.triu(np.full((length, length), -1e4), 1)
    return g.real(mask.reshape(1, 1, length, length), "mask")


def conv(g, x, inputs, outputs, kernel, stride=1, groups=1, bias=False):
    pad = kernel // 2
    weight = g.weight(outputs, inputs // groups, kernel, kernel)
    rest = [g.weight(outputs, scale=0.02)] if bias else []
    return g.Conv(x, weight, *rest, kernel_shape=[kernel, kernel], strides=[stride, stride],
                  pads=[pad] * 4, group=groups, dilations=[1, 1])


def batch_norm(g, x, channels):
    return g.BatchNormalization(
        x, g.near_one(channels), g.weight(channels, scale=0.02),
        g.weight(channels, scale=0.02), g.positive(channels), epsilon=1e-5)


def group_norm(g, x, batch, groups, channels, height, width):
    """As exporters write it: an instance norm over groups."""
    flat = g.Reshape(x, g.ints([0, groups, -1]))
    ones = g.real(np.ones(groups))
    zeros = g.real(np.zeros(groups))
    y = g.InstanceNormalization(flat, ones, zeros, epsilon=1e-5)
    y = g.Reshape(y, g.ints([batch, channels, height, width]))
    return g.Add(g.Mul(y, g.near_one(channels, 1, 1)), g.weight(channels, 1, 1, scale=0.02))
