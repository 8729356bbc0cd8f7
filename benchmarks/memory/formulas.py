# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators that formulas are written in, for NumPy, PyTorch and JAX.

`NumpyOps` computes in float64 and needs nothing else; `TorchOps` follows the
types of its inputs (so on float64 inputs it is a reference, too); `JaxOps` the
same. Casts to small floats are left out in a reference (`exact`), so that a
reference has no rounding of its own; casts to integers are rounded.
"""

import math

from ..common.arrays import torch_dtype

INT_RANGES = {"i8": (-128, 127), "u8": (0, 255)}


class _Common:
    """What all three spell alike."""

    def sigmoid(self, x): return 1 / (1 + self.exp(-x))
    def silu(self, x): return x * self.sigmoid(x)
    def rows(self, x, index): return x[index]
    def relu(self, x): return self.maximum(x, 0)

    def quantize(self, x, scale, dtype):
        """round(x / scale), saturated, for integers; a plain division for
        small floats."""
        y = x / scale
        if dtype in INT_RANGES:
            low, high = INT_RANGES[dtype]
            return self.cast(self.clamp(self.round(y), low, high), dtype)
        return self.cast(y, dtype)

    def norm(self, x, epsilon, axes=(-1,)):
        """Centred and divided by its deviation."""
        d = x - self.mean(x, axes, keep=True)
        return d * self.rsqrt(self.mean(d * d, axes, keep=True) + epsilon)

    def layer_norm(self, x, gamma, beta, epsilon=1e-5):
        return self.norm(self.wide(x), epsilon) * gamma + beta

    def rms_norm(self, x, gamma, epsilon=1e-5):
        w = self.wide(x)
        return w * self.rsqrt(self.mean(w * w, (-1,), keep=True)
                              + epsilon) * gamma

    def depthwise(self, x, kernel, channels_last=False):
        """Depthwise convolution of odd size that keeps the image's size.
        kernel: (C, 1, k, k). A sum of shifted images, at least in f32."""
        x, kernel = self.wide(x), self.wide(kernel)
        k = kernel.shape[-1]
        r = k // 2
        h, w = (1, 2) if channels_last else (2, 3)
        total = None
        for i in range(k):
            for j in range(k):
                tap = kernel[:, 0, i, j]
                tap = tap if channels_last else tap.reshape(-1, 1, 1)
                term = self.shifted(x, {h: i - r, w: j - r}, 0) * tap
                total = term if total is None else total + term
        return total

    def pool(self, x, kind):
        """3x3 pooling with stride 1 over (2, 3); padding counts in means."""
        out = None
        fill = 0 if kind == "mean" else -math.inf
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                term = self.shifted(x, {2: i, 3: j}, fill)
                if out is None:
                    out = term
                else:
                    out = (out + term if kind == "mean"
                           else self.maximum(out, term))
        return out / 9 if kind == "mean" else out

    def shifted(self, x, by, fill):
        """x[index + by], `fill` outside."""
        widths = [(0, 0)] * x.ndim
        slices = [slice(None)] * x.ndim
        for axis, amount in by.items():
            widths[axis] = (max(-amount, 0), max(amount, 0))
            slices[axis] = (slice(amount, None) if amount > 0 else
                            slice(0, x.shape[axis]))
        return self.pad(x, widths, fill)[tuple(slices)]


class NumpyOps(_Common):
    """float64 on the CPU."""
    exact = True

    def __init__(self):
        import numpy
        self.np = np = numpy
        for name in ("exp", "log", "tanh", "sqrt", "abs", "maximum", "where",
                     "floor", "ceil", "round", "log2", "exp2"):
            setattr(self, name, getattr(np, name))
        self._erf = np.vectorize(math.erf, otypes=[float])

    def wide(self, x): return x
    def rsqrt(self, x): return 1 / self.np.sqrt(x)
    def clamp(self, x, low, high): return self.np.clip(x, low, high)
    def erf(self, x): return self._erf(x) if x.size else x
    def sum(self, x, axes, keep=False): return x.sum(axes, keepdims=keep)
    def mean(self, x, axes, keep=False): return x.mean(axes, keepdims=keep)
    def max(self, x, axis, keep=False): return x.max(axis, keepdims=keep)
    def argmax(self, x, axis): return x.argmax(axis)
    def permute(self, x, order): return x.transpose(order)
    def concat(self, xs, axis): return self.np.concatenate(xs, axis)
    def pad(self, x, widths, fill):
        return self.np.pad(x, widths, constant_values=fill)
    def gelu(self, x):
        return 0.5 * x * (1 + self.erf(x * math.sqrt(0.5)))

    def gelu_slope(self, x):
        return (0.5 * (1 + self.erf(x * math.sqrt(0.5)))
                + x * self.np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))

    def softmax(self, x, axis):
        e = self.np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    def iota(self, count, like): return self.np.arange(count)

    def take_along(self, x, index, axis):
        return self.np.take_along_axis(x, index, axis)

    def top_k(self, x, count):
        order = self.np.argsort(-x, -1, kind="stable")[..., :count]
        return self.np.take_along_axis(x, order, -1), order

    def cast(self, x, dtype):
        return x.astype(self.np.int64) if dtype in INT_RANGES else x

    def random_bits(self, seed, offset, shape):
        """u32 bits of Philox4x32-10 (Salmon et al., SC 2011) as float64."""
        np = self.np
        count = int(np.prod(shape))
        blocks = np.arange((count + 3) // 4, dtype=np.uint64) + np.uint64(
            int(offset))
        low32 = np.uint64(0xffffffff)
        zero = np.zeros_like(blocks)
        c = [blocks & low32, blocks >> np.uint64(32), zero, zero]
        seed = int(seed)
        k = [seed & 0xffffffff, seed >> 32]
        for _ in range(10):
            p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
            c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), p1 & low32,
                 (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p0 & low32]
            k = [(k[0] + 0x9E3779B9) & 0xffffffff,
                 (k[1] + 0xBB67AE85) & 0xffffffff]
        bits = np.stack(c, -1).reshape(-1)[:count]
        return bits.reshape(shape).astype(np.float64)


class TorchOps(_Common):
    """PyTorch. `exact`: for a reference on float64 tensors."""

    def __init__(self, exact=False):
        import torch
        self.torch, self.exact = torch, exact
        for name in ("exp", "log", "tanh", "sqrt", "rsqrt", "abs", "where",
                     "erf", "floor", "ceil", "round", "log2", "exp2",
                     "argmax"):
            setattr(self, name, getattr(torch, name))
        self._functional = torch.nn.functional

    def wide(self, x):
        return x.float() if x.element_size() < 4 else x

    def maximum(self, x, y):
        return (self.torch.maximum(x, y) if isinstance(y, self.torch.Tensor)
                else self.torch.clamp_min(x, y))

    def sigmoid(self, x): return self.torch.sigmoid(x)
    def relu(self, x): return self.torch.relu(x)
    def silu(self, x): return self._functional.silu(x)
    def clamp(self, x, low, high): return self.torch.clamp(x, low, high)
    def sum(self, x, axes, keep=False): return x.sum(axes, keepdim=keep)
    def mean(self, x, axes, keep=False): return x.mean(axes, keepdim=keep)
    def max(self, x, axis, keep=False): return x.amax(axis, keepdim=keep)
    def permute(self, x, order): return x.permute(order)
    def concat(self, xs, axis): return self.torch.cat(xs, axis)
    def softmax(self, x, axis): return self.torch.softmax(x, axis)
    def gelu(self, x): return self._functional.gelu(x)

    def pad(self, x, widths, fill):
        flat = [n for pair in reversed(widths) for n in pair]
        return self._functional.pad(x, flat, value=fill)

    def gelu_slope(self, x):
        return (0.5 * (1 + self.erf(x * math.sqrt(0.5)))
                + x * self.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))

    def iota(self, count, like):
        return self.torch.arange(count, device=like.device)

    def take_along(self, x, index, axis):
        return self.torch.gather(x, axis, index)

    def top_k(self, x, count):
        values, order = self.torch.topk(x, count, -1)
        return values, order

    def cast(self, x, dtype):
        if self.exact and dtype not in INT_RANGES:
            return x
        return x.to(torch_dtype(self.torch, dtype))

    def random_bits(self, seed, offset, shape):
        """As NumpyOps in a reference; else bits of PyTorch's generator."""
        if not self.exact:
            return self.torch.randint(0, 1 << 32, shape, device=seed.device)
        bits = NumpyOps().random_bits(seed.item(), offset.item(), shape)
        return self.torch.from_numpy(bits).to(seed.device)


