# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models of known networks with seeded weights."""
