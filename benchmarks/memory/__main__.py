# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.memory [CASE...] [--quick] [--peers torch,compile,jax]

Runs memory-bound kernels through fusec and through others on the same buffers.
Without a GPU (--target=host or emulator) cases are only checked.
"""

import argparse
import fnmatch
import gc
import json
import os
import sys
import time
import traceback


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.memory", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="names or patterns (default: all but neighbours; "
                             "'*@*' are the neighbouring shapes)")
    parser.add_argument("--target", default="cuda",
                        choices=["cuda", "host", "emulator", "reference"])
    parser.add_argument("--quick", action="store_true",
                        help="small shapes: checks only, no times")
    parser.add_argument("--peers", default="torch", metavar="A,B",
                        help="torch, compile, autotune, jax, optim, or none "
                             "(default: torch)")
    parser.add_argument("--json", metavar="F", help="all figures")
    parser.add_argument("--svg", metavar="F", help="roofline picture")
    parser.add_argument("--seconds", type=float, default=0.6,
                        help="time of measuring a case (default 0.6)")
    parser.add_argument("--limit", type=float, default=40,
                        help="seconds that one contender may take to get ready "
                             "for a case (default 40)")
    parser.add_argument("--budget", type=float, default=0,
                        help="seconds after which no further case starts")
    parser.add_argument("--shard", default="0/1", metavar="I/N",
                        help="every N-th case from the I-th on")
    parser.add_argument("--seed", type=int, default=None,
                        help="of the inputs (default: another one each run)")
    parser.add_argument("--exact", action="store_true",
                        help="fusec rounds after every operator")
    parser.add_argument("--cache", action="store_true",
                        help="keep fusec's kernels on disk; compile times are "
                             "then those of a later run")
    parser.add_argument("--list", action="store_true", help="names and exit")
    return parser.parse_args(arguments)


def choose(options, cases):
    """The cases that the names stand for, in order; None if one stands for
    nothing."""
    if not options.cases:
        chosen = [c for c in cases if not c.neighbour]
    else:
        chosen = []
        for pattern in options.cases:
            found = [c for c in cases if fnmatch.fnmatchcase(c.name, pattern)]
            if not found:
                print(f"no case is named {pattern!r}: see --list",
                      file=sys.stderr)
                return None
            chosen += [c for c in found if c not in chosen]
    first, count = (int(n) for n in options.shard.split("/"))
    return chosen[first::count]


def run_case(case, options, arrays, bandwidth, peers):
    """The row of one case. What goes wrong is in it."""
    from ..common import measure
    from . import check, contenders, report
    quick = options.quick or bandwidth is None
    row = {"case": case.name, "contenders": {}}
    try:
        problem = case.problem(quick)
        row["bytes"] = problem.bytes
        if bandwidth:
            rate = bandwidth["read" if case.reads_only else "copy"]
            row["floor_us"] = 1e6 * problem.bytes / rate
        with measure.time_limit(options.limit):
            fusec = contenders.Fusec(problem, options.target, arrays,
                                     options.exact)
        figures = row["contenders"]["fusec"] = {
            "compile_ms": fusec.compile_ms, "launches": fusec.launches,
            "predicted_us": fusec.predicted_us}
        count = 1 if quick else measure.set_count(problem.bytes)
        sets = [([arrays.make(x) for x in problem.inputs], fusec.outputs())
                for _ in range(count)]
        fusec.bind(sets)
        start = time.perf_counter()
        fusec.step(0)
        fusec.program.synchronize()
        figures["first_run_ms"] = 1e3 * (time.perf_counter() - start)
        figures["kernels"] = fusec.kernels()
        row["error"] = check.check(problem, arrays, fusec.program.outputs,
                                   *sets[0])
        if quick:
            row["verdict"] = "right"
            return row
        torch = arrays.torch
        runners = []
        for name in ["fusec", *peers]:
            try:
                with measure.time_limit(options.limit):
                    start = time.perf_counter()
                    contender = (fusec if name == "fusec" else
                                 contenders.make_peer(name, problem, sets))
                    if contender is None:
                        continue
                    runner = measure.Runner(torch, contender, count)
                    runner.prepare()
                    runner.name = name
                    runners.append(runner)
                    entry = row["contenders"].setdefault(name, {})
                    entry["prepare_s"] = time.perf_counter() - start
            except Exception as error:  # of other libraries: any
                row["contenders"].setdefault(name, {})["failed"] = (
                    f"{type(error).__name__}: {error}"[:500])
                torch.cuda.synchronize()
        measure.interleave(runners, options.seconds)
        for runner in runners:
            row["contenders"][runner.name].update(runner.result())
        report.judge(row, case)
        if "failed" in figures:
            row["verdict"] = "failed: " + figures["failed"]
    except check.Mismatch as error:
        row["verdict"] = f"wrong: {error}"
    except ImportError as error:
        row["verdict"] = f"skipped: {error}"
    except Exception as error:  # one case must not end the run
        row["verdict"] = f"failed: {type(error).__name__}: {error}"[:300]
        row["trace"] = traceback.format_exc()
    return row


def clean_up(arrays):
    """Gives a case's memory back to the device."""
    gc.collect()
    if arrays.name == "cuda":
        arrays.torch.cuda.synchronize()
        arrays.torch.cuda.empty_cache()


