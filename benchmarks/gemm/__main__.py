# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.gemm [CASE...] [--peers torch,cublaslt,compile]

Runs matrix products through fusec, PyTorch and cuBLASLt on the same buffers.
Without a GPU (--target=host or emulator, --quick) cases are only checked.
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
        prog="python3 -m benchmarks.gemm", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_options(parser, "default: all", contenders.NAMES, 0.5,
                        peers_by_default="torch,cublaslt")
    parser.add_argument("--tune", type=float, default=0, metavar="S",
                        help="let fusec time its candidates, cuBLASLt among "
                             "them, for at most S seconds a case")
    parser.add_argument("--no-vendor", action="store_true",
                        help="without cuBLASLt, also with --tune")
    return parser.parse_args(arguments)


def compile_case(case, options, arrays):
    """(problem, fusec, its plain product or None) of a case."""
    problem = case.problem(options.quick)
    how = {"tune": options.tune, "vendor": not options.no_vendor}
    fusec = contenders.Fusec(problem, options.target, arrays, **how)
    plain = None
    if "plain" in case.aims and arrays.name == "cuda":
        plain = contenders.PlainProduct(problem.plain, options.target, arrays,
                                        **how)
    return problem, fusec, plain


def measure_row(row, case, problem, options, arrays, rates, fusec, plain, sets):
    """Times fusec, its own plain product and its peers in turns."""
    from ..common import measure, pairs
    from . import report
    torch, runners = arrays.torch, []

    def prepare(group, label, make):
        entry = row["contenders"].setdefault(label, {})
        entry["group"] = group
        try:
            with measure.time_limit(options.limit):
                runner = measure.Runner(torch, make(), len(sets))
                runner.prepare()
                runner.name = label
                runners.append(runner)
        except Exception as error:  # of other libraries: any
            entry["failed"] = f"{type(error).__name__}: {error}"[:500]
            torch.cuda.synchronize()
    prepare("fusec", "fusec", lambda: fusec)
    if plain:
        plain.bind(sets)
        prepare("plain", "plain", lambda: plain)
    for name in options.peer_names:
        for label, make in contenders.peers(name, problem, sets):
            prepare(name, label, make)
    measure.interleave(runners, options.seconds, pairs.LEAST)
    for runner in runners:
        row["contenders"][runner.name].update(runner.result())
    if "failed" in row["contenders"]["fusec"]:
        row["verdict"] = "failed: " + row["contenders"]["fusec"]["failed"]
    else:
        times = {runner.name: runner.times for runner in runners}
        report.judge(row, case, problem, rates["read"], times)


def run_case(case, options, arrays, rates, compiled):
    """The row of one case; `compiled` gives what compile_case does. What goes
    wrong is in the row."""
    from ..common import measure
    from ..memory import check
    row = {"case": case.name, "contenders": {}}
    try:
        with measure.time_limit(options.limit):
            problem, fusec, plain = compiled()
        row["bytes"], row["flops"] = problem.bytes, problem.flops
        figures = row["contenders"]["fusec"] = {
            "compile_ms": fusec.compile_ms, "launches": fusec.launches,
            "predicted_us": fusec.predicted_us, "choices": fusec.choices}
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
            measure_row(row, case, problem, options, arrays, rates, fusec,
                        plain, sets)
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
    from ..memory import arrays as modules
    arrays, rates, options.peer_names = harness.open_device(
        options, contenders.NAMES, modules)
    if arrays.name == "cuda":
        arrays.torch.backends.cuda.matmul.allow_tf32 = False
    else:
        options.quick = True
    return arrays, rates


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
    chosen = harness.choose(options, cases)
    if chosen is None:
        return 2
    arrays, rates = open_device(options)
    if rates:
        print("copy {copy:.3e} B/s, read {read:.3e} B/s".format(**rates))
    begin, rows = time.perf_counter(), []
    ready = harness.compiled(  # a search has the device alone
        chosen, lambda case: compile_case(case, options, arrays),
        1 if options.tune else options.jobs)
    for case in chosen:
        if options.budget and time.perf_counter() - begin > options.budget:
            print(f"budget is over: {len(chosen) - len(rows)} cases left out",
                  file=sys.stderr)
            break
        # Taken out, so that its memory goes with the case.
        rows.append(run_case(case, options, arrays, rates,
                             ready.pop(case.name)))
        print(f"{case.name}: {rows[-1]['verdict']}", file=sys.stderr,
              flush=True)
        if options.json:
            write(options.json, rows, arrays, rates, begin)
        try:
            harness.clean_up(arrays)
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
