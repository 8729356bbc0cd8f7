# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs a case: fusec, PyTorch and cuBLASLt, on buffer sets as in
benchmarks.memory."""

from functools import partial

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

    def __init__(self, function, sets, prepare=None):
        import torch
        self.torch, self.function = torch, function
        self.inputs = [prepare(torch, *inputs) if prepare else inputs
                       for inputs, _ in sets]

    def step(self, i):
        with self.torch.no_grad():
            return self.function(self.torch, *self.inputs[i])


def _native(problem, sets, label, function, prepare=None):
    """One of `problem.natives`. With operands in an order of its own it is held
    to what the first way gives: a wrong peer must not be a measure."""
    made = Torch(function, sets, prepare)
    if prepare:
        want = Torch(problem.natives[0][1], sets).step(0).double()
        error = ((made.step(0).double() - want).norm() / want.norm()).item()
        if not error < 2e-2:
            raise RuntimeError(f"{label} is off by {error:.1e}")
    return made


def _compiled(problem, sets, name):
    """torch.compile of the first native, in the mode that `name` stands for."""
    import torch
    torch._dynamo.reset()
    options = {"dynamic": False}
    if name == "autotune":
        options["mode"] = "max-autotune-no-cudagraphs"
    first = problem.natives[0][1]
    compiled = torch.compile(lambda *x: first(torch, *x), **options)
    return Torch(lambda _, *x: compiled(*x), sets)


def _cublaslt(problem, sets):
    from .cublaslt import CublasLt
    return CublasLt(problem.matmul, sets)


def peers(name, problem, sets):
    """[(label, function that makes the contender)] of peer `name`. What a
    library lacks raises when it is made or first run."""
    if name == "torch":
        return [(native[0], partial(_native, problem, sets, *native))
                for native in problem.natives]
    if name == "cublaslt":
        return ([(name, partial(_cublaslt, problem, sets))]
                if problem.matmul else [])
    return ([(name, partial(_compiled, problem, sets, name))]
            if problem.natives else [])
