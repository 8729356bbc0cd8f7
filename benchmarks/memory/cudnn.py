# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's own kernels, for the cases that have `cudnn`.

Softmax, pooling and batch norm by the library's C interface, which is the same
since version 7; depthwise convolutions by PyTorch's operator of cuDNN, which a
plain call of PyTorch chooses or not. Layer norm and RMS norm are in cuDNN's
graph interface alone (cudnn_graph.py); it has no group norm.
"""

import ctypes as ct
import functools
import math
import sys

# cudnnDataType_t.
_TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}
_NCHW, _NHWC = 0, 1
_ACCURATE, _OVER_CHANNELS = 1, 1  # of softmax
_POOLINGS = {"max": 0, "mean": 1}  # the mean counts padding
_PROPAGATE_NAN = 1
_SPATIAL_PERSISTENT = 2  # of batch norm: one pass over the image


class Cudnn:
    """Operators on PyTorch's tensors, on the current stream."""

    def __init__(self):
        import torch
        self.torch = torch
        self.aten = torch.ops.aten
        self.lib = ct.CDLL("libcudnn.so.9")  # PyTorch's, which is loaded
        self.handle = ct.c_void_p()
        self._call("cudnnCreate", ct.byref(self.handle))
        self.one, self.zero = ct.c_float(1), ct.c_float(0)
        self.descriptors = {}
        self.adds_and_norms = True

    @functools.cached_property
    def norms(self):
        """Those of the graph interface. Raises ImportError without it."""
        from .cudnn_graph import Norms
        return Norms()

    def _call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def _descriptor(self, kind, *sizes):
        """Made once for its sizes: `kind` is "Tensor4d" or "Pooling2d"."""
        if (kind, sizes) not in self.descriptors:
            made = ct.c_void_p()
            self._call(f"cudnnCreate{kind[:-2]}Descriptor", ct.byref(made))
            self._call(f"cudnnSet{kind}Descriptor", made, *sizes)
            self.descriptors[kind, sizes] = made
        return self.descriptors[kind, sizes]

    def _tensor(self, x, sizes, order=_NCHW):
        dtype = str(x.dtype).removeprefix("torch.")
        return self._descriptor("Tensor4d", order, _TYPES[dtype], *sizes)

    def _use_stream(self):
        stream = self.torch.cuda.current_stream().cuda_stream
        self._call("cudnnSetStream", self.handle, ct.c_void_p(stream))

    def _forward(self, name, before, x, sizes):
        """A function from a tensor to another of its shape, both seen with four
        `sizes`."""
        tensor, y = self._tensor(x, sizes), self.torch.empty_like(x)
        self._use_stream()
        self._call(name, self.handle, *before, ct.byref(self.one), tensor,
                   ct.c_void_p(x.data_ptr()), ct.byref(self.zero), tensor,
                   ct.c_void_p(y.data_ptr()))
        return y

    def softmax(self, x, axis):
        axis %= x.ndim
        sizes = (math.prod(x.shape[:axis]), x.shape[axis], 1,
                 math.prod(x.shape[axis + 1:]))
        return self._forward("cudnnSoftmaxForward",
                             (_ACCURATE, _OVER_CHANNELS), x, sizes)

    def pool(self, x, kind):
        """3x3, stride 1, padding 1."""
        window = self._descriptor("Pooling2d", _POOLINGS[kind], _PROPAGATE_NAN,
                                  3, 3, 1, 1, 1, 1)
        return self._forward("cudnnPoolingForward", (window,), x,
                             tuple(x.shape))

    def depthwise(self, x, kernel):
        """Channels first; images may lie channels last."""
        pad = kernel.shape[-1] // 2
        return self.aten.cudnn_convolution(
            x, kernel, [pad, pad], [1, 1], [1, 1], kernel.shape[0], True, False,
            False)

    def batch_norm(self, x, gamma, beta, epsilon):
        """Of training, of images with channels last: (y, mean, reciprocal
        deviation)."""
        batch, height, width, channels = x.shape
        image = self._tensor(x, (batch, channels, height, width), _NHWC)
        of_channels = self._tensor(gamma, (1, channels, 1, 1))
        y = self.torch.empty_like(x)
        mean, rstd = (self.torch.empty_like(gamma) for _ in range(2))
        at = [ct.c_void_p(t.data_ptr()) for t in (x, y, gamma, beta, mean,
                                                  rstd)]
        self._use_stream()
        self._call("cudnnBatchNormalizationForwardTraining", self.handle,
                   _SPATIAL_PERSISTENT, ct.byref(self.one),
                   ct.byref(self.zero), image, at[0], image, at[1], of_channels,
                   at[2], at[3], ct.c_double(1), None, None,
                   ct.c_double(epsilon), at[4], at[5])
        return y, mean, rstd

    def add_layer_norm(self, x, r, gamma, beta, epsilon):
        """(x + r, its layer norm): a kernel for each, which is said once, where
        cuDNN has none of both."""
        if self.adds_and_norms:
            try:
                return self.norms.add_layer_norm(x, r, gamma, beta, epsilon)
            except ImportError:
                raise
            except Exception as error:  # the package's, of several types
                print("cuDNN has no kernel of a sum and its layer norm; one of "
                      f"each is timed: {error}", file=sys.stderr)
                self.adds_and_norms = False
        s = x + r
        return s, self.norms.layer_norm(s, gamma, beta, epsilon)
