# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs a network: fusec, PyTorch in its ways, JAX, and the reference.

A contender is made for a case (cases.py), its ONNX file, a target and a seed.
`load` brings weights and inputs to the device, `build` compiles and runs once
and gives facts; `output` is the result for input set 0; `runner` times it
(common.measure). Each is used from one process that does nothing else
(worker.py).
"""

import sys
import time

import numpy as np

from ..common import arrays as arrays_module
from ..common import measure, onnx_file
from . import turns

#: Input sets that calls go round.
SETS = 4


class Contender:
    """target: "cuda" or one of fusec's on the CPU. arrays: the folder where
    its inputs are (Case.store), if they are not made here."""
    #: Modules that take long to import.
    needs = ("torch",)
    #: Whether kernels are timed all through its build.
    times_kernels = False
    #: What another contender found to be the best memory format.
    format = None
    #: Where kernels are timed while others build (turns.py), if they do.
    turns = None

    def __init__(self, case, path, target, seed, sets=SETS, arrays=None):
        self.case, self.path, self.target = case, path, target
        self.seed, self.count, self.arrays_at = seed, sets, arrays
        self.device = "cuda" if target == "cuda" else "cpu"

    def inputs(self, model_inputs):
        """Lists of Tensors, one for each set, in the file's order."""
        sets = [self.case.stored(self.arrays_at, i, model_inputs)
                if self.arrays_at else self.case.inputs(i, self.seed)
                for i in range(self.count)]
        return [[values[name] for name in model_inputs] for values in sets]

    def torch(self):
        """PyTorch with a GPU, for events; None on the CPU."""
        if self.device == "cpu":
            return None
        import torch
        return torch

    def runner(self, row_us=8000.0):
        runner = measure.RowRunner(self.torch(), self, self.count, row_us)
        runner.prepare()
        return runner

    def kernels(self):
        """{"trace": [(name, us)] of the kernels of a call}."""
        from . import kernels
        return {"trace": kernels.trace(self.torch(), self.step, self.count)}


class Fusec(Contender):
    """fusec through its Python module on device buffers."""
    options = {}

    def load(self):
        import fusec

        from ..common.program import Program
        self.make = Program
        graph = fusec.load(self.path)
        if not graph.is_bound:
            names = [info.name for info in graph.inputs]
            first = zip(names, self.inputs(names)[0])
            graph = graph.bind(shapes={name: tensor.data.shape
                                       for name, tensor in first})
        self.graph = graph
        self.names = [info.name for info in graph.inputs]
        if self.device == "cuda":
            from .torch_nets import to_torch
            self.arrays = arrays_module.TorchArrays(self.seed)
            convert = lambda tensor: to_torch(tensor, "cuda")  # noqa: E731
        else:
            self.arrays = arrays_module.NumpyArrays(self.seed)
            convert = _numpy
        self.buffers = [[convert(tensor) for tensor in inputs]
                        for inputs in self.inputs(self.names)]

    def build(self):
        self.program = program = self.make(self.graph, self.target,
                                           self.arrays, **self.options)
        sets = [(inputs, program.outputs()) for inputs in self.buffers]
        program.bind(sets)
        self.step = program.step
        start = time.perf_counter()
        self.step(0)
        program.program.synchronize()
        first = 1e3 * (time.perf_counter() - start)
        plan = program.program.plan or {}
        spilled = [bytes for _, bytes in program.kernels() if bytes > 0]
        return {"compile_ms": program.compile_ms, "first_run_ms": first,
                "launches": program.launches,
                "kernels": plan.get("fusion", {}).get("kernels", 0),
                "ops": plan.get("fusion", {}).get("ops", 0),
                "predicted_us": program.predicted_us,
                "workspace_bytes": program.program.workspace_bytes,
                "spilling_kernels": len(spilled)}

    def output(self):
        """After runs on every set, twice, into poisoned buffers."""
        for _ in range(2):
            for i, (_, outputs) in enumerate(self.program.lists):
                for out in outputs:
                    _poison(out)
                self.step(i)
        self.program.program.synchronize()
        return self.arrays.numbers(self.program.lists[0][1][0])

    def kernels(self):
        return {**super().kernels(), "plan": self.program.program.plan}


class Unfused(Fusec):
    """One kernel per op."""
    options = {"fuse": False}


def _poison(array):
    """Every byte 0xff."""
    if isinstance(array, np.ndarray):
        array.view(np.uint8)[...] = 255
    else:
        import torch
        array.view(torch.uint8).fill_(255)


def _numpy(tensor):
    """For fusec on the CPU; bf16 as ml_dtypes has it."""
    if tensor.dtype != "bf16":
        return tensor.data
    import ml_dtypes
    return tensor.data.view(ml_dtypes.bfloat16)


