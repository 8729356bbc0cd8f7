# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.nets [NAME...] [--peers eager,compile,graphs,jax]

Runs whole networks through fusec, PyTorch and JAX on the same weights and
inputs. --check compares small ones on the CPU instead, without times.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

from ..common import peer_cache


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.nets", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="cases, patterns of their names, or networks "
                             "(minilm, vit, ...); default: all but big ones")
    parser.add_argument("--big", action="store_true",
                        help="big cases too")
    parser.add_argument("--batch", type=int, metavar="N",
                        help="instead of the case's")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"],
                        help="instead of the case's")
    parser.add_argument("--peers", default="eager,compile,graphs,jax",
                        metavar="A,B", help="of eager, compile, graphs, "
                        "autotune, jax; or none (default: all but autotune)")
    parser.add_argument("--no-unfused", action="store_true",
                        help="leave out fusec with fusion off")
    parser.add_argument("--kernels", action="store_true",
                        help="trace fusec's kernels and those of compile and "
                             "autotune (of eager without them), and list them "
                             "side by side")
    parser.add_argument("--models", metavar="DIR",
                        help="where the ONNX files of cases are, or are put "
                             "if they are not there (default: a new folder)")
    parser.add_argument("--write", action="store_true",
                        help="write the files to --models and exit")
    parser.add_argument("--ppocr", metavar="FILE",
                        help="the ONNX file of PP-OCRv4 cls")
    parser.add_argument("--json", metavar="FILE", help="all figures")
    parser.add_argument("--peer-cache", default=peer_cache.default_root(),
                        metavar="DIR", help="where torch.compile and JAX keep "
                        "what they compiled and chose, by version; off: each "
                        "where it does by itself (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=150, metavar="S",
                        help="seconds that one contender may take to load, "
                             "and again to compile (default 150)")
    parser.add_argument("--budget", type=float, default=0, metavar="S",
                        help="seconds after which nothing more is compiled")
    parser.add_argument("--seconds", type=float, default=3, metavar="S",
                        help="time of measuring a case (default 3)")
    parser.add_argument("--together", type=int, default=6, metavar="N",
                        help="cases whose contenders compile at the same time "
                             "(default 6; they share the device's memory)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        metavar="N", help="processes that load or compile at "
                        "the same time (default: cores)")
    parser.add_argument("--target", default="cuda",
                        choices=["cuda", "host"],
                        help="host: everything on the CPU")
    parser.add_argument("--check", action="store_true",
                        help="compare small networks on the CPU")
    parser.add_argument("--tiny", action="store_true",
                        help="the networks of --check, with times")
    parser.add_argument("--seed", type=int, default=None,
                        help="of the inputs (default: another one each run)")
    parser.add_argument("--list", action="store_true", help="names and exit")
    options = parser.parse_args(arguments)
    options.peers = [p for p in options.peers.split(",") if p and p != "none"]
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "little")
    return options


def say(*parts, end="\n"):
    print(*parts, file=sys.stderr, flush=True, end=end)


