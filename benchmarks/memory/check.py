# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs against the formula in float64, at sampled indices.

An error of an element is compared with `bound * (|expected| + rms)`: rms is
the root of the mean square of the expected values, so that sums that cancel are
held to the size of their neighbours. Kinds: "close" (a few roundings of the
output's type), "loose" (means and sums in f32 before it), "operands" (products
of operands that are computed and rounded to the output's type), "normed" (norms
with beta of what is rounded to the output's type), "sum" (long sums),
"tf32" (products of rounded operands), "sum8" and "fast8" (products of 8-bit
floats with and without promotion), "squares" (sums of squares of results of
half precision), "root" (square roots of differences, whose squares are
compared: near 0 a root has half the digits), "equal" (integers), "step" (integers, one step apart at most),
"index:N" (indices into input N, right if what they point at is equal).
"""

import numpy as np

# Of half precision types: one unit in the last place; the rest is slack for
# f32 arithmetic inside.
_BOUNDS = {"f64": 1e-12, "f32": 4e-6, "f16": 1.1e-3, "bf16": 8e-3,
           "f8e4m3": 0.126, "f8e5m2": 0.25}
_FACTORS = {"close": (1, 0), "loose": (1, 2e-5), "sum": (1, 1e-4),
            "tf32": (1, 3e-3), "sum8": (1, 1e-2), "fast8": (1, 5e-2), "squares": (1, 1e-3),
            "root": (1, 0)}
# A product's operand that is computed is rounded to the product's type: each
# term of a sum is off by up to half a unit u, evenly spread, and the terms have
# random signs, so a sum is off by about u / sqrt(3) of the rms of all sums. Six
# times that, for 10^8 elements and columns that are twice as large as others.
_OPERANDS = {"f16": 6 * 2.0 ** -11 / 3 ** 0.5, "bf16": 6 * 2.0 ** -8 / 3 ** 0.5}
# What a norm takes is off by up to a unit roundoff u, and so is its result by u
# times what beta is added to, |result| + |beta|. Results have rms 2^(1/2) where
# gamma and beta are of variance 1, so 3 rms is more than any of 10^4 betas.
_NORMED = {"f16": 3 * 2.0 ** -11, "bf16": 3 * 2.0 ** -8}
_COUNT = 48


class Mismatch(Exception):
    """Outputs that differ from the reference."""


def _indices(size, axis):
    """Up to _COUNT of [0, size): the ends and some in between; the first few
    where axis is -1 (values that depend on their position)."""
    if axis < 0:
        return list(range(min(size, 2)))
    if size <= _COUNT:
        return list(range(size))
    step = (size - 1) / (_COUNT - 1)
    return sorted({int(round(i * step)) for i in range(_COUNT)})


def _compare(name, kind, dtype, got, want, source):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise Mismatch(f"{name}: expected shape {want.shape}, found "
                       f"{got.shape}")
    if not want.size:
        return 0.0
    if kind.startswith("index"):
        if (got < 0).any() or (got >= source.shape[-1]).any():
            raise Mismatch(f"{name}: expected indices below "
                           f"{source.shape[-1]}, found others")
        pick = [np.take_along_axis(
            source, x.astype(np.int64).reshape(len(source), -1), -1)
            for x in (got, want)]
        if not np.array_equal(*pick):
            raise Mismatch(f"{name}: indices point at other values")
        return 0.0
    if kind == "root":
        got, want = got * got, want * want
    error = np.abs(got - want)
    rms = float(np.sqrt(np.mean(want * want)))
    if kind == "step":
        bound = np.ones_like(want)
    elif kind == "equal":
        bound = np.zeros_like(want)
    elif kind == "operands":
        bound = _BOUNDS[dtype] * np.abs(want) + _OPERANDS[dtype] * rms
    elif kind == "normed":
        bound = _BOUNDS[dtype] * np.abs(want) + _NORMED[dtype] * rms
    else:
        factor, slack = _FACTORS[kind]
        bound = (_BOUNDS[dtype] * factor + slack) * (np.abs(want) + rms)
    wrong = ~(error <= bound)
    if wrong.any():
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf,
                                                 error - bound)), error.shape)
        raise Mismatch(f"{name}: {int(wrong.sum())} of {wrong.size} checked "
                       f"elements differ; expected {want[at]:.6g}, found "
                       f"{got[at]:.6g}")
    return float(np.linalg.norm(error.ravel())
                 / max(float(np.linalg.norm(want.ravel())), 1e-300))


def check(problem, arrays, infos, inputs, outputs):
    """The largest relative error (of norms) of all outputs. `infos`: the
    outputs' names and types. Raises Mismatch."""
    everything = list(range(len(infos)))
    covered = {k for s in problem.samples for k in s.outputs}
    groups = [(s.outputs, s.axes, s.axis) for s in problem.samples]
    if not groups:
        groups.append((everything, {}, 0))
    elif len(infos) <= 8 and covered != set(everything):
        raise ValueError("samples do not cover the outputs")
    worst = 0.0
    for numbers, axes, axis in groups:
        taken, where = list(inputs), None
        for number, at in axes.items():
            where = _indices(inputs[number].shape[at], axis)
            taken[number] = arrays.take(inputs[number], where, at)
        wide = [arrays.wide(x) for x in taken]
        expected = problem.formula(arrays.reference_ops(), *wide)
        for k in numbers:
            out = outputs[k]
            if where is not None:
                out = arrays.take(out, where, max(axis, 0))
            kind = problem.checks.get(k, "close")
            source = None
            if kind.startswith("index"):
                source = arrays.numbers(wide[int(kind.split(":")[1])])
            worst = max(worst, _compare(
                infos[k].name, kind, infos[k].dtype, arrays.numbers(out),
                arrays.numbers(expected[k]), source))
    return worst
