# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers of a case, with the operators that its reference is computed with."""

from ..common import arrays
from .formulas import NumpyOps, TorchOps


class NumpyArrays(arrays.NumpyArrays):
    """On the CPU, for tests of the cases without PyTorch."""

    def reference_ops(self):
        return NumpyOps()


class TorchArrays(arrays.TorchArrays):
    """PyTorch tensors on `device`."""

    def reference_ops(self):
        return TorchOps(exact=True)
