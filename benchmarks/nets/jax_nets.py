# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks in JAX: functions of weights and inputs, of lax.dot_general and
lax.conv_general_dilated; norms and softmax in float32; images with channels
last. `make` gives (function, weights) with the weights of a file."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..models.images import MOBILENET
from . import interpreter
from .tape import Tape

_DTYPES = {"f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16}


class _Weights:
    """Takes arrays from a tape; layers are tuples of them. They are NumPy's
    until all are there, so that nothing is compiled to arrange them."""

    def __init__(self, tape):
        self.tape = tape

    def array(self, stem, *shape):
        return self.tape.take(stem, *shape).numbers()

    def weight(self, *shape):
        return self.array("weight", *shape)

    def linear(self, inputs, *outputs, bias=True):
        """One product for all outputs."""
        weights, biases = [], []
        for size in outputs:
            weights.append(self.weight(inputs, size))
            if bias:
                biases.append(self.weight(size))
        return (np.concatenate(weights, 1),
                np.concatenate(biases) if bias else None)

    def gemm(self, inputs, outputs):
        weight = self.weight(outputs, inputs)
        return weight.T, self.weight(outputs)

    def norm(self, size):
        scale = self.array("scale", size)
        return scale, self.weight(size)

    def conv(self, inputs, outputs, kernel, groups=1):
        """Height, width, inputs, outputs."""
        shape = (outputs, inputs // groups, kernel, kernel)
        return self.weight(*shape).transpose(2, 3, 1, 0)

    def conv_norm(self, inputs, outputs, kernel, groups=1):
        conv = self.conv(inputs, outputs, kernel, groups)
        scale, bias = self.array("scale", outputs), self.weight(outputs)
        mean = self.weight(outputs)
        return conv, scale, bias, mean, self.array("variance", outputs)


def dot(x, layer):
    weight, bias = layer
    y = lax.dot_general(x, weight, (((x.ndim - 1,), (0,)), ((), ())))
    return y if bias is None else y + bias


def layer_norm(x, layer, epsilon=1e-5):
    scale, bias = layer
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    centred = wide - wide.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return (centred * lax.rsqrt(variance + epsilon)).astype(
        x.dtype) * scale + bias


def rms_norm(x, scale, epsilon=1e-5):
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    square = (wide * wide).mean(-1, keepdims=True)
    return (wide * lax.rsqrt(square + epsilon)).astype(x.dtype) * scale


def softmax_product(q, k, v, bias=None):
    """[batch, heads, length, size] each."""
    wide = jnp.promote_types(q.dtype, jnp.float32)
    scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1))),
                             preferred_element_type=wide)
    scores = scores / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    weights = jax.nn.softmax(scores, axis=-1).astype(q.dtype)
    return lax.dot_general(weights, v, (((3,), (2,)), ((0, 1), (0, 1))))


