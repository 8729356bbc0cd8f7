# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that compile at the same time, but time kernels one at a time: what
a search measures while another measures is no ground for a choice."""

import contextlib
import fcntl
import threading


class Turns:
    """A lock that processes share: `path` is its file. A process that ends
    gives it back. Whoever holds it may take it again."""

    def __init__(self, path):
        self.file = open(path, "w")
        self.threads = threading.RLock()
        self.depth = 0

    @contextlib.contextmanager
    def mine(self):
        with self.threads:
            if not self.depth:
                fcntl.flock(self.file, fcntl.LOCK_EX)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1
                if not self.depth:
                    fcntl.flock(self.file, fcntl.LOCK_UN)


def take(turns, benchmarker):
    """Whatever this class of torch.compile's searches times is timed in turn."""
    plain = benchmarker.benchmark_gpu

    def alone(self, *arguments, **options):
        with turns.mine():
            return plain(self, *arguments, **options)
    benchmarker.benchmark_gpu = alone


def of_inductor(turns):
    """torch.compile's searches in this process time kernels in turns. Raises
    ImportError or AttributeError where PyTorch times them elsewhere."""
    from torch._inductor.runtime.benchmarking import benchmarker
    take(turns, type(benchmarker))