class JaxOps(_Common):
    """JAX; jitted by whoever calls."""
    exact = False

    def __init__(self):
        import jax
        import jax.numpy as jnp
        self.jax, self.np = jax, jnp
        for name in ("exp", "log", "tanh", "sqrt", "abs", "maximum", "where",
                     "floor", "ceil", "round", "log2", "exp2"):
            setattr(self, name, getattr(jnp, name))
        for name, function in (("sigmoid", jax.nn.sigmoid),
                               ("silu", jax.nn.silu), ("relu", jax.nn.relu),
                               ("rsqrt", jax.lax.rsqrt),
                               ("erf", jax.lax.erf)):
            setattr(self, name, function)

    def wide(self, x):
        return x.astype(self.np.float32) if x.dtype.itemsize < 4 else x
    def clamp(self, x, low, high): return self.np.clip(x, low, high)
    def sum(self, x, axes, keep=False): return x.sum(axes, keepdims=keep)
    def mean(self, x, axes, keep=False): return x.mean(axes, keepdims=keep)
    def max(self, x, axis, keep=False): return x.max(axis, keepdims=keep)
    def argmax(self, x, axis): return x.argmax(axis)
    def permute(self, x, order): return x.transpose(order)
    def concat(self, xs, axis): return self.np.concatenate(xs, axis)
    def softmax(self, x, axis):
        # In f32, as the others do; on bf16 it would round in between.
        return self.jax.nn.softmax(self.wide(x), axis).astype(x.dtype)
    def gelu(self, x): return self.jax.nn.gelu(x, approximate=False)
    def pad(self, x, widths, fill):
        return self.np.pad(x, widths, constant_values=fill)

    def gelu_slope(self, x):
        return (0.5 * (1 + self.erf(x * math.sqrt(0.5)))
                + x * self.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))

    def iota(self, count, like): return self.np.arange(count)

    def take_along(self, x, index, axis):
        return self.np.take_along_axis(x, index, axis)

    def top_k(self, x, count): return self.jax.lax.top_k(x, count)

    def cast(self, x, dtype):
        names = {"f32": "float32", "f16": "float16", "bf16": "bfloat16",
                 "f8e4m3": "float8_e4m3fn", "i8": "int8", "u8": "uint8"}
        return x.astype(getattr(self.np, names[dtype]))

    def random_bits(self, seed, offset, shape):
        # Another generator: only the time counts.
        key = self.jax.random.PRNGKey(0)
        return self.jax.random.bits(key, shape, self.np.uint32)
