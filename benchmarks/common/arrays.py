# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers: made, poisoned and read back, with NumPy or PyTorch."""

import math


def torch_dtype(torch, name):
    """The dtype of PyTorch for an element type of fusec."""
    return getattr(torch, {
        "f64": "float64", "f32": "float32", "f16": "float16",
        "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
        "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
        "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
        "bool": "bool"}[name])


class NumpyArrays:
    """On the CPU, for tests without PyTorch."""
    name = "host"

    def __init__(self, seed):
        import numpy
        self.np = numpy
        self.random = numpy.random.default_rng(seed)

    def dtype(self, name):
        """Raises ImportError for bf16 and f8 without ml_dtypes."""
        names = {"f64": "float64", "f32": "float32", "f16": "float16",
                 "i64": "int64", "i32": "int32", "i8": "int8", "u8": "uint8",
                 "u32": "uint32", "u64": "uint64"}
        if name in names:
            return self.np.dtype(names[name])
        import ml_dtypes
        return self.np.dtype({"bf16": ml_dtypes.bfloat16,
                              "f8e4m3": ml_dtypes.float8_e4m3fn,
                              "f8e5m2": ml_dtypes.float8_e5m2}[name])

    def make(self, spec):
        if spec.kind == "ints":
            values = self.random.integers(0, int(spec.scale), spec.shape)
        elif spec.kind == "signed":
            values = self.random.integers(-int(spec.scale), int(spec.scale),
                                          spec.shape)
        elif spec.kind == "positive":
            values = (1 - self.random.random(spec.shape)) * spec.scale
        elif spec.kind == "near":
            values = (1 - self.random.random(spec.shape) / 2) * spec.scale
        else:
            values = self.random.standard_normal(spec.shape) * spec.scale
        return self.np.asarray(values).astype(self.dtype(spec.dtype))

    def poisoned(self, info):
        """Every byte 0xff: NaN, or -1."""
        dtype = self.dtype(info.dtype)
        count = math.prod(info.shape) * dtype.itemsize
        return self.np.full(count, 255, self.np.uint8).view(dtype).reshape(
            info.shape)

    def unaligned(self, x):
        """A copy whose first element is the second of a buffer."""
        whole = self.np.empty(x.size + 1, x.dtype)
        whole[1:] = x.reshape(-1)
        return whole[1:].reshape(x.shape)

    def wide(self, x):
        """float64, integers as int64."""
        return x.astype(self.np.int64 if x.dtype.kind in "iu" else
                        self.np.float64)

    def take(self, x, indices, axis):
        return self.np.take(x, indices, axis)

    def numbers(self, x):
        """As float64 in NumPy."""
        return self.np.asarray(x, dtype=self.np.float64)


class TorchArrays:
    """PyTorch tensors on `device`."""

    def __init__(self, seed, device="cuda"):
        import torch
        self.torch, self.name = torch, device
        self.random = torch.Generator(device).manual_seed(seed)

    def make(self, spec):
        torch = self.torch
        dtype = torch_dtype(torch, spec.dtype)
        options = dict(device=self.name)
        if spec.kind in ("ints", "signed"):
            least = -int(spec.scale) if spec.kind == "signed" else 0
            x = torch.randint(least, int(spec.scale), spec.shape,
                              generator=self.random, dtype=torch.int64,
                              **options)
        elif spec.kind in ("positive", "near"):
            x = torch.rand(spec.shape, generator=self.random, **options)
            x = x.mul_(-0.5 if spec.kind == "near" else -1).add_(1)
            x = x.mul_(spec.scale)
        else:
            x = torch.randn(spec.shape, generator=self.random, **options)
            x = x.mul_(spec.scale)
        return x.to(dtype)

    def poisoned(self, info):
        torch = self.torch
        dtype = torch_dtype(torch, info.dtype)
        count = math.prod(info.shape) * dtype.itemsize
        raw = torch.full((count,), 255, dtype=torch.uint8, device=self.name)
        return raw.view(dtype).reshape(info.shape)

    def unaligned(self, x):
        whole = self.torch.empty(x.numel() + 1, dtype=x.dtype, device=x.device)
        view = whole[1:].view(x.shape)
        return view.copy_(x)

    def wide(self, x):
        whole = not x.dtype.is_floating_point
        return x.to(self.torch.int64 if whole else self.torch.float64)

    def take(self, x, indices, axis):
        where = self.torch.as_tensor(indices, device=x.device)
        if x.dtype.itemsize == 1 and x.dtype.is_floating_point:
            raw = x.view(self.torch.uint8).index_select(axis, where)
            return raw.view(x.dtype)
        return x.index_select(axis, where)

    def numbers(self, x):
        """As float64 in NumPy."""
        return x.detach().to(self.torch.float64).cpu().numpy()
