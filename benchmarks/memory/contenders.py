# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs a case: fusec, PyTorch in its ways, cuDNN, JAX.

A contender is made for a case with its buffer sets, `sets[i] = (inputs,
outputs)`, and has `step(i)`, which enqueues one run on set i on the current
stream and returns the outputs.
"""

from ..common.program import Program
from .formulas import JaxOps, TorchOps

#: Names for --peers.
NAMES = ("torch", "cudnn", "compile", "autotune", "jax", "optim")


class Fusec(Program):
    """fusec through its Python module on the same buffers."""

    def __init__(self, problem, target, arrays, exact=False):
        import fusec
        b = fusec.GraphBuilder()
        values = [b.input(x.name, x.dtype, x.shape) for x in problem.inputs]
        for name, value in problem.graph(b, *values).items():
            b.output(name, value)
        super().__init__(b.finish(), target, arrays, exact=exact)


class Torch:
    """PyTorch: "torch" eager with the library's own functions; "compile" and
    "autotune" torch.compile of the formula."""
    can_capture = True

    def __init__(self, name, problem, sets):
        import torch
        self.name, self.torch, self.sets = name, torch, sets
        ops = TorchOps()
        self.candidates = [lambda *x: problem.formula(ops, *x)]
        if problem.native:
            self.candidates.append(lambda *x: problem.native(ops, *x))
        if name == "torch":
            self.candidates = self.candidates[-1:]
        else:
            torch._dynamo.reset()
            options = {"dynamic": False}
            if name == "autotune":
                options["mode"] = "max-autotune-no-cudagraphs"
            # The written-out formula gives the compiler the most freedom.
            self.candidates = [torch.compile(self.candidates[0], **options)]
        self.function = self.candidates[0]

    def step(self, i):
        with self.torch.no_grad():
            return self.function(*self.sets[i][0])


class CudnnPeer:
    """cuDNN's own kernels, held to what PyTorch's give."""
    name, can_capture = "cudnn", True

    def __init__(self, problem, sets):
        from .cudnn import Cudnn
        ops, self.sets = Cudnn(), sets
        self.function = lambda *x: problem.cudnn(ops, *x)
        reference = Torch("torch", problem, sets)
        for got, want in zip(self.step(0), reference.step(0)):
            got, want = got.double(), want.double()
            error = ((got - want).norm() / want.norm()).item()
            if not error < 2e-2:  # a wrong peer must not be a measure
                raise RuntimeError(f"cuDNN's result is off by {error:.1e}")

    def step(self, i):
        return self.function(*self.sets[i][0])


class Optimizer:
    """torch.optim's fused step on parameters of its own."""
    name, can_capture = "optim", True

    def __init__(self, problem, sets):
        import torch
        self.optimizers = [problem.optimizer(torch, inputs)
                           for inputs, _ in sets]

    def step(self, i):
        self.optimizers[i].step()


class Jax:
    """jax.jit of the formula on the same memory. Timed by the wall over many
    calls in a row, as its launches cannot be captured here."""
    name, can_capture = "jax", False

    def __init__(self, problem, sets):
        import jax
        self.jax = jax
        ops = JaxOps()
        self.sets = [[self._take(x) for x in inputs] for inputs, _ in sets]
        function = jax.jit(lambda *x: problem.formula(ops, *x))
        self.function = function.lower(*self.sets[0]).compile()

    def _take(self, x):
        """A JAX array on a tensor's memory; a copy for types that DLPack does
        not carry."""
        import jax.numpy as jnp
        try:
            return self.jax.dlpack.from_dlpack(x)
        except Exception:
            return jnp.asarray(x.cpu().numpy())

    def step(self, i):
        return self.function(*self.sets[i])

    def wait(self, outputs):
        self.jax.block_until_ready(outputs)


def make_peer(name, problem, sets):
    """The contender `name`, or None where it has nothing for this problem.
    Raises what its library raises."""
    if name == "optim":
        return Optimizer(problem, sets) if problem.optimizer else None
    if name == "cudnn":
        return CudnnPeer(problem, sets) if problem.cudnn else None
    if name == "jax":
        return Jax(problem, sets)
    return Torch(name, problem, sets)
