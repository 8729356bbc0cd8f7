# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs a case: fusec, PyTorch and cuBLASLt, on buffer sets as in
benchmarks.memory."""

from ..common.program import Program

#: Names for --peers.
NAMES = ("torch", "cublaslt", "compile", "autotune")
#: What an aim is against: peers, or fusec's own plain product.
GROUPS = {"best": NAMES, "library": ("torch", "cublaslt"),
          "compile": ("compile", "autotune"), "plain": ("plain",)}


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


class PlainProduct:
    """fusec's plain product of a case, and the read that the case counts beside
    it, as a kernel of its own (a maximum)."""
    can_capture = True

    def __init__(self, plain, target, arrays, **options):
        #: Programs, with the inputs of the case that they take.
        self.programs = [(Fusec(plain.product, target, arrays, **options),
                          plain.operands)]
        if plain.reads is not None:
            import fusec
            x = plain.product.inputs[plain.operands.index(plain.reads)]
            b = fusec.GraphBuilder()
            b.output("m", b.reduce("max", b.input("x", x.dtype, x.shape),
                                   range(len(x.shape))))
            self.programs.append((Program(b.finish(), target, arrays),
                                  [plain.reads]))

    def bind(self, sets):
        """Results have buffers of their own."""
        for program, operands in self.programs:
            program.bind([([inputs[k] for k in operands], program.outputs())
                          for inputs, _ in sets])

    def step(self, i):
        return [program.step(i) for program, _ in self.programs]


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
    if name == "cublaslt":
        from .cublaslt import CublasLt
        return [(name, CublasLt(problem.library, sets))] if (
            problem.library) else []
    if name == "torch" or not problem.natives:
        return [(label, Torch(f, sets)) for label, f in problem.natives]
    import torch
    torch._dynamo.reset()
    options = {"dynamic": False}
    if name == "autotune":
        options["mode"] = "max-autotune-no-cudagraphs"
    first = problem.natives[0][1]
    compiled = torch.compile(lambda *x: first(torch, *x), **options)
    return [(name, Torch(lambda _, *x: compiled(*x), sets))]
