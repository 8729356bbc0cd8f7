# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs a case: fusec and PyTorch, on buffer sets as in benchmarks.memory."""

from ..common.program import Program

#: Names for --peers.
NAMES = ("torch", "compile", "autotune")


class Fusec(Program):
    """fusec through its Python module on the same buffers."""

    def __init__(self, problem, target, arrays, **options):
        import fusec
        if problem.text:
            graph = fusec.Graph.from_mlir(problem.text)
        else:
            b = fusec.GraphBuilder()
            values = [b.input(x.name, x.dtype, x.shape) for x in problem.inputs]
            for name, value in problem.graph(b, *values).items():
                b.output(name, value)
            graph = b.finish()
        super().__init__(graph, target, arrays, **options)


class Torch:
    """One way in which PyTorch runs a case."""
    can_capture = True

    def __init__(self, function, sets):
        import torch
        self.torch, self.sets, self.function = torch, sets, function

    def step(self, i):
        with self.torch.no_grad():
            return self.function(self.torch, *self.sets[i][0])


def peers(name, problem, sets):
    """[(label, contender)] of peer `name`; what PyTorch lacks fails when it is
    first run."""
    import torch
    if name == "torch":
        return [(label, Torch(f, sets)) for label, f in problem.natives]
    torch._dynamo.reset()
    options = {"dynamic": False}
    if name == "autotune":
        options["mode"] = "max-autotune-no-cudagraphs"
    first = problem.natives[0][1]
    compiled = torch.compile(lambda *x: first(torch, *x), **options)
    return [(name, Torch(lambda _, *x: compiled(*x), sets))]
