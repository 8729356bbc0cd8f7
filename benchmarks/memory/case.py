# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a case is.

A case states its inputs, its graph in fusec's builder, and its formula once,
over a namespace of operators (formulas.py) that NumPy in float64, PyTorch and
JAX implement: the same formula is the reference and the peers. Sizes are
keyword arguments of the function that makes the problem, so that each case has
a small size for tests and neighbours of its shape.
"""

import importlib
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Tuple

#: Bytes of an element.
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1,
         "i64": 8, "i32": 4, "i8": 1, "u8": 1, "u64": 8, "u32": 4, "bool": 1}


@dataclass
class In:
    """An input. `kind`: "normal" (mean 0, deviation `scale`), "positive"
    (uniform in (0, 1] times `scale`), "near" (in (0.5, 1] times `scale`),
    "ints" (uniform in [0, `scale`)), "signed" (uniform in [-`scale`,
    `scale`))."""
    name: str
    dtype: str
    shape: Tuple[int, ...]
    kind: str = "normal"
    scale: float = 1.0

    @property
    def bytes(self):
        count = SIZES[self.dtype]
        for size in self.shape:
            count *= size
        return count


@dataclass
class Sample:
    """Indices along one axis that are checked. `outputs`: numbers of outputs
    that depend on these indices of the inputs alone; `axes`: {input number:
    its axis}; `axis`: the axis of the outputs."""
    outputs: List[int]
    axes: Dict[int, int]
    axis: int = 0


@dataclass
class Problem:
    """A case at one size. `graph(b, *values)` gives {output name: Value};
    `formula(F, *arrays)` a tuple of arrays in the same order. `bytes`: what
    has to move: each input read, each output written once. `checks`: kinds of
    comparison by output, default "close" (see check.py). `native(F, *arrays)`:
    the formula by the library's own function where there is a better one;
    `cudnn(F, *arrays)` by cuDNN's operators (cudnn.py) where it has them.
    `tensors`: (parameters, gradients) input numbers for torch.optim."""
    inputs: List[In]
    graph: Callable
    formula: Callable
    bytes: int
    samples: List[Sample] = field(default_factory=list)
    checks: Dict[int, str] = field(default_factory=dict)
    native: Optional[Callable] = None
    cudnn: Optional[Callable] = None
    optimizer: Optional[Callable] = None


@dataclass
class Case:
    """One row of the table: it must take at most `ratio` times its floor plus
    `extra` microseconds, or `limit` microseconds where that is given, in
    `kernels` launches if that is not 0."""
    name: str
    make: Callable[..., Problem]
    sizes: Dict[str, object]
    quick: Dict[str, object]
    ratio: float = 1.0
    extra: float = 2.5
    limit: Optional[float] = None
    reads_only: bool = False
    kernels: int = 0
    #: A neighbouring shape of another case: run on request only.
    neighbour: bool = False
    #: Buffers start one element behind an address that is aligned to 16 bytes.
    unaligned: bool = False
    #: The time is that of a launch: left out of the mean of ratios.
    launch_bound: bool = False

    def problem(self, quick=False):
        return self.make(**(self.quick if quick else self.sizes))


CASES: List[Case] = []


def add(name, make, sizes, quick, ratio=1.0, neighbours=(), **options):
    """Registers a case, and one more for each of `neighbours`: (suffix, sizes
    that differ, ratio). That of suffix "unaligned" has such buffers."""
    CASES.append(Case(name, make, sizes, {**sizes, **quick}, ratio, **options))
    for suffix, other, at in neighbours:
        CASES.append(Case(f"{name}@{suffix}", make, {**sizes, **other},
                          {**sizes, **quick}, at, neighbour=True,
                          unaligned=suffix == "unaligned", **options))


#: Modules that add cases, in the order of the table.
_MODULES = ("streams", "rows", "norms", "reductions", "layouts", "stencils",
            "optimizers", "small")


def load_cases():
    """All cases, in the order of the table."""
    for name in _MODULES:
        importlib.import_module(f"{__package__}.{name}")
    order = {f"{__package__}.{name}": i for i, name in enumerate(_MODULES)}
    return sorted(CASES, key=lambda case: order[case.make.__module__])