def open_device(options):
    """(arrays, bandwidths or None, names of peers)."""
    try:
        import fusec  # noqa: F401
    except (ImportError, OSError) as error:
        raise SystemExit(f"fusec's Python module: {error} (PYTHONPATH names "
                         "its folder, FUSEC_LIBRARY the library)")
    from ..common import measure
    from . import arrays as modules
    from . import contenders
    seed = (options.seed if options.seed is not None
            else int.from_bytes(os.urandom(4), "little"))
    peers = [p for p in options.peers.split(",") if p and p != "none"]
    unknown = [p for p in peers if p not in contenders.NAMES]
    if unknown:
        raise SystemExit(f"unknown peer {unknown[0]!r}: expected "
                         f"{', '.join(contenders.NAMES)} or none")
    if options.target != "cuda":
        try:
            return modules.NumpyArrays(seed), None, []
        except ImportError as error:
            print(f"skipped: {error}", file=sys.stderr)
            raise SystemExit(77)  # "skipped" for test runners
    try:
        import torch
    except ImportError:
        raise SystemExit("--target=cuda needs PyTorch for its buffers; "
                         "--target=host checks the cases without it")
    if not torch.cuda.is_available():
        raise SystemExit("no GPU that PyTorch can use; --target=host checks "
                         "the cases on the CPU")
    if "jax" in peers:
        try:
            import jax  # noqa: F401
        except ImportError:
            print("JAX is not installed: left out", file=sys.stderr)
            peers.remove("jax")
    arrays = modules.TorchArrays(seed)
    rates = None if options.quick else measure.bandwidths(torch)
    return arrays, rates, peers


def main(arguments=None):
    options = parse(arguments)
    # Compile times are those of NVRTC, not of a disk; JAX shares the memory.
    if not options.cache:
        os.environ.setdefault("FUSEC_CACHE", "off")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    from . import report
    from .case import load_cases
    cases = load_cases()
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    chosen = choose(options, cases)
    if chosen is None:
        return 2
    arrays, bandwidth, peers = open_device(options)
    if bandwidth:
        print("copy {copy:.3e} B/s, read {read:.3e} B/s".format(**bandwidth))
    begin, rows = time.perf_counter(), []
    for case in chosen:
        if options.budget and time.perf_counter() - begin > options.budget:
            print(f"budget is over: {len(chosen) - len(rows)} cases left out",
                  file=sys.stderr)
            break
        row = run_case(case, options, arrays, bandwidth, peers)
        rows.append(row)
        print(f"{case.name}: {row['verdict']}", file=sys.stderr, flush=True)
        if options.json:
            write(options.json, rows, chosen, arrays, bandwidth, begin)
        try:
            clean_up(arrays)
        except RuntimeError as error:
            print(f"the device is lost: {error}", file=sys.stderr)
            break
    print(report.table(rows, peers))
    figures = report.summary(rows, chosen)
    print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                    for k, v in figures.items()))
    for row in rows:
        for name, entry in row["contenders"].items():
            if "failed" in entry:
                print(f"{row['case']}: {name}: {entry['failed']}")
    if options.svg and bandwidth:
        with open(options.svg, "w") as file:
            file.write(report.roofline(rows, bandwidth))
    bad = [r for r in rows if r["verdict"].startswith(("wrong", "failed"))]
    return 1 if bad else 0


def write(path, rows, chosen, arrays, bandwidth, begin):
    """The JSON so far; a run that is stopped leaves what it had."""
    from . import report
    data = {"rows": rows, "summary": report.summary(rows, chosen),
            "bandwidth": bandwidth, "seconds": time.perf_counter() - begin}
    if arrays.name == "cuda":
        torch = arrays.torch
        data["device"] = torch.cuda.get_device_name()
        data["torch"] = torch.__version__
    with open(path, "w") as file:
        json.dump(data, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
