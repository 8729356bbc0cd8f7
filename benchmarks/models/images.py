# images.py - ResNet, MobileNetV2, a UNet block.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from . import layers as L
from .graph import Graph


def conv_norm(g, x, inputs, outputs, kernel, stride=1, groups=1):
    return L.batch_norm(g, L.conv(g, x, inputs, outputs, kernel, stride, groups), outputs)


def classify(g, x, channels, size):
    """Mean over the image and one product."""
    x = g.Flatten(g.GlobalAveragePool(x), axis=1)
    g.output(L.gemm(g, x, channels, size.classes), [size.batch, size.classes])


def bottleneck(g, x, inputs, inner, stride):
    """1x1, 3x3 and 1x1 convolutions beside the identity or a projection."""
    y = g.Relu(conv_norm(g, x, inputs, inner, 1))
    y = g.Relu(conv_norm(g, y, inner, inner, 3, stride))
    y = conv_norm(g, y, inner, 4 * inner, 1)
    if stride != 1 or inputs != 4 * inner:
        x = conv_norm(g, x, inputs, 4 * inner, 1, stride)
    return g.Relu(g.Add(y, x))


def resnet50(size):
    """`depths` blocks per stage, [3, 4, 6, 3] by default."""
    g = Graph("resnet50", size.dtype)
    x = g.input("pixels", [size.batch, 3, size.image, size.image])
    w = size.width
    x = g.Relu(conv_norm(g, x, 3, w, 7, 2))
    x = g.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = w
    for stage, depth in enumerate(size.depths):
        inner = w << stage
        for block in range(depth):
            x = bottleneck(g, x, channels, inner, 2 if stage and block == 0 else 1)
            channels = 4 * inner
    classify(g, x, channels, size)
    return g.model()


# expansion, channels, blocks, stride of the first
MOBILENET = [
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
]


def relu6(g, x):
    return g.Clip(x, g.number(0), g.number(6))


def inverted_residual(g, x, inputs, outputs, stride, expansion):
    inner, y = inputs * expansion, x
    if expansion != 1:
        y = relu6(g, conv_norm(g, y, inputs, inner, 1))
    y = relu6(g, conv_norm(g, y, inner, inner, 3, stride, inner))
    y = conv_norm(g, y, inner, outputs, 1)
    return g.Add(x, y) if stride == 1 and inputs == outputs else y


def mobilenetv2(size):
    """The first `depth` rows of the table of stages, all by default."""
    g = Graph("mobilenetv2", size.dtype)
    x = g.input("pixels", [size.batch, 3, size.image, size.image])
    x, channels = relu6(g, conv_norm(g, x, 3, 32, 3, 2)), 32
    for expansion, outputs, blocks, stride in MOBILENET[: size.depth]:
        for block in range(blocks):
            x = inverted_residual(g, x, channels, outputs, stride if block == 0 else 1, expansion)
            channels = outputs
    x = relu6(g, conv_norm(g, x, channels, size.last, 1))
    classify(g, x, size.last, size)
    return g.model()


def unet(size):
    """A residual block of a diffusion UNet: group norm, SiLU and a convolution,
    twice, with the time embedding between."""
    b, c, s = size.batch, size.channels, size.image
    g = Graph("unet", size.dtype)
    x = g.input("sample", [b, c, s, s])
    time = g.input("time", [b, size.time])
    y = L.silu(g, L.group_norm(g, x, b, size.groups, c, s, s))
    y = L.conv(g, y, c, 2 * c, 3, bias=True)
    shift = L.gemm(g, L.silu(g, time), size.time, 2 * c)
    y = g.Add(y, g.Unsqueeze(g.Unsqueeze(shift, g.ints([2])), g.ints([3])))
    y = L.silu(g, L.group_norm(g, y, b, size.groups, 2 * c, s, s))
    y = L.conv(g, y, 2 * c, 2 * c, 3, bias=True)
    g.output(g.Add(L.conv(g, x, c, 2 * c, 1, bias=True), y), [b, 2 * c, s, s])
    return g.model()
