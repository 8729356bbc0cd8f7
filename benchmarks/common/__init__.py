# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks share: buffers, contenders, times, tables, ONNX files."""