class Run:
    """One run of the benchmark. Contenders have a process for each case; all
    load and compile at the same time, but time kernels one at a time (turns.py);
    measuring has the device alone."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.begin = time.monotonic()
        self.kinds = ["reference", "fusec", *(
            [] if options.no_unfused else ["unfused"]), *options.peers]
        self.versions = {}
        #: Seconds that a step of a contender that is ready may take.
        self.limit = min(60, options.time_limit)
        #: The memory format that eager found the best, by case.
        self.formats = {}

    def seconds(self):
        return time.monotonic() - self.begin

    def over(self):
        budget = self.options.budget
        return budget and self.seconds() > budget

    def start(self, case, path):
        """The row of a case, with its processes under "workers"."""
        from . import pool
        # A search has many kernels to compile.
        cores = os.cpu_count() or 1
        workers = {kind: pool.Worker(
            kind, case, path, self.options, self.folder,
            max(1, cores // (2 if kind == "autotune" else 4)))
            for kind in self.kinds}
        return {"case": case.name, "dtype": case.dtype, "contenders": {},
                "workers": workers}

    def step(self, act, worker):
        """Runs a step of a worker; its failure is kept in it."""
        from . import pool
        if not worker.alive:
            return
        try:
            act(worker)
        except pool.Failure as failure:
            say(f"  {worker.case.name}: {worker.kind}: {failure}")
        if worker.kind == "eager":
            self.formats[worker.case.name] = worker.facts.get("format")

    def all(self, workers, act, jobs):
        """A step of many workers, of those that come before the budget is
        over."""
        def one(worker):
            if self.over():
                worker.leave_out("the budget of time is over")
            self.step(act, worker)
        with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as executor:
            list(executor.map(one, workers))

    def prepare(self, rows):
        """Loads and compiles everything of a group of cases."""
        options, limit = self.options, self.options.time_limit
        workers = [w for row in rows for w in row["workers"].values()]
        self.all(workers, lambda w: w.load(limit), options.jobs)
        for worker in workers:
            self.versions.update(worker.facts.pop("versions", {}))
        say(f"  {self.seconds():.0f} s: loaded")

        def build(kinds):
            chosen = [row["workers"][kind] for kind in kinds for row in rows
                      if kind in row["workers"]]
            if chosen:
                self.all(chosen, lambda w: w.build(
                    limit, self.formats.get(w.case.name)), options.jobs)
                say(f"  {self.seconds():.0f} s: compiled {', '.join(kinds)}")
        build(["eager"])  # others take its memory format
        first = [k for k in ("fusec", "autotune", "compile", "graphs", "jax")
                 if k in self.kinds]
        build(first + [k for k in self.kinds if k not in (*first, "eager")])

    def outputs(self, row):
        """Compares outputs, all at the same time. The reference's process ends
        with this."""
        import numpy as np

        from . import check
        workers = row["workers"]
        paths = {kind: self.folder / f"{row['case']}.{kind}.npy"
                 for kind in workers}

        def put(kind):
            self.step(lambda w: w.ask("output", self.limit,
                                      path=str(paths[kind])), workers[kind])

        def compare(kind):
            worker = workers[kind]
            if kind == "reference" or not worker.alive:
                return
            try:
                worker.facts.update(check.judge(np.load(paths[kind]), expected,
                                                row["dtype"]))
            except ValueError as error:
                worker.facts["wrong"] = str(error)
        with concurrent.futures.ThreadPoolExecutor(len(workers)) as executor:
            list(executor.map(put, workers))
            if workers["reference"].alive:
                expected = np.load(paths["reference"])
                list(executor.map(compare, workers))
        workers["reference"].close()
        for path in paths.values():
            path.unlink(missing_ok=True)

    def measure(self, row):
        """Times of a case, in turns."""
        from ..common import measure
        from . import pool
        workers = [w for kind, w in row["workers"].items()
                   if kind != "reference"]
        row_us = 8000.0 if self.options.target == "cuda" else 100000.0
        for worker in workers:
            self.step(lambda w: w.facts.update(w.ask(
                "runner", self.limit, row_us=row_us)), worker)
        while True:
            running = [w for w in workers if w.alive]
            for worker in running:
                worker.times.clear()
            try:
                measure.interleave(running, self.options.seconds)
                break
            except pool.Failure as failure:  # again, without that one
                say(f"  {row['case']}: {failure}")
        for worker in running:
            worker.facts.update(measure.summary(worker.times))

    def trace(self, row):
        """The kernels of fusec beside those of torch.compile's modes, or of
        eager PyTorch without them."""
        from . import kernels
        workers, found = row["workers"], {}

        def ask(kind):
            if kind in workers:
                self.step(lambda w: found.update({kind: w.ask(
                    "kernels", self.limit)}), workers[kind])
        for kind in ("fusec", "compile", "autotune"):
            ask(kind)
        if len(found) < 2:
            ask("eager")
        row["traces"] = {kind: one["trace"] for kind, one in found.items()}
        row["kernels"], row["kernels_failed"] = {}, {}
        ours = found.pop("fusec", None)
        for kind, one in found.items() if ours else ():
            try:
                row["kernels"][kind] = kernels.beside(
                    ours["plan"], ours["trace"], one["trace"])
            except ValueError as error:
                row["kernels_failed"][kind] = str(error)

    def finish(self, row):
        from . import report
        try:
            self.outputs(row)
            say(f"  {self.seconds():.0f} s: {row['case']}: compared")
            self.measure(row)
            if self.options.kernels and self.options.target == "cuda":
                self.trace(row)
        except Exception as error:  # of one network must not end the others
            say(f"  {row['case']}: {type(error).__name__}: {error}")
        for kind, worker in row.pop("workers").items():
            worker.close()
            facts = worker.facts
            if worker.failed:
                facts["failed"] = worker.failed
            row["contenders"][kind] = facts
        report.judge(row, self.options.peers)
        say(f"  {report.line(row)} ({self.seconds():.0f} s)")
        say(report.kernels([row]), end="")

    def files(self, cases, models):
        """Writes networks and inputs, each as a job of its own."""
        from .contenders import SETS
        with concurrent.futures.ThreadPoolExecutor(
                max(1, self.options.jobs)) as executor:
            jobs = [executor.submit(case.locate, models) for case in cases]
            jobs += [executor.submit(case.store, self.folder, i,
                                     self.options.seed)
                     for case in cases for i in range(SETS)]
            for job in jobs:
                job.result()
        say(f"  {self.seconds():.0f} s: files are there")

    def group(self, cases, models):
        """Rows of cases that are prepared together, one by one."""
        say(f"{', '.join(c.name for c in cases)}")
        rows = []
        try:
            # Processes import their libraries meanwhile.
            rows = [self.start(case, case.where(models)) for case in cases]
            self.files(cases, models)
            self.prepare(rows)
            for row in rows:
                self.finish(row)
                yield row
        finally:
            for row in rows:
                for worker in row.get("workers", {}).values():
                    worker.kill()

    def write(self, rows):
        """The JSON so far."""
        from . import report
        if not self.options.json:
            return
        data = {"rows": rows, "versions": self.versions,
                "summary": report.summary(rows, self.options.peers),
                "seconds": self.seconds(), "seed": self.options.seed,
                "target": self.options.target, "tf32": False}
        with open(self.options.json, "w") as file:
            json.dump(data, file, indent=1)


def run(options, chosen, folder):
    from . import report
    models = options.models or folder
    this = Run(options, folder)
    rows = []
    for at in range(0, len(chosen), max(1, options.together)):
        if this.over():
            say(f"the budget is over: {len(chosen) - at} cases left out")
            break
        for row in this.group(chosen[at:at + max(1, options.together)], models):
            rows.append(row)
            this.write(rows)
    print(", ".join([*(f"{k} {v}" for k, v in sorted(this.versions.items())),
                     "TF32 off"]))
    print(report.table(rows, options.peers))
    print(report.details(rows))
    print(report.kernels(rows), end="")
    print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                    for k, v in report.summary(rows, options.peers).items()))
    this.write(rows)
    return 1 if any(r["verdict"].startswith(("wrong", "failed"))
                    for r in rows) else 0


def main(arguments=None):
    options = parse(arguments)
    try:
        from . import cases, contenders
    except ImportError as error:
        say(f"skipped: {error}")
        return 77  # "skipped" for test runners
    if options.list:
        for case in cases.CASES:
            print(f"{case.name}{' (big)' if case.big else ''}")
        return 0
    unknown = [p for p in options.peers if p not in contenders.PEERS]
    if unknown:
        say(f"unknown peer {unknown[0]!r}: expected "
            f"{', '.join(contenders.PEERS)} or none")
        return 2
    tiny = options.check or options.tiny
    try:
        chosen = cases.choose(options.names, options.big, options.batch,
                              options.dtype, options.ppocr, tiny)
    except ValueError as error:
        say(error)
        return 2
    missing = [c for c in chosen if c.net == "ppocr" and not c.path]
    for case in missing:
        say(f"{case.name}: left out: it needs --ppocr FILE")
        chosen.remove(case)
    if options.write:
        if not options.models:
            say("--write needs --models DIR")
            return 2
        for case in chosen:
            print(case.locate(options.models))
        return 0
    try:
        import fusec  # noqa: F401
    except (ImportError, OSError) as error:
        say(f"fusec's Python module: {error} (PYTHONPATH names its folder, "
            "FUSEC_LIBRARY the library)")
        return 2
    if options.check:
        from . import check
        return 1 if check.check_all(chosen, "host", options.seed,
                                    options.peers) else 0
    if options.target == "host":
        options.peers = [p for p in options.peers
                         if p not in ("graphs", "autotune")]
    peer_cache.use(options.peer_cache)
    from . import pool

    def stop(number, frame):
        pool.stop_all()
        sys.exit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with tempfile.TemporaryDirectory(prefix="fusec-nets-") as folder:
        return run(options, chosen, folder)


if __name__ == "__main__":
    sys.exit(main())
