#!/usr/bin/env python3
# make_contrib.py - makes the cases of com.microsoft's fused operators.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_contrib.py DIR: one case per operator and form, with outputs by ONNX
Runtime (package onnxruntime) without optimisation. Seeded."""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(1)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def scale(value):
    return np.array(value, np.float32)


def byte(value):
    return np.array(value, np.uint8)


def bytes_of(*shape):
    return RANDOM.integers(0, 255, shape).astype(np.uint8)


def ints(rows, dtype=np.int32):
    return np.array(rows, dtype)


X, IDS = real(2, 3, 8), ints([[4, 7, 1], [0, 9, 9]])
TWO = {"num_heads": 2}
Q = [bytes_of(4, 5), scale(0.0937), byte(120)]
R = [bytes_of(4, 5), scale(0.0511), byte(100)]
# Scales without common factors: no result lies in the middle of two steps.
# name: (operator, inputs, outputs that are compared, attributes)
CASES = {
    "biasgelu": ("BiasGelu", [X, real(8)], [0], {}),
    "fastgelu": ("FastGelu", [X, real(8)], [0], {}),
    "gelu": ("Gelu", [X], [0], {}),
    "quickgelu": ("QuickGelu", [X], [0], {}),
    "skip_layer_norm": ("SkipLayerNormalization", [X, real(2, 3, 8), real(8), real(8), real(8)],
                        [0, 3], {"epsilon": 1e-5}),
    "skip_rms_norm": ("SkipSimplifiedLayerNormalization", [X, real(2, 3, 8), real(8)],
                      [0, 3], {"epsilon": 1e-5}),
    "rms_norm": ("SimplifiedLayerNormalization", [X, real(8)], [0], {"epsilon": 1e-5}),
    "embed": ("EmbedLayerNormalization",
              [IDS, IDS % 2, real(10, 8), real(5, 8), real(2, 8), real(8), real(8),
               ints([[1, 1, 0], [1, 1, 1]])], [0, 1], {"epsilon": 1e-5}),
    "fused_matmul": ("FusedMatMul", [real(2, 4, 3), real(2, 5, 4)], [0],
                     {"transA": 1, "transB": 1, "alpha": 0.5}),
    "attention_mask": ("Attention", [X, real(8, 24), real(24), ints([[1, 1, 0], [1, 0, 0]])],
                       [0], TWO),
    "attention_lengths": ("Attention", [X, real(8, 24), real(24), ints([3, 2])], [0], TWO),
    "attention_causal": ("Attention", [X, real(8, 24), real(24)], [0],
                         {**TWO, "unidirectional": 1}),
    "multi_head_attention": ("MultiHeadAttention",
                             [X, real(2, 5, 8), real(2, 5, 8), real(24),
                              ints([[1, 1, 0, 1, 1], [1, 0, 0, 1, 0]])], [0], TWO),
    "rotary": ("RotaryEmbedding",
               [real(2, 3, 16), ints([[0, 1, 2], [1, 2, 3]], np.int64), real(8, 4), real(8, 4)],
               [0], {}),
    "rotary_first": ("RotaryEmbedding",
                     [real(1, 3, 16), ints([2], np.int64), real(8, 4), real(8, 4)],
                     [0], {"interleaved": 1}),
    "qlinear_add": ("QLinearAdd", [*Q, *R, scale(0.1273), byte(110)], [0], {}),
    "qlinear_mul": ("QLinearMul", [*Q, *R, scale(0.4), byte(110)], [0], {}),
    "qlinear_sigmoid": ("QLinearSigmoid", [*Q, scale(1 / 256), byte(0)], [0], {}),
    "qlinear_leaky_relu": ("QLinearLeakyRelu", [*Q, scale(0.1), byte(100)], [0], {"alpha": 0.1}),
}


def model_of(name, operator, inputs, outputs, attributes, types):
    names = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
    domain = "" if operator == "SimplifiedLayerNormalization" else "com.microsoft"
    node = helper.make_node(operator, [f"x{i}" for i in range(len(inputs))], names,
                            domain=domain, **attributes)
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for i, x in enumerate(inputs)],
        [helper.make_tensor_value_info(f"y{i}", *type_) for i, type_ in zip(outputs, types)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    return model


def write(folder, name, case):
    operator, inputs, outputs, attributes = case
    first = inputs[0].dtype if inputs[0].dtype == np.uint8 else np.dtype(np.float32)
    kinds = [np.dtype(np.int32) if operator.startswith("Embed") and i == 1 else first
             for i in outputs]
    types = [(helper.np_dtype_to_tensor_dtype(kind), None) for kind in kinds]
    model = model_of(name, operator, inputs, outputs, attributes, types)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    results = session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    data = folder / name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / name / "model.onnx")
    for i, x in enumerate(inputs):
        onnx.save_tensor(numpy_helper.from_array(x, f"x{i}"), data / f"input_{i}.pb")
    for i, y in enumerate(results):
        onnx.save_tensor(numpy_helper.from_array(y, f"y{i}"), data / f"output_{i}.pb")


for case_name, case_value in CASES.items():
    write(pathlib.Path(sys.argv[1]), case_name, case_value)
