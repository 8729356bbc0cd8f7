# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.gemm [CASE...] [--peers torch,compile] [--seconds S]

Runs matrix products through fusec and through PyTorch on the same buffers.
Without a GPU (--target=host or emulator, --quick) cases are only checked.
"""

import argparse
import json
import os
import sys
import time
import traceback

from ..memory.__main__ import choose, clean_up


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.gemm", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="names or patterns (default: all)")
    parser.add_argument("--target", default="cuda",
                        choices=["cuda", "host", "emulator", "reference"])
    parser.add_argument("--quick", action="store_true",
                        help="small shapes: checks only, no times")
    parser.add_argument("--peers", default="torch", metavar="A,B",
                        help="torch, compile, autotune or none (default: torch)")
    parser.add_argument("--json", metavar="F", help="all figures")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="time of measuring a case (default 0.5)")
    parser.add_argument("--limit", type=float, default=40,
                        help="seconds that one contender may take to get ready "
                             "for a case (default 40)")
    parser.add_argument("--budget", type=float, default=0,
                        help="seconds after which no further case starts")
    parser.add_argument("--shard", default="0/1", metavar="I/N",
                        help="every N-th case from the I-th on")
    parser.add_argument("--seed", type=int, default=None,
                        help="of the inputs (default: another one each run)")
    parser.add_argument("--list", action="store_true", help="names and exit")
    return parser.parse_args(arguments)


def measure_row(row, case, problem, options, arrays, rates, fusec, sets):
    """Times fusec and its peers in turns."""
    from ..common import measure
    from . import contenders, report
    torch, runners = arrays.torch, []

    def prepare(name, contender):
        try:
            with measure.time_limit(options.limit):
                runner = measure.Runner(torch, contender, len(sets))
                runner.prepare()
                runner.name = name
                runners.append(runner)
                row["contenders"].setdefault(name, {})
        except Exception as error:  # of other libraries: any
            row["contenders"].setdefault(name, {})["failed"] = (
                f"{type(error).__name__}: {error}"[:500])
            torch.cuda.synchronize()
    prepare("fusec", fusec)
    for name in options.peer_names:
        for label, contender in contenders.peers(name, problem, sets):
            prepare(label, contender)
    measure.interleave(runners, options.seconds)
    for runner in runners:
        row["contenders"][runner.name].update(runner.result())
    if "failed" in row["contenders"]["fusec"]:
        row["verdict"] = "failed: " + row["contenders"]["fusec"]["failed"]
    else:
        report.judge(row, case, problem, rates["read"])


def run_case(case, options, arrays, rates):
    """The row of one case. What goes wrong is in it."""
    from ..common import measure
    from ..memory import check
    from . import contenders
    row = {"case": case.name, "contenders": {}, "aim": case.aim,
           "aim_bandwidth": case.bandwidth}
    try:
        problem = case.problem(options.quick)
        row["bytes"], row["flops"] = problem.bytes, problem.flops
        with measure.time_limit(options.limit):
            fusec = contenders.Fusec(problem, options.target, arrays)
        figures = row["contenders"]["fusec"] = {
            "compile_ms": fusec.compile_ms, "launches": fusec.launches,
            "predicted_us": fusec.predicted_us}
        count = 1 if not rates else measure.set_count(problem.bytes)
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
        row["verdict"] = "right"
        if rates:
            measure_row(row, case, problem, options, arrays, rates, fusec, sets)
    except check.Mismatch as error:
        row["verdict"] = f"wrong: {error}"
    except ImportError as error:
        row["verdict"] = f"skipped: {error}"
    except Exception as error:  # one case must not end the run
        row["verdict"] = f"failed: {type(error).__name__}: {error}"[:300]
        row["trace"] = traceback.format_exc()
    return row


def open_device(options):
    """(arrays, bandwidths or None)."""
    try:
        import fusec  # noqa: F401
    except (ImportError, OSError) as error:
        raise SystemExit(f"fusec's Python module: {error} (PYTHONPATH names "
                         "its folder, FUSEC_LIBRARY the library)")
    from ..common import measure
    from ..memory import arrays as modules
    from . import contenders
    seed = (options.seed if options.seed is not None
            else int.from_bytes(os.urandom(4), "little"))
    options.peer_names = [p for p in options.peers.split(",")
                          if p and p != "none"]
    for name in options.peer_names:
        if name not in contenders.NAMES:
            raise SystemExit(f"unknown peer {name!r}: expected "
                             f"{', '.join(contenders.NAMES)} or none")
    if options.target != "cuda":
        options.quick = True
        try:
            return modules.NumpyArrays(seed), None
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
    torch.backends.cuda.matmul.allow_tf32 = False
    return (modules.TorchArrays(seed),
            None if options.quick else measure.bandwidths(torch))


def write(path, rows, arrays, rates, begin):
    """The JSON so far; a run that is stopped leaves what it had."""
    from . import report
    data = {"rows": rows, "summary": report.summary(rows), "bandwidth": rates,
            "seconds": time.perf_counter() - begin}
    if arrays.name == "cuda":
        data["device"] = arrays.torch.cuda.get_device_name()
        data["torch"] = arrays.torch.__version__
    with open(path, "w") as file:
        json.dump(data, file, indent=1)


def main(arguments=None):
    options = parse(arguments)
    os.environ.setdefault("FUSEC_CACHE", "off")
    from . import report
    from .case import load_cases
    cases = load_cases()
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    chosen = choose(options, cases)
    if chosen is None:
        return 2
    arrays, rates = open_device(options)
    if rates:
        print("copy {copy:.3e} B/s, read {read:.3e} B/s".format(**rates))
    begin, rows = time.perf_counter(), []
    for case in chosen:
        if options.budget and time.perf_counter() - begin > options.budget:
            print(f"budget is over: {len(chosen) - len(rows)} cases left out",
                  file=sys.stderr)
            break
        rows.append(run_case(case, options, arrays, rates))
        print(f"{case.name}: {rows[-1]['verdict']}", file=sys.stderr,
              flush=True)
        if options.json:
            write(options.json, rows, arrays, rates, begin)
        try:
            clean_up(arrays)
        except RuntimeError as error:
            print(f"the device is lost: {error}", file=sys.stderr)
            break
    print(report.table(rows))
    print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                    for k, v in report.summary(rows).items()))
    for row in rows:
        for name, entry in row["contenders"].items():
            if "failed" in entry:
                print(f"{row['case']}: {name}: {entry['failed']}")
    bad = [r for r in rows if r["verdict"].startswith(("wrong", "failed"))]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
