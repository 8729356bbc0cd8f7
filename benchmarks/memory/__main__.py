# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.memory [CASE...] [--quick] [--peers torch,compile,jax]

Runs memory-bound kernels through fusec and through others on the same buffers.
Without a GPU (--target=host or emulator) cases are only checked.
"""

import argparse
import json
import os
import sys
import time
import traceback

from ..common import harness
from . import contenders


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.memory", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_options(parser, "default: all but neighbours; '*@*' are the "
                        "neighbouring shapes", contenders.NAMES, 0.6)
    parser.add_argument("--svg", metavar="F", help="roofline picture")
    parser.add_argument("--exact", action="store_true",
                        help="fusec rounds after every operator")
    parser.add_argument("--cache", action="store_true",
                        help="keep fusec's kernels on disk; compile times are "
                             "then those of a later run")
    return parser.parse_args(arguments)


def compile_case(case, quick, options, arrays):
    """(problem, fusec) of a case."""
    problem = case.problem(quick)
    return problem, contenders.Fusec(problem, options.target, arrays,
                                     options.exact)


def run_case(case, options, arrays, bandwidth, peers, compiled):
    """The row of one case; `compiled` gives what compile_case does. What goes
    wrong is in the row."""
    from ..common import measure
    from . import check, report
    quick = options.quick or bandwidth is None
    row = {"case": case.name, "contenders": {}}
    try:
        with measure.time_limit(options.limit):
            problem, fusec = compiled()
        row["bytes"] = problem.bytes
        if bandwidth:
            rate = bandwidth["read" if case.reads_only else "copy"]
            row["floor_us"] = 1e6 * problem.bytes / rate
        figures = row["contenders"]["fusec"] = {
            "compile_ms": fusec.compile_ms, "launches": fusec.launches,
            "predicted_us": fusec.predicted_us}
        count = 1 if quick else measure.set_count(problem.bytes)
        place = arrays.unaligned if case.unaligned else lambda x: x
        sets = [([place(arrays.make(x)) for x in problem.inputs],
                 [place(x) for x in fusec.outputs()]) for _ in range(count)]
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


def open_device(options):
    """(arrays, bandwidths or None, names of peers)."""
    from . import arrays as modules
    arrays, rates, peers = harness.open_device(options, contenders.NAMES,
                                               modules)
    if "jax" in peers:
        try:
            import jax  # noqa: F401
        except ImportError:
            print("JAX is not installed: left out", file=sys.stderr)
            peers.remove("jax")
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
    chosen = harness.choose(options, cases)
    if chosen is None:
        return 2
    arrays, bandwidth, peers = open_device(options)
    if bandwidth:
        print("copy {copy:.3e} B/s, read {read:.3e} B/s".format(**bandwidth))
    begin, rows = time.perf_counter(), []
    quick = options.quick or bandwidth is None
    ready = harness.compiled(
        chosen, lambda case: compile_case(case, quick, options, arrays),
        options.jobs)
    for case in chosen:
        if options.budget and time.perf_counter() - begin > options.budget:
            print(f"budget is over: {len(chosen) - len(rows)} cases left out",
                  file=sys.stderr)
            break
        # Taken out, so that its memory goes with the case.
        row = run_case(case, options, arrays, bandwidth, peers,
                       ready.pop(case.name))
        rows.append(row)
        print(f"{case.name}: {row['verdict']}", file=sys.stderr, flush=True)
        if options.json:
            write(options.json, rows, chosen, arrays, bandwidth, begin)
        try:
            harness.clean_up(arrays)
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
