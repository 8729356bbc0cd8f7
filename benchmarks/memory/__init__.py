# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory-bound kernels side by side with PyTorch and JAX.

`python3 -m benchmarks.memory --help` says how to run it; benchmarks/README.md
what its cases and columns mean.
"""
