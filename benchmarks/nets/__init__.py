# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole networks beside PyTorch and JAX. See benchmarks/README.md."""
