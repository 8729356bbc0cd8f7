# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's norms, which are in its graph interface alone.

The interface is spoken through NVIDIA's package nvidia-cudnn-frontend, on the
library that PyTorch has loaded. A graph is built once for its operator and the
shapes of its operands, with the first plan that cuDNN's heuristics name.
Operands are seen as images of one pixel, [rows, channels, 1, 1], which is how
cuDNN's own samples have it.
"""

_TYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}


def load():
    """The package. Raises ImportError, which says how to get it."""
    try:
        import cudnn
    except ImportError as error:
        raise ImportError("cuDNN's norms need its graph interface: pip install "
                          f"nvidia-cudnn-frontend ({error})")
    return cudnn


def _as_rows(x):
    """[rows, channels, 1, 1], or [1, channels, 1, 1] of a vector."""
    return x.reshape(-1, x.shape[-1], 1, 1)


class Plan:
    """A graph that was built: `inputs` and `outputs` are its tensors by name."""

    def __init__(self, cudnn, torch, handle, graph, inputs, outputs):
        self.graph, self.handle = graph, handle
        self.inputs, self.outputs = inputs, outputs
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A,
                                      cudnn.heur_mode.FALLBACK])
        graph.check_support()
        graph.build_plans()
        self.workspace = torch.empty(max(1, graph.get_workspace_size()),
                                     dtype=torch.uint8, device="cuda")

    def run(self, inputs, outputs):
        """Both: PyTorch's tensors by name."""
        places = {self.inputs[name]: x for name, x in inputs.items()}
        places.update({self.outputs[name]: x for name, x in outputs.items()})
        self.graph.execute(places, self.workspace, handle=self.handle)


class Norms:
    """Layer and RMS norm, forward and backward, over the last dimension of
    PyTorch's tensors, on the current stream. Raises ImportError without the
    package, and what it raises where cuDNN has no such kernel."""

    def __init__(self):
        import torch
        self.cudnn, self.torch = load(), torch
        self.handle = self.cudnn.create_handle()
        self.plans, self.epsilons = {}, {}

    def _run(self, name, build, inputs, outputs):
        """Runs the graph that `build(graph, tensors)` makes: it gives the
        tensors of `outputs`, in order. Both: PyTorch's tensors by name."""
        cudnn = self.cudnn
        key = (name, *((x.dtype, x.shape) for x in inputs.values()))
        if key not in self.plans:
            graph = cudnn.pygraph(
                intermediate_data_type=cudnn.data_type.FLOAT,
                compute_data_type=cudnn.data_type.FLOAT, handle=self.handle)
            given = {at: self._tensor(graph, at, x)
                     for at, x in inputs.items()}
            made = build(graph, given)
            for tensor, x in zip(made, outputs.values()):
                tensor.set_output(True).set_data_type(self._type(x))
            self.plans[key] = Plan(cudnn, self.torch, self.handle, graph, given,
                                   dict(zip(outputs, made)))
        cudnn.set_stream(handle=self.handle,
                         stream=self.torch.cuda.current_stream().cuda_stream)
        self.plans[key].run(inputs, outputs)

    def _type(self, x):
        return getattr(self.cudnn.data_type,
                       _TYPES[str(x.dtype).removeprefix("torch.")])

    def _tensor(self, graph, name, x):
        """Numbers that lie in the host's memory are passed by value."""
        rows, channels = x.shape[:2]
        return graph.tensor(name=name, dim=[rows, channels, 1, 1],
                            stride=[channels, 1, channels, channels],
                            data_type=self._type(x),
                            is_pass_by_value=not x.is_cuda)

    def _epsilon(self, value):
        if value not in self.epsilons:
            self.epsilons[value] = self.torch.full((1, 1, 1, 1), value)
        return self.epsilons[value]

    def _inference(self):
        return self.cudnn.norm_forward_phase.INFERENCE

    def layer_norm(self, x, gamma, beta, epsilon):
        y = self.torch.empty_like(x)

        def build(graph, t):
            return graph.layernorm(
                norm_forward_phase=self._inference(), input=t["x"],
                scale=t["gamma"], bias=t["beta"], epsilon=t["epsilon"])[:1]
        self._run("layer_norm", build, {
            "x": _as_rows(x), "gamma": _as_rows(gamma), "beta": _as_rows(beta),
            "epsilon": self._epsilon(epsilon)}, {"y": y})
        return y

    def add_layer_norm(self, x, r, gamma, beta, epsilon):
        """(x + r, its norm) as one graph."""
        s, y = self.torch.empty_like(x), self.torch.empty_like(x)

        def build(graph, t):
            s = graph.add(a=t["x"], b=t["r"])
            y = graph.layernorm(
                norm_forward_phase=self._inference(), input=s,
                scale=t["gamma"], bias=t["beta"], epsilon=t["epsilon"])[0]
            return s, y
        self._run("add_layer_norm", build, {
            "x": _as_rows(x), "r": _as_rows(r), "gamma": _as_rows(gamma),
            "beta": _as_rows(beta), "epsilon": self._epsilon(epsilon)},
            {"s": s, "y": y})
        return s, y

    def rms_norm(self, x, gamma, epsilon):
        y = self.torch.empty_like(x)

        def build(graph, t):
            return graph.rmsnorm(
                norm_forward_phase=self._inference(), input=t["x"],
                scale=t["gamma"], epsilon=t["epsilon"])[:1]
        self._run("rms_norm", build, {
            "x": _as_rows(x), "gamma": _as_rows(gamma),
            "epsilon": self._epsilon(epsilon)}, {"y": y})
        return y

    def layer_norm_backward(self, dy, x, gamma, mean, rstd):
        """(dx, dgamma, dbeta); mean and rstd: [rows]."""
        outputs = {"dx": self.torch.empty_like(x), **{
            name: self.torch.empty_like(gamma) for name in ("dgamma", "dbeta")}}

        def build(graph, t):
            return graph.layernorm_backward(
                grad=t["dy"], input=t["x"], scale=t["gamma"], mean=t["mean"],
                inv_variance=t["rstd"])
        self._run("layer_norm_backward", build, {
            "dy": _as_rows(dy), "x": _as_rows(x), "gamma": _as_rows(gamma),
            "mean": mean.reshape(-1, 1, 1, 1),
            "rstd": rstd.reshape(-1, 1, 1, 1)}, outputs)
        return tuple(outputs.values())

    def rms_norm_backward(self, dy, x, gamma, rstd):
        """(dx, dgamma); rstd: [rows]."""
        outputs = {"dx": self.torch.empty_like(x),
                   "dgamma": self.torch.empty_like(gamma)}

        def build(graph, t):
            return graph.rmsnorm_backward(
                grad=t["dy"], input=t["x"], scale=t["gamma"],
                inv_variance=t["rstd"], has_dbias=False)[:2]
        self._run("rms_norm_backward", build, {
            "dy": _as_rows(dy), "x": _as_rows(x), "gamma": _as_rows(gamma),
            "rstd": rstd.reshape(-1, 1, 1, 1)}, outputs)
        return tuple(outputs.values())
