# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks in PyTorch, as one writes them for speed: modules of torch.nn,
scaled_dot_product_attention, one product for query, key and value, Conv2d and
BatchNorm2d in eval mode. `make` gives a module with the weights of a file; its
inputs are those of the file, in order."""

import torch
import torch.nn.functional as F
from torch import nn

from ..common.arrays import torch_dtype
from ..models.images import MOBILENET
from . import interpreter
from .tape import Tape


def to_torch(tensor, device, dtype=None):
    """A tensor of common.onnx_file on a device; floats as `dtype` if given."""
    data = torch.from_numpy(tensor.data.copy())
    if tensor.dtype == "bf16":
        data = data.view(torch.bfloat16)
    data = data.to(device)
    return data.to(dtype) if dtype and data.is_floating_point() else data


class _Weights:
    """Makes layers whose weights come from a tape."""

    def __init__(self, tape, device, dtype):
        self.tape, self.device, self.dtype = tape, device, dtype

    def parameter(self, stem, *shape):
        data = to_torch(self.tape.take(stem, *shape), self.device, self.dtype)
        return nn.Parameter(data, requires_grad=False)

    def weight(self, *shape):
        return self.parameter("weight", *shape)

    def _linear(self, weight, bias):
        with torch.device("meta"):
            layer = nn.Linear(weight.shape[1], weight.shape[0],
                              bias is not None)
        layer.weight = nn.Parameter(weight.contiguous(), requires_grad=False)
        if bias is not None:
            layer.bias = nn.Parameter(bias, requires_grad=False)
        return layer

    def linear(self, inputs, *outputs, bias=True):
        """One layer for the products of one operand."""
        weights, biases = [], []
        for size in outputs:
            weights.append(self.weight(inputs, size))
            if bias:
                biases.append(self.weight(size))
        return self._linear(torch.cat(weights, 1).t(),
                            torch.cat(biases) if bias else None)

    def gemm(self, inputs, outputs):
        weight = self.weight(outputs, inputs)
        return self._linear(weight, self.weight(outputs))

    def layer_norm(self, size, epsilon=1e-5):
        with torch.device("meta"):
            layer = nn.LayerNorm(size, epsilon)
        layer.weight = self.parameter("scale", size)
        layer.bias = self.weight(size)
        return layer

    def conv(self, inputs, outputs, kernel, stride=1, groups=1, bias=False,
             pad=None):
        pad = kernel // 2 if pad is None else pad
        with torch.device("meta"):
            layer = nn.Conv2d(inputs, outputs, kernel, stride, pad,
                              groups=groups, bias=bias)
        layer.weight = self.weight(outputs, inputs // groups, kernel, kernel)
        if bias:
            layer.bias = self.weight(outputs)
        return layer

    def conv_norm(self, inputs, outputs, *rest):
        conv = self.conv(inputs, outputs, *rest)
        with torch.device("meta"):
            norm = nn.BatchNorm2d(outputs)
        norm.weight = self.parameter("scale", outputs)
        norm.bias = self.weight(outputs)
        norm.running_mean = self.weight(outputs).data
        norm.running_var = self.parameter("variance", outputs).data
        norm.num_batches_tracked = None
        return nn.Sequential(conv, norm)


def _attend(qkv, heads, **options):
    """Attention over [batch, length, 3 width]."""
    b, s, width = qkv.shape
    q, k, v = qkv.view(b, s, 3, heads, -1).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, **options)
    return y.transpose(1, 2).reshape(b, s, width // 3)


class _BertLayer(nn.Module):
    def __init__(self, w, h, heads):
        super().__init__()
        self.heads = heads
        self.qkv = w.linear(h, h, h, h)
        self.out, self.norm1 = w.linear(h, h), w.layer_norm(h)
        self.up, self.down = w.linear(h, 4 * h), w.linear(4 * h, h)
        self.norm2 = w.layer_norm(h)

    def forward(self, x, mask):
        y = _attend(self.qkv(x), self.heads, attn_mask=mask)
        x = self.norm1(self.out(y) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)


class Bert(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        h, seq = case.size("hidden"), case.size("seq")
        self.words = w.weight(case.size("vocab"), h)
        self.kinds = w.weight(2, h)
        self.positions = w.weight(1, seq, h)
        self.norm = w.layer_norm(h, 1e-12 if case.dtype == "f32" else 1e-5)
        self.layers = nn.ModuleList(_BertLayer(w, h, case.size("heads"))
                                    for _ in range(case.size("layers")))

    def forward(self, ids, mask, kinds):
        x = F.embedding(ids, self.words) + F.embedding(kinds, self.kinds)
        x = self.norm(x + self.positions)
        bias = (1 - mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in self.layers:
            x = layer(x, bias)
        return x


class _VitLayer(nn.Module):
    def __init__(self, w, h, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv = w.layer_norm(h), w.linear(h, h, h, h)
        self.out, self.norm2 = w.linear(h, h), w.layer_norm(h)
        self.up, self.down = w.linear(h, 4 * h), w.linear(4 * h, h)

    def forward(self, x):
        x = self.out(_attend(self.qkv(self.norm1(x)), self.heads)) + x
        return self.down(F.gelu(self.up(self.norm2(x)))) + x


class Vit(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        h, patch = case.size("hidden"), case.size("patch")
        count = (case.size("image") // patch) ** 2
        self.patches = w.conv(3, h, patch, patch, bias=True, pad=0)
        self.first = w.weight(1, 1, h)
        self.positions = w.weight(1, count + 1, h)
        self.layers = nn.ModuleList(_VitLayer(w, h, case.size("heads"))
                                    for _ in range(case.size("layers")))
        self.norm = w.layer_norm(h)
        self.head = w.gemm(h, case.size("classes"))

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1)
        x = x + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


class _Gpt2Layer(nn.Module):
    def __init__(self, w, h, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.out = (w.layer_norm(h), w.gemm(h, 3 * h),
                                          w.gemm(h, h))
        self.norm2, self.up, self.down = (w.layer_norm(h), w.gemm(h, 4 * h),
                                          w.gemm(4 * h, h))

    def forward(self, x):
        y = _attend(self.qkv(self.norm1(x)), self.heads, is_causal=True)
        x = self.out(y) + x
        y = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(y)


class Gpt2(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        self.layers = nn.Sequential(*(
            _Gpt2Layer(w, case.size("hidden"), case.size("heads"))
            for _ in range(case.size("layers"))))

    def forward(self, x):
        return self.layers(x)


class _LlamaLayer(nn.Module):
    def __init__(self, w, h, heads, groups, inner):
        super().__init__()
        self.h, self.heads, self.groups, self.d = h, heads, groups, h // heads
        self.inner = inner
        self.norm1 = w.parameter("scale", h)
        self.qkv = w.linear(h, h, groups * self.d, groups * self.d, bias=False)
        self.out = w.linear(h, h, bias=False)
        self.norm2 = w.parameter("scale", h)
        self.up_gate = w.linear(h, inner, inner, bias=False)
        self.down = w.linear(inner, h, bias=False)

    def _turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x, cos, sin):
        b, s, _ = x.shape
        y = self.qkv(F.rms_norm(x, (self.h,), self.norm1, 1e-5))
        kv = self.groups * self.d
        q, k, v = (part.view(b, s, -1, self.d).transpose(1, 2)
                   for part in y.split([self.h, kv, kv], -1))
        q, k = self._turn(q, cos, sin), self._turn(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, self.h))
        y = self.up_gate(F.rms_norm(x, (self.h,), self.norm2, 1e-5))
        up, gate = y.chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        h, heads = case.size("hidden"), case.size("heads")
        for name in ("cos", "sin"):
            half = w.parameter(name, case.size("seq"), h // heads // 2).data
            self.register_buffer(name, torch.cat([half, half], -1))
        self.layers = nn.ModuleList(
            _LlamaLayer(w, h, heads, case.size("groups"), case.size("inner"))
            for _ in range(case.size("layers")))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return x


class _Bottleneck(nn.Module):
    def __init__(self, w, inputs, inner, stride):
        super().__init__()
        self.conv1 = w.conv_norm(inputs, inner, 1)
        self.conv2 = w.conv_norm(inner, inner, 3, stride)
        self.conv3 = w.conv_norm(inner, 4 * inner, 1)
        other = stride != 1 or inputs != 4 * inner
        self.beside = (w.conv_norm(inputs, 4 * inner, 1, stride) if other
                       else nn.Identity())

    def forward(self, x):
        y = F.relu(self.conv1(x), inplace=True)
        y = F.relu(self.conv2(y), inplace=True)
        return F.relu(self.conv3(y) + self.beside(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        width = case.size("width")
        self.first, channels, blocks = w.conv_norm(3, width, 7, 2), width, []
        for stage, depth in enumerate(case.size("depths")):
            inner = width << stage
            for block in range(depth):
                stride = 2 if stage and block == 0 else 1
                blocks.append(_Bottleneck(w, channels, inner, stride))
                channels = 4 * inner
        self.blocks = nn.Sequential(*blocks)
        self.head = w.gemm(channels, case.size("classes"))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x), inplace=True), 3, 2, 1)
        return self.head(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


class _Inverted(nn.Module):
    def __init__(self, w, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        self.up = w.conv_norm(inputs, inner, 1) if expansion != 1 else None
        self.depthwise = w.conv_norm(inner, inner, 3, stride, inner)
        self.down = w.conv_norm(inner, outputs, 1)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = x if self.up is None else F.relu6(self.up(x), inplace=True)
        y = self.down(F.relu6(self.depthwise(y), inplace=True))
        return x + y if self.residual else y


class MobileNet(nn.Module):
    def __init__(self, w, case):
        super().__init__()
        self.first, channels, blocks = w.conv_norm(3, 32, 3, 2), 32, []
        for expansion, outputs, count, stride in MOBILENET[:case.size("depth")]:
            for block in range(count):
                blocks.append(_Inverted(w, channels, outputs,
                                        1 if block else stride, expansion))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        last = case.size("last")
        self.last = w.conv_norm(channels, last, 1)
        self.head = w.gemm(last, case.size("classes"))

    def forward(self, x):
        x = self.blocks(F.relu6(self.first(x), inplace=True))
        x = F.relu6(self.last(x), inplace=True)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class _Ops:
    """What interpreter.run needs, in PyTorch."""
    relu, hard_swish = staticmethod(F.relu), staticmethod(F.hardswish)

    @staticmethod
    def conv(x, w, bias, strides, pads, groups):
        return F.conv2d(x, w, bias, strides, pads, groups=groups)

    @staticmethod
    def batch_norm(x, scale, bias, mean, variance, epsilon):
        return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)

    @staticmethod
    def max_pool(x, kernel, strides, pads):
        return F.max_pool2d(x, kernel, strides, pads)

    @staticmethod
    def mean(x, axes, keep): return x.mean(axes, keepdim=keep)
    @staticmethod
    def clamp(x, low, high): return x.clamp(low, high)
    @staticmethod
    def softmax(x, axis): return x.softmax(axis)
    @staticmethod
    def reshape(x, shape): return x.reshape(shape)
    @staticmethod
    def permute(x, order): return x.permute(order)


class Interpreted(nn.Module):
    """An ONNX graph, op by op; with torch.compile the loop is unrolled."""

    def __init__(self, model, device, dtype):
        super().__init__()
        self.program = interpreter.Program(model)
        self.weights = nn.ParameterDict({
            str(i): nn.Parameter(to_torch(tensor, device, dtype),
                                 requires_grad=False)
            for i, tensor in enumerate(self.program.weights)})

    def settle(self, inputs):
        """Fixes sizes to those of the inputs, ahead of a compiler."""
        weights = [self.weights[str(i)] for i in range(len(self.weights))]
        self.program.settle(_Ops, weights, inputs)

    def forward(self, *inputs):
        weights = [self.weights[str(i)] for i in range(len(self.weights))]
        return self.program.run(_Ops, weights, inputs)


NETS = {"bert": Bert, "vit": Vit, "gpt2": Gpt2, "llama": Llama,
        "resnet50": ResNet, "mobilenetv2": MobileNet}


def make(case, model, device, dtype=None):
    """The module of a case in eval mode. dtype: instead of the file's."""
    dtype = torch_dtype(torch, dtype or case.dtype)
    if case.net == "ppocr":
        return Interpreted(model, device, dtype).eval()
    tape = Tape(model)
    net = NETS[case.net](_Weights(tape, device, dtype), case).eval()
    tape.finish()
    return net
