# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adam and AdamW, written out over many tensors."""

from .case import In, Problem, Sample, add

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def adam(sizes, gradient="f32", decay=0.0, copy=False):
    """One step (the first, so that torch.optim's fresh state does the same)
    over a tensor per size. `copy`: parameters in bf16 as well."""
    correct1, correct2 = 1 / (1 - BETA1), (1 - BETA2) ** -0.5
    count = len(sizes)

    def step(ops, p, g, m, v, sqrt):
        m = m * BETA1 + g * (1 - BETA1)
        v = v * BETA2 + g * g * (1 - BETA2)
        if decay:
            p = p * (1 - RATE * decay)
        p = p - m * (RATE * correct1) / (sqrt(v) * correct2 + EPSILON)
        return p, m, v

    def graph(b, *values):
        outputs = {}
        for i in range(count):
            p, g, m, v = values[4 * i:4 * i + 4]
            p, m, v = step(b, p, b.cast(g, "f32"), m, v, b.sqrt)
            outputs.update({f"p{i}": p, f"m{i}": m, f"v{i}": v})
            if copy:
                outputs[f"c{i}"] = b.cast(p, "bf16")
        return outputs

    def formula(F, *arrays):
        outputs = []
        for i in range(count):
            p, g, m, v = arrays[4 * i:4 * i + 4]
            p, m, v = step(F, p, F.wide(g), m, v, F.sqrt)
            outputs += [p, m, v] + ([F.cast(p, "bf16")] if copy else [])
        return tuple(outputs)

    def optimizer(torch, arrays):
        """torch.optim's fused step; its gradients have the parameters' type."""
        kind = torch.optim.AdamW if decay else torch.optim.Adam
        parameters = []
        for i in range(count):
            p = torch.nn.Parameter(arrays[4 * i].clone())
            p.grad = arrays[4 * i + 1].to(p.dtype)
            parameters.append(p)
        options = {"weight_decay": decay} if decay else {}
        return kind(parameters, lr=RATE, betas=(BETA1, BETA2), eps=EPSILON,
                    fused=True, capturable=True, **options)
    inputs = []
    for i, n in enumerate(sizes):
        inputs += [In(f"p{i}", "f32", (n,)), In(f"g{i}", gradient, (n,)),
                   In(f"m{i}", "f32", (n,), scale=0.1),
                   In(f"v{i}", "f32", (n,), "positive", 0.1)]
    each = 28 if gradient == "f32" else 26
    samples = []
    for i in range(min(count, 4)):
        axes = {4 * i + k: 0 for k in range(4)}
        outputs = 3 + copy
        samples.append(Sample(list(range(outputs * i, outputs * (i + 1))),
                              axes))
    return Problem(inputs, graph, formula,
                   (each + 2 * copy) * sum(sizes), samples,
                   optimizer=optimizer)


#: 160 sizes from 1 Ki to 11 Ki.
SMALL = [1024 + (i * 64) % (10 * 1024) for i in range(160)]
LARGE = [(128 << 20) // 200] * 200

add("adam-160", adam, dict(sizes=SMALL), dict(sizes=[33, 1, 1025]),
    limit=10.0, kernels=1, launch_bound=True)
add("adamw-128M", adam,
    dict(sizes=LARGE, gradient="bf16", decay=0.01, copy=True),
    dict(sizes=[67, 130]), 1.05)