class Torch(Contender):
    """PyTorch as it is called eagerly. On images in float16 both memory
    formats are tried, by what the GPU takes for them (without launches from
    Python), and the best is kept."""
    times_kernels = True

    def load(self):
        import torch

        from . import torch_nets
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.nets, self.lib = torch_nets, torch
        model = onnx_file.read(self.path)
        names = [name for name, _, _ in model.inputs]
        self.buffers = [[torch_nets.to_torch(tensor, self.device)
                         for tensor in inputs] for inputs in self.inputs(names)]
        self.module = torch_nets.make(self.case, model, self.device)
        if hasattr(self.module, "settle"):
            with torch.inference_mode():
                self.module.settle(self.buffers[0])
        self.function = self.module

    def step(self, i):
        with self.lib.inference_mode():
            return self.function(*self.buffers[i])

    def choose_format(self):
        """"channels_last" or "contiguous"; None where there is no choice."""
        if not self.has_formats():
            return None
        torch, times = self.lib, {}
        for name in ("contiguous", "channels_last"):
            self._use_format(name)
            if self.device == "cpu":  # there is nothing to find out
                return name
            self.can_capture = True
            trial = measure.Runner(torch, self, self.count)
            trial.prepare()
            times[name] = min(trial.replay() for _ in range(5))
            del trial
        best = min(times, key=times.get)
        self._use_format(best)
        return best

    def has_formats(self):
        return self.case.dtype != "f32" and any(x.ndim == 4
                                                for x in self.buffers[0])

    def _use_format(self, name):
        torch = self.lib
        form = getattr(torch, f"{name}_format", None) or getattr(torch, name)
        self.module = self.module.to(memory_format=form)
        self.buffers = [[x.contiguous(memory_format=form) if x.ndim == 4 else x
                         for x in inputs] for inputs in self.buffers]

    def compile(self):
        pass

    def build(self):
        start = time.perf_counter()
        form = self.choose_format()
        self.compile()
        self.step(0)
        if self.torch():
            self.lib.cuda.synchronize()
        facts = {"compile_ms": 1e3 * (time.perf_counter() - start)}
        return {**facts, "format": form} if form else facts

    def output(self):
        return self.step(0).to(self.lib.float64).cpu().numpy()


class Compile(Torch):
    """torch.compile's default mode, in the memory format that was best eagerly,
    or channels last."""
    times_kernels = False
    mode = None

    def choose_format(self):
        if not self.has_formats():
            return None
        form = self.format or "channels_last"
        self._use_format(form)
        return form

    def compile(self):
        self.function = self.lib.compile(self.module, mode=self.mode,
                                         dynamic=False)


class Graphs(Compile):
    """torch.compile in the mode that replays CUDA graphs."""
    mode = "reduce-overhead"

    def step(self, i):
        self.lib.compiler.cudagraph_mark_step_begin()
        return super().step(i)


class Autotune(Graphs):
    """torch.compile in the mode that also times kernels to choose from. Big
    cases without CUDA graphs: they last longer than their launches, and a graph
    has its inputs copied."""

    def compile(self):
        if self.turns:
            try:
                turns.of_inductor(self.turns)
            except (ImportError, AttributeError) as error:
                print(f"kernels are not timed in turns: {error}",
                      file=sys.stderr)
        self.mode = ("max-autotune-no-cudagraphs" if self.case.big
                     else "max-autotune")
        super().compile()


class Reference(Torch):
    """PyTorch in float64, op by op. It is asked for its output alone, of which
    it computes a part of the batch at a time: scores of all of LLaMA's are 9
    GB."""
    times_kernels = False

    def load(self):
        import torch

        from . import torch_nets
        self.lib = torch
        model = onnx_file.read(self.path)
        names = [name for name, _, _ in model.inputs]
        self.buffers = [[torch_nets.to_torch(tensor, self.device, torch.float64)
                         for tensor in inputs]
                        for inputs in self.inputs(names)[:1]]
        self.function = torch_nets.make(self.case, model, self.device, "f64")
        if hasattr(self.function, "settle"):
            self.function.settle(self.buffers[0])

    def build(self):
        return {}

    def output(self):
        inputs = self.buffers[0]
        batch = len(inputs[0])
        step = max(1, batch // self.case.reference_parts)
        parts = []
        with self.lib.inference_mode():
            for at in range(0, batch, step):
                parts.append(self.function(*(x[at:at + step]
                                             for x in inputs)).cpu())
        return self.lib.cat(parts).numpy()


class Evaluator(Fusec):
    """fusec's own evaluator of graphs, where PyTorch is not installed."""

    def __init__(self, case, path, target, seed, sets=1, arrays=None):
        super().__init__(case, path, "reference", seed, 1)


class Jax(Contender):
    """jax.jit. Timed by the wall, as its stream is not to be had."""
    needs, times_kernels = ("jax",), True

    def load(self):
        import jax
        if self.case.dtype == "f32":  # TF32 off
            jax.config.update("jax_default_matmul_precision", "highest")
        from . import jax_nets
        self.jax = jax
        model = onnx_file.read(self.path)
        names = [name for name, _, _ in model.inputs]
        self.buffers = [[jax_nets.arrange(self.case, tensor)
                         for tensor in inputs] for inputs in self.inputs(names)]
        self.function, self.weights = jax_nets.make(self.case, model,
                                                    self.buffers[0])

    def torch(self):
        return None

    def build(self):
        start = time.perf_counter()
        self.function = self.jax.jit(self.function).lower(
            self.weights, *self.buffers[0]).compile()
        self.wait(self.step(0))
        return {"compile_ms": 1e3 * (time.perf_counter() - start)}

    def step(self, i):
        return self.function(self.weights, *self.buffers[i])

    def wait(self, outputs):
        self.jax.block_until_ready(outputs)

    def output(self):
        return np.asarray(self.step(0).astype("float32"), np.float64)


#: By name; those of --peers are the last five.
KINDS = {"fusec": Fusec, "unfused": Unfused, "reference": Reference,
         "evaluator": Evaluator, "eager": Torch, "compile": Compile,
         "graphs": Graphs, "autotune": Autotune, "jax": Jax}
PEERS = ("eager", "compile", "graphs", "autotune", "jax")