def attend(qkv, heads, bias=None):
    """Attention over [batch, length, 3 width]."""
    b, s, width = qkv.shape
    q, k, v = qkv.reshape(b, s, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    y = softmax_product(q, k, v, bias)
    return y.transpose(0, 2, 1, 3).reshape(b, s, width // 3)


def causal(length):
    return jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -jnp.inf)


def _bert(w, case):
    h = case.size("hidden")
    epsilon = 1e-12 if case.dtype == "f32" else 1e-5
    weights = {"words": w.weight(case.size("vocab"), h),
               "kinds": w.weight(2, h),
               "positions": w.weight(1, case.size("seq"), h),
               "norm": w.norm(h),
               "layers": [(w.linear(h, h, h, h), w.linear(h, h), w.norm(h),
                           w.linear(h, 4 * h), w.linear(4 * h, h), w.norm(h))
                          for _ in range(case.size("layers"))]}
    heads = case.size("heads")

    def forward(p, ids, mask, kinds):
        x = p["words"][ids] + p["kinds"][kinds] + p["positions"]
        x = layer_norm(x, p["norm"], epsilon)
        bias = (1 - mask[:, None, None, :].astype(x.dtype)) * -1e4
        for qkv, out, norm1, up, down, norm2 in p["layers"]:
            y = attend(dot(x, qkv), heads, bias)
            x = layer_norm(dot(y, out) + x, norm1)
            y = jax.nn.gelu(dot(x, up), approximate=False)
            x = layer_norm(dot(y, down) + x, norm2)
        return x
    return forward, weights


def _vit(w, case):
    h, patch = case.size("hidden"), case.size("patch")
    count = (case.size("image") // patch) ** 2
    weights = {"patches": (w.conv(3, h, patch), w.weight(h)),
               "first": w.weight(1, 1, h),
               "positions": w.weight(1, count + 1, h),
               "layers": [(w.norm(h), w.linear(h, h, h, h), w.linear(h, h),
                           w.norm(h), w.linear(h, 4 * h), w.linear(4 * h, h))
                          for _ in range(case.size("layers"))],
               "norm": w.norm(h), "head": w.gemm(h, case.size("classes"))}
    heads = case.size("heads")

    def forward(p, pixels):
        b = len(pixels)
        x = convolve(pixels, p["patches"][0], patch, 0) + p["patches"][1]
        first = jnp.broadcast_to(p["first"], (b, 1, h))
        x = jnp.concatenate([first, x.reshape(b, -1, h)], 1) + p["positions"]
        for norm1, qkv, out, norm2, up, down in p["layers"]:
            x = dot(attend(dot(layer_norm(x, norm1), qkv), heads), out) + x
            y = jax.nn.gelu(dot(layer_norm(x, norm2), up), approximate=False)
            x = dot(y, down) + x
        return dot(layer_norm(x[:, 0], p["norm"]), p["head"])
    return forward, weights


def _gpt2(w, case):
    h, heads = case.size("hidden"), case.size("heads")
    weights = [(w.norm(h), w.gemm(h, 3 * h), w.gemm(h, h), w.norm(h),
                w.gemm(h, 4 * h), w.gemm(4 * h, h))
               for _ in range(case.size("layers"))]

    def forward(p, x):
        bias = causal(x.shape[1])
        for norm1, qkv, out, norm2, up, down in p:
            y = attend(dot(layer_norm(x, norm1), qkv), heads, bias)
            x = dot(y, out) + x
            y = jax.nn.gelu(dot(layer_norm(x, norm2), up), approximate=True)
            x = x + dot(y, down)
        return x
    return forward, weights


def _llama(w, case):
    h, heads, inner = case.size("hidden"), case.size("heads"), case.size("inner")
    d, groups = h // heads, case.size("groups")
    kv = groups * d
    weights = {name: w.array(name, case.size("seq"), d // 2)
               for name in ("cos", "sin")}
    weights["layers"] = [
        (w.array("scale", h), w.linear(h, h, kv, kv, bias=False),
         w.linear(h, h, bias=False), w.array("scale", h),
         w.linear(h, inner, inner, bias=False), w.linear(inner, h, bias=False))
        for _ in range(case.size("layers"))]

    def turn(x, cos, sin):
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(p, x):
        b, s, _ = x.shape
        bias = causal(s)
        for norm1, qkv, out, norm2, up_gate, down in p["layers"]:
            y = dot(rms_norm(x, norm1), qkv)
            q, k, v = (part.reshape(b, s, -1, d).transpose(0, 2, 1, 3)
                       for part in jnp.split(y, [h, h + kv], -1))
            q, k = (turn(part, p["cos"], p["sin"]) for part in (q, k))
            k, v = (jnp.repeat(part, heads // groups, 1) for part in (k, v))
            y = softmax_product(q, k, v, bias)
            x = x + dot(y.transpose(0, 2, 1, 3).reshape(b, s, h), out)
            up, gate = jnp.split(dot(rms_norm(x, norm2), up_gate), 2, -1)
            x = x + dot(jax.nn.silu(gate) * up, down)
        return x
    return forward, weights


def convolve(x, kernel, stride=1, pad=None, groups=1):
    pad = kernel.shape[0] // 2 if pad is None else pad
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), [(pad, pad)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups)


def conv_norm(x, layer, stride=1, groups=1):
    kernel, scale, bias, mean, variance = layer
    wide = jnp.promote_types(x.dtype, jnp.float32)
    factor = scale.astype(wide) * lax.rsqrt(variance.astype(wide) + 1e-5)
    y = convolve(x, kernel, stride, None, groups)
    return ((y - mean) * factor + bias).astype(x.dtype)


def _resnet50(w, case):
    width, blocks, strides = case.size("width"), [], []
    first, channels = w.conv_norm(3, width, 7), width
    for stage, depth in enumerate(case.size("depths")):
        inner = width << stage
        for block in range(depth):
            stride = 2 if stage and block == 0 else 1
            main = [w.conv_norm(channels, inner, 1),
                    w.conv_norm(inner, inner, 3),
                    w.conv_norm(inner, 4 * inner, 1)]
            other = stride != 1 or channels != 4 * inner
            blocks.append((main, w.conv_norm(channels, 4 * inner, 1)
                           if other else None))
            strides.append(stride)
            channels = 4 * inner
    head = w.gemm(channels, case.size("classes"))
    relu = jax.nn.relu

    def forward(p, x):
        first, blocks, head = p
        x = relu(conv_norm(x, first, 2))
        x = lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), lax.max,
                              (1, 3, 3, 1), (1, 2, 2, 1),
                              ((0, 0), (1, 1), (1, 1), (0, 0)))
        for ((a, b, c), beside), stride in zip(blocks, strides):
            y = relu(conv_norm(relu(conv_norm(x, a)), b, stride))
            other = conv_norm(x, beside, stride) if beside else x
            x = relu(conv_norm(y, c) + other)
        return dot(mean(x, (1, 2)), head)
    return forward, (first, blocks, head)


def mean(x, axes, keep=False):
    wide = jnp.promote_types(x.dtype, jnp.float32)
    return x.mean(axes, dtype=wide, keepdims=keep).astype(x.dtype)


def _mobilenetv2(w, case):
    first, channels, blocks, shapes = w.conv_norm(3, 32, 3), 32, [], []
    for expansion, outputs, count, stride in MOBILENET[:case.size("depth")]:
        for block in range(count):
            inner = channels * expansion
            blocks.append([
                w.conv_norm(channels, inner, 1) if expansion != 1 else None,
                w.conv_norm(inner, inner, 3, inner),
                w.conv_norm(inner, outputs, 1)])
            step = 1 if block else stride
            shapes.append((step, inner, step == 1 and channels == outputs))
            channels = outputs
    last = w.conv_norm(channels, case.size("last"), 1)
    head = w.gemm(case.size("last"), case.size("classes"))
    relu6 = jax.nn.relu6

    def forward(p, x):
        first, blocks, last, head = p
        x = relu6(conv_norm(x, first, 2))
        for (up, depthwise, down), (stride, inner, residual) in zip(blocks,
                                                                    shapes):
            y = relu6(conv_norm(x, up)) if up else x
            y = relu6(conv_norm(y, depthwise, stride, inner))
            y = conv_norm(y, down)
            x = x + y if residual else y
        return dot(mean(relu6(conv_norm(x, last)), (1, 2)), head)
    return forward, (first, blocks, last, head)


class _Ops:
    """What interpreter.run needs, in JAX; channels first, as in the file."""
    relu = staticmethod(jax.nn.relu)
    hard_swish = staticmethod(jax.nn.hard_swish)
    softmax = staticmethod(lambda x, axis: jax.nn.softmax(x, axis=axis))
    reshape = staticmethod(jnp.reshape)
    permute = staticmethod(jnp.transpose)
    mean = staticmethod(mean)
    clamp = staticmethod(jnp.clip)

    @staticmethod
    def conv(x, w, bias, strides, pads, groups):
        y = lax.conv_general_dilated(
            x, w, strides, [(n, n) for n in pads], feature_group_count=groups,
            dimension_numbers=("NCHW", "OIHW", "NCHW"))
        return y if bias is None else y + bias.reshape(1, -1, 1, 1)

    @staticmethod
    def batch_norm(x, scale, bias, mean, variance, epsilon):
        factor = scale * lax.rsqrt(variance + epsilon)
        factor, bias, mean = (part.reshape(1, -1, 1, 1)
                              for part in (factor, bias, mean))
        return (x - mean) * factor + bias

    @staticmethod
    def max_pool(x, kernel, strides, pads):
        return lax.reduce_window(
            x, jnp.array(-jnp.inf, x.dtype), lax.max, (1, 1, *kernel),
            (1, 1, *strides), ((0, 0), (0, 0), *((n, n) for n in pads)))


def _interpreted(model, dtype, inputs):
    program = interpreter.Program(model)
    weights = [jnp.asarray(tensor.numbers(), _DTYPES[dtype])
               for tensor in program.weights]
    program.settle(_Ops, weights, inputs)
    return lambda p, *x: program.run(_Ops, p, x), weights


NETS = {"bert": _bert, "vit": _vit, "gpt2": _gpt2, "llama": _llama,
        "resnet50": _resnet50, "mobilenetv2": _mobilenetv2}


def make(case, model, inputs):
    """(function of weights and inputs, weights). inputs: arrays of one set."""
    if case.net == "ppocr":
        return _interpreted(model, case.dtype, inputs)
    tape = Tape(model)
    function, weights = NETS[case.net](_Weights(tape), case)
    tape.finish()
    dtype = _DTYPES[case.dtype]
    return function, jax.tree.map(lambda x: jnp.asarray(x, dtype), weights)


def arrange(case, tensor):
    """An input as JAX takes it: images with channels last."""
    x = tensor.numbers()
    if case.net in ("vit", "resnet50", "mobilenetv2"):
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    return jnp.asarray(x, jnp.bfloat16 if tensor.dtype == "bf16" else None)
