# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a case is: a problem as in benchmarks.memory, its operations and aim.

`formula` is the reference alone; peers run `natives`, the ways in which PyTorch
spells the case, each by itself. torch.compile gets the first of them.
"""

import importlib
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Tuple

from ..memory.case import SIZES, In, Problem, Sample


@dataclass
class Product(Problem):
    """A problem with matrix products. `flops`: multiplications and additions
    of all products. `natives`: [(label, function(torch, *inputs))]. `text`: the
    graph as MLIR text where the builder cannot say it; then `graph` is None.
    `read_bytes`: of `bytes`, those of the largest operand, which bound the case
    where it has few rows (0: it is bound by arithmetic)."""
    flops: float = 0
    natives: List[Tuple[str, Callable]] = field(default_factory=list)
    text: str = ""
    read_bytes: int = 0


@dataclass
class Case:
    """One row: fusec is to be `aim` times as fast as the best peer, and, for
    cases of few rows, to read at `bandwidth` of the machine's."""
    name: str
    make: Callable[..., Product]
    sizes: Dict[str, object]
    quick: Dict[str, object]
    aim: float = 1.0
    bandwidth: float = 0.0
    neighbour = False

    def problem(self, quick=False):
        return self.make(**{**self.sizes, **(self.quick if quick else {})})


CASES: List[Case] = []


def add(name, make, sizes, quick, aim=1.0, bandwidth=0.0):
    """Registers a case; `quick` are the sizes of tests."""
    CASES.append(Case(name, make, sizes, quick, aim, bandwidth))


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
    for name in ("products", "epilogues", "few_rows", "float8"):
        importlib.import_module(f"{__package__}.{name}")
    return CASES


__all__ = ["CASES", "Case", "In", "Product", "Sample", "add", "as_double",
           "load_cases", "size"]
