# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products side by side with PyTorch.

`python3 -m benchmarks.gemm --help` says how to run it; benchmarks/README.md
what its cases and columns mean.
"""
