# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""200 generated graphs of what may stand behind a matrix product: one kernel each, and right.

    python3 epilogues.py --fusec=PATH [--target=cuda|emulator] [--count=N] [--first=SEED] [--small] [--jobs=N]
                         [--together=N] [--seconds=S] [--keep=FOLDER]

A graph is a product of 16-bit or f32 operands in either layout, and behind it two to nine element-wise operators over
row and column vectors, scalars, matrices and values used again, with casts, selections, GELUs, one or two outputs, and
in every third graph reductions of their rows or columns. --together of them are compiled and run by a process, beside
each other in one function (`fusec run --against`, which judges by derived bounds; against the host on a GPU, against
the reference elsewhere); where something is wrong, each by itself. So one that hangs or faults is a finding and the
others go on. Each must be one launch; reductions beside at most 64 rows may be a second one. --small takes sizes that
an emulator runs in a second; after --seconds no further graph starts. Prints a line for each finding and a summary, and
exits with 1 if there is one.
"""
import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from families import Graph, tensor

#: m, n, k: whole tiles of each main loop and parts of them, few rows, short and long sums.
SIZES = [(256, 384, 128), (512, 512, 256), (300, 320, 64), (129, 264, 72), (16, 1024, 256), (1024, 136, 96),
         (65, 96, 512), (2048, 256, 64)]
SMALL = [(33, 40, 24), (17, 72, 16), (64, 64, 32)]
BINARY = ["add", "mul", "sub", "max", "min"]
UNARY = ["relu", "tanh", "logistic", "neg", "abs", "silu", "gelu erf", "gelu tanh"]


class Dag:
    """The graph of one seed, written into `g`."""

    def __init__(self, seed, sizes, g):
        self.random = random.Random(seed)
        self.m, self.n, self.k = self.random.choice(sizes)
        self.reduces = seed % 3 == 2
        # The loops for few rows have no reductions of their own.
        self.launches = 2 if self.reduces and self.m <= 64 else 1
        self.g = g
        self.values = []

    def full(self, element):
        return tensor(self.m, self.n, element)

    def element_of(self, value):
        return self.g.types[value][:-1].rsplit("x", 1)[1]

    def cast(self, value, element):
        if self.element_of(value) == element:
            return value
        return self.g.op("cast", value, to=self.full(element))

    def operand(self, element):
        """A value of full size: one that there is, a matrix, or a vector or number spread over it."""
        kind = self.random.randrange(6)
        if kind >= 4:
            return self.cast(self.random.choice(self.values), element)
        if kind == 3:
            return self.g.argument(self.full(element))
        own = element if self.random.randrange(3) else "f32"
        shape, dims = [((self.n,), "[1]"), ((self.m,), "[0]"), ((), "[]")][kind]
        wide = self.g.op("broadcast", self.g.argument(tensor(*shape, own)), attrs=dims, to=self.full(own))
        return self.cast(wide, element)

    def other(self, value):
        """An operand that is not `value`: max(x, x) is x, and would be folded."""
        while True:
            found = self.operand(self.element_of(value))
            if found != value:
                return found

    def step(self, value):
        kind = self.random.randrange(8)
        if kind < 3:
            return self.g.op(self.random.choice(BINARY), value, self.other(value))
        if kind == 3:
            other = self.other(value)
            mask = self.g.op("compare gt", value, other)
            self.g.types[mask] = self.full("i1")
            chosen = f"%v{len(self.g.lines)}"
            full = self.g.types[value]
            self.g.lines.append(f"  {chosen} = graph.select {mask}, {value}, {other} : {self.full('i1')}, {full}")
            self.g.types[chosen] = full
            return chosen
        if kind == 4:
            return self.cast(value, self.random.choice(["f16", "bf16", "f32"]))
        return self.g.op(self.random.choice(UNARY), value)

    def reduction(self, value):
        """Of rows or columns, at times with something behind it."""
        of_rows = self.random.randrange(2)
        kept = tensor(self.m if of_rows else self.n, self.element_of(value))
        kind = self.random.choice(["max", "min", "sum"])
        result = self.g.op(f"reduce {kind}", value, attrs=f"[{of_rows}]", to=kept)
        return self.g.op(self.random.choice(["abs", "neg", "logistic"]), result) if self.random.randrange(2) else result

    def write(self):
        element = self.random.choice(["f16", "bf16", "f16", "bf16", "f32"])
        turned = self.random.randrange(2)
        a = self.g.argument(tensor(self.m, self.k, element))
        b = self.g.argument(tensor(*((self.n, self.k) if turned else (self.k, self.n)), element))
        product = self.g.op("contract", a, b, attrs=f"batch [] x [] contract [1] x [{turned}]", to=self.full(element))
        self.values.append(product)
        for _ in range(2 + self.random.randrange(8)):
            self.values.append(self.step(self.values[-1 - self.random.randrange(min(3, len(self.values)))]))
        outputs = [self.values[-1]]
        other = self.random.choice(self.values)
        if self.random.randrange(2) and other not in outputs:
            outputs.append(other)
        self.g.out(*outputs)
        if self.reduces:
            for _ in range(1 + self.random.randrange(2)):
                self.g.out(self.reduction(self.random.choice(outputs)))


def judge(options, folder, seeds):
    """What is wrong with the graphs of `seeds` beside each other; None if nothing is."""
    g = Graph()
    dags = [Dag(seed, SMALL if options.small else SIZES, g) for seed in seeds]
    for dag in dags:
        dag.write()
    path = os.path.join(folder, f"epilogue-{'-'.join(map(str, seeds))}.mlir")
    with open(path, "w") as file:
        file.write(g.text("Contraction"))
    against = "host" if options.target == "cuda" else "reference"
    command = [options.fusec, "run", path, f"--target={options.target}", f"--against={against}", f"--seed={seeds[0]}",
               "--json", "--no-tuning-record"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit,
                              env={**os.environ, "FUSEC_CACHE": "off"})
    except subprocess.TimeoutExpired:
        return f"no end within {options.limit} s"
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return (done.stderr or done.stdout or f"code {done.returncode}").strip()[-400:]
    wrong = [f"{out['name']}: {out['message']}" for out in result["against"]["outputs"] if not out["equal"]]
    if wrong or done.returncode:
        return "; ".join(wrong) or f"code {done.returncode}"
    launches = result["fusion"]["launches"]
    return None if launches <= sum(dag.launches for dag in dags) else f"{launches} launches"


def findings_of(options, folder, seeds):
    """[(seed or seeds, what is wrong)]."""
    wrong = judge(options, folder, seeds)
    if not wrong:
        return []
    if len(seeds) == 1:
        return [(seeds[0], wrong)]
    found = [(seed, judge(options, folder, [seed])) for seed in seeds]
    return [one for one in found if one[1]] or [(f"{seeds[0]} to {seeds[-1]} together", wrong)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--target", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--together", type=int, default=8, help="graphs of one process (default 8)")
    parser.add_argument("--limit", type=float, default=60, help="seconds that one process may take")
    parser.add_argument("--seconds", type=float, default=0, help="no graph starts later")
    parser.add_argument("--keep", help="where the graphs are left")
    options = parser.parse_args()
    begin, findings, left = time.time(), 0, 0

    def one(seeds):
        """(findings, graphs that were left out)."""
        if options.seconds and time.time() - begin > options.seconds:
            return [], len(seeds)
        return findings_of(options, options.keep or folder, seeds), 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        seeds = range(options.first, options.first + options.count)
        for found, missing in pool.map(one, [seeds[i:i + options.together]
                                             for i in range(0, options.count, options.together)]):
            left += missing
            findings += len(found)
            for seed, wrong in found:
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{options.count - left} graphs on {options.target}, {findings} findings, {time.time() - begin:.0f} s"
          + (f"; {left} left out" if left else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
