# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec as a contender, through its Python module."""

import time


class Program:
    """A compiled graph on buffer sets. `arrays`: who makes buffers (arrays.py).
    `options` are those of fusec.compile. `step(i)` enqueues one run on set i on
    the current stream and returns the outputs."""
    name = "fusec"
    can_capture = True

    def __init__(self, graph, target, arrays, **options):
        import fusec
        start = time.perf_counter()
        self.program = fusec.compile(graph, target=target, **options)
        self.compile_ms = 1e3 * (time.perf_counter() - start)
        plan = self.program.plan or {}
        self.predicted_us = plan.get("predicted_us", 0)
        self.launches = plan.get("fusion", {}).get("launches", 0)
        #: For each kernel with candidates, which was taken and why; `vendor` is
        #: in those that cuBLASLt computes.
        self.choices = [k["choice"] for k in plan.get("kernels", ())
                        if "choice" in k]
        self.arrays = arrays

    def outputs(self):
        """Poisoned buffers for the outputs."""
        return [self.arrays.poisoned(info) for info in self.program.outputs]

    def bind(self, sets):
        """sets[i]: (inputs, outputs)."""
        self.lists = [(list(i), list(o)) for i, o in sets]

    def step(self, i):
        stream = None
        if self.arrays.name == "cuda":
            stream = self.arrays.torch.cuda.current_stream().cuda_stream
        inputs, outputs = self.lists[i]
        self.program.run(inputs, outputs, stream)
        return outputs

    def kernels(self):
        """(registers, spilled bytes) of each kernel, after a run."""
        return [(k.registers, k.spill_store_bytes)
                for k in self.program.kernels]
