# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec: a kernel-fusion compiler for deep-learning operator graphs.

    import fusec, numpy as np

    b = fusec.GraphBuilder()
    x = b.input("x", "f32", (4, 8))
    b.output("y", b.softmax(x * 2.0, -1))
    program = fusec.compile(b.finish(), target="host")
    y, = program(np.ones((4, 8), np.float32))

Arrays come and go through DLPack (NumPy, PyTorch, CuPy, JAX). Pure ctypes over
libfusec.so: `FUSEC_LIBRARY` in the environment names it where it is not beside
this package or on the loader's path.

Errors are exceptions derived from `FusecError`. Graphs, devices and executables
may be used by many threads; a builder by one at a time.
"""

from ._builder import GraphBuilder, Value
from ._capi import (FusecError, GraphError, InvalidArgument, NoDevice,
                    OutOfMemory, RunError, Unsupported, configure, version)
from ._executable import Device, Executable, Kernel, compile
from ._graph import Graph, TensorInfo, load

__version__ = version()
__all__ = [
    "Device", "Executable", "FusecError", "Graph", "GraphBuilder",
    "GraphError", "InvalidArgument", "Kernel", "NoDevice", "OutOfMemory",
    "RunError", "TensorInfo", "Unsupported", "Value", "compile", "configure",
    "load", "version",
]
