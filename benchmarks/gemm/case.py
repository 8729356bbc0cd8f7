# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a case is: a problem as in benchmarks.memory, its operations and aims.

`formula` is the reference alone; peers run `natives`, the ways in which PyTorch
spells the case, each by itself. torch.compile gets the first of them.
"""

import importlib
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ..memory.case import SIZES, In, Problem, Sample


@dataclass
class Plain:
    """The product of a case alone, as a measure for what stands around it.
    `operands`: the case's inputs that it takes; `reads`: the input that is read
    once more, as by a norm before the product."""
    product: "Product"
    operands: Sequence[int] = (0, 1)
    reads: Optional[int] = None


@dataclass
class Matmul:
    """A plain product in a library's terms: out [m, n] = x . w of types `x`,
    `w`, `out`. `turned`: "a", "b", "ab", as stored the other way round."""
    m: int
    n: int
    k: int
    x: str
    w: str
    out: str
    turned: str = ""
    batch: int = 1
    tf32: bool = False
    fast: bool = False


@dataclass
class Product(Problem):
    """A problem with matrix products. `flops`: multiplications and additions
    of all products. `natives`: [(label, function(torch, *inputs))], with a third
    entry, prepare(torch, *inputs), where a library wants its operands in an
    order of its own: it gives what the function takes, once. `text`: the
    graph as MLIR text where the builder cannot say it; then `graph` is None.
    `matmul`: what cuBLASLt computes of it, from the first two inputs."""
    flops: float = 0
    natives: List[Tuple] = field(default_factory=list)
    text: str = ""
    plain: Optional[Plain] = None
    matmul: Optional[Matmul] = None


@dataclass
class Case:
    """One row. `aims`: {whom: how many times as fast as that fusec is to be}:
    "best", the fastest peer; "library", the fastest of PyTorch and cuBLASLt;
    "compile", the fastest of torch.compile's modes; "plain", fusec's own plain
    product; "read", reading all inputs and writing all outputs at the machine's
    read bandwidth."""
    name: str
    make: Callable[..., Product]
    sizes: Dict[str, object]
    quick: Dict[str, object]
    aims: Dict[str, float]
    neighbour = False

    def problem(self, quick=False):
        return self.make(**{**self.sizes, **(self.quick if quick else {})})


CASES: List[Case] = []


def add(name, make, sizes, quick, **aims):
    """Registers a case; `quick` are the sizes of tests."""
    CASES.append(Case(name, make, sizes, quick, aims))


def size(dtype, *shape):
    """Bytes of a tensor."""
    count = SIZES[dtype]
    for n in shape:
        count *= n
    return count


def as_double(x):
    """Integers of a reference as float64, which a number would not make of
    PyTorch's."""
    return x.double() if hasattr(x, "double") else x.astype(float)


def load_cases():
    """All cases, in the order of the table."""
    for name in ("products", "epilogues", "few_rows", "float8", "integers"):
        importlib.import_module(f"{__package__}.{name}")
    return CASES


__all__ = ["CASES", "Case", "In", "Matmul", "Plain", "Product", "Sample", "add",
           "as_double", "load_cases", "size"]
