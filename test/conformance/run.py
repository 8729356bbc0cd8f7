#!/usr/bin/env python3
# run.py - runs the ONNX conformance suites and holds them to their tables.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every case of the ONNX conformance suites and compares with the tables.

A suite is a folder of cases in the layout of ONNX's backend tests. Its table,
SUITE.txt beside this file, has one line for each case:

    CASE: right
    CASE: refused: CLASS                   (fusec cannot do it)
    CASE: malformed: CLASS                 (fusec takes it for inconsistent)
    CASE: right; TARGET refused: CLASS     (the other targets are right)
    CASE: doubtful: WHY                    (from doubtful.txt, not run)

Wrong results, crashes and cases past the time limit have no place in a table:
they fail, and so does every other difference, better or worse. `--update`
writes the tables anew for a person to review. tolerances.txt names cases that
need another tolerance than that of ONNX's own tests (1e-3 relative, 1e-7
absolute), and why. emulator.txt is a table of a sample for the emulator;
`--update --sample N` picks one of N cases.
"""

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN = pathlib.Path("/usr/share/libonnx-testdata/data/node")
SUITES = ("debian_node", "onnx_node", "golden_ort", "golden_burn", "contrib")
TARGETS = ("reference", "host")
BATCH = 32  # cases per process


# ---------------------------------------------------------------------------
# Suites
# ---------------------------------------------------------------------------


def suite_folder(name, scratch):
    """The folder of a suite, unpacked at its first use; None if it is missing."""
    if name == "debian_node":
        return DEBIAN if DEBIAN.is_dir() else None
    archive = HERE / "suites" / f"{name}.tar.xz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    folder = scratch / f"{name}-{digest}"
    if not folder.is_dir():
        partial = scratch / f"{name}-{digest}.{os.getpid()}"
        partial.mkdir(parents=True)
        with tarfile.open(archive) as tar:
            tar.extractall(partial)
        try:
            partial.rename(folder)
        except OSError:
            pass  # another run was faster
    (inside,) = folder.iterdir()
    return inside


def cases_of(folder):
    """The names of a suite's cases: folders with a model, relative to it."""
    return sorted(
        str(path.parent.relative_to(folder)) for path in folder.rglob("model.onnx")
    )


def sets_of(case):
    return sum(1 for path in case.iterdir() if path.name.startswith("test_data_set_"))


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


def worst(outcomes):
    """One outcome of several data sets: the first that is not PASS."""
    return next((o for o in outcomes if o[0] != "PASS"), outcomes[0])


def run_cases(options, target, tolerance, cases):
    """{case folder: (word, message)} by one run of `fusec verify`, which keeps
    crashes and hangs to the case that has them."""
    command = [options.fusec, "verify", f"--target={target}", "--fuse=on", "--json"]
    command += [f"--rtol={tolerance[0]}", f"--atol={tolerance[1]}"]
    command += [f"--timeout={options.limit}"] + [str(case) for case in cases]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    try:
        rows = json.loads(run.stdout)["cases"]
    except ValueError:
        return {case: ("CRASH", f"fusec exits with {run.returncode}") for case in cases}
    results = {}
    for case in cases:
        outcomes = []
        while (
            rows
            and len(outcomes) < max(1, sets_of(case))
            and rows[0]["name"].split("/test_data_set_")[0] == case.name
        ):
            row = rows.pop(0)
            malformed = row["outcome"] == "ERROR" and row["code"] == 2
            word = "MALFORMED" if malformed else row["outcome"]
            outcomes.append((word, row["message"]))
        results[case] = worst(outcomes) if outcomes else ("CRASH", "no outcome")
    return results


# ---------------------------------------------------------------------------
# Statuses
# ---------------------------------------------------------------------------

OPERATOR = re.compile(r"unsupported operator '([^']*)' \(domain '([^']*)'")
NODE = re.compile(r"node \d+ '.*?' \((\w+)\): (.*)")
CLASSES = (
    (r"must be known at import", "a value that must be known at import"),
    (r"condition must be known", "a condition that must be known at import"),
    (r"expected a tensor, found another ONNX type", "a value that is no tensor"),
    (r"is not a tensor", "a value that is no tensor"),
    (r"element type (\w+)", r"element type \1"),
    (r"unsupported opset version (\d+)", r"opset \1"),
    (r"unsupported attribute '(\w+)'", r"attribute \1"),
    (r"output (\d+) is not supported", r"output \1"),
)


def refusal(message):
    """The class of a refusal: no names or numbers of the single case."""
    message = message.replace("\\'", "'")
    found = OPERATOR.search(message)
    if found:
        domain = "" if found[2] in ("", "ai.onnx") else found[2] + "."
        return f"operator {domain}{found[1]}"
    found = NODE.search(message)
    node, text = (found[1] + ": ", found[2]) if found else ("", message)
    for pattern, name in CLASSES:
        found = re.search(pattern, text)
        if found:
            return node + found.expand(name)
    text = re.sub(r"'[^']*'", "'...'", text)
    text = re.sub(r"-?\d[\d.e+x-]*", "N", text)
    return (node + re.sub(r"(N, )+N", "N, ...", text))[:110].rstrip()


def status(outcomes):
    """The line of a table for {target: (word, message)}; (False, text) if it is
    nothing that a table may hold."""
    bad = {
        target: outcome
        for target, outcome in outcomes.items()
        if outcome[0] not in ("PASS", "UNSUPPORTED", "MALFORMED")
    }
    if bad:
        names = {"FAIL": "WRONG"}
        return False, "; ".join(
            f"{target} {names.get(word, word)}: {message}"
            for target, (word, message) in bad.items()
        )
    refused = {
        target: ("malformed: " if word == "MALFORMED" else "refused: ")
        + refusal(message)
        for target, (word, message) in outcomes.items()
        if word != "PASS"
    }
    if not refused:
        return True, "right"
    if len(refused) == len(outcomes):
        return True, refused[next(iter(outcomes))]
    return True, "right; " + "; ".join(
        f"{target} {why}" for target, why in refused.items()
    )


# ---------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------


def read_table(path):
    table = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                case, text = line.split(": ", 1)
                table[case] = text
    return table


def write_table(path, table):
    lines = [f"# {path.stem}: written by run.py --update; review the difference."]
    lines += [f"{case}: {text}" for case, text in sorted(table.items())]
    path.write_text("\n".join(lines) + "\n")


def summary(name, table):
    right = sum(text == "right" for text in table.values())
    return f"{name}: {right} of {len(table)} right ({100 * right / max(len(table), 1):.1f} %)"


def reasons(tables):
    counts = {}
    for table in tables:
        for text in table.values():
            if text != "right":
                counts[text] = counts.get(text, 0) + 1
    for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:5} {text}")


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


def tolerance_of(case, special):
    """(relative, absolute) of SUITE/CASE: of the first pattern that it matches."""
    for pattern, text in special.items():
        if fnmatch.fnmatchcase(case, pattern):
            return tuple(text.split()[:2])
    return "1e-3", "1e-7"


def run_all(options, pool, targets, suite, folder, cases):
    """{case: {target: outcome}} of some cases of a suite."""
    special = read_table(HERE / "tolerances.txt")
    groups = {}
    for case in cases:
        key = tolerance_of(f"{suite}/{case}", special)
        groups.setdefault(key, []).append(folder / case)
    jobs = [
        (target, pool.submit(run_cases, options, target, tolerance, group[i : i + BATCH]))
        for tolerance, group in groups.items()
        for i in range(0, len(group), BATCH)
        for target in targets
    ]
    found = {case: {} for case in cases}
    for target, job in jobs:
        for case, outcome in job.result().items():
            found[str(case.relative_to(folder))][target] = outcome
    return found


def run_suite(options, pool, name, folder):
    """The outcomes of a suite, and the lines of cases that are not run."""
    doubtful = {
        case[len(name) + 1 :]: f"doubtful: {why}"
        for case, why in read_table(HERE / "doubtful.txt").items()
        if case.startswith(name + "/")
    }
    cases = [c for c in cases_of(folder) if re.search(options.filter, c)]
    run = [case for case in cases if case not in doubtful]
    outcomes = run_all(options, pool, options.targets, name, folder, run)
    return outcomes, {case: doubtful[case] for case in cases if case in doubtful}


def check_suite(options, pool, name, folder):
    """Runs a suite; (its table as found, the number of differences)."""
    outcomes, table = run_suite(options, pool, name, folder)
    path = HERE / f"{name}.txt"
    known = read_table(path)
    differences = 0
    for case, found in sorted(outcomes.items()):
        allowed, text = status(found)
        if allowed:
            table[case] = text
        if not allowed or (not options.update and known.get(case) != text):
            differences += 1
            print(f"{name}/{case}: expected {known.get(case)}, found {text}")
    if options.filter == "" and not options.update:
        for case in sorted(set(known) - set(table) - set(outcomes)):
            differences += 1
            print(f"{name}/{case}: expected {known[case]}, but there is no such case")
    if options.update:
        write_table(path, {**known, **table} if options.filter else table)
    print(summary(name, table), flush=True)
    return table, differences


def pick_sample(tables, count):
    """Names of `count` cases that are right, the same ones every time."""
    right = [
        f"{suite}/{case}"
        for suite, table in tables.items()
        for case, text in table.items()
        if text == "right"
    ]
    right.sort(key=lambda case: hashlib.sha256(case.encode()).hexdigest())
    return right[:count]


def check_emulator(options, pool, folders, tables):
    """Runs the sample of the emulator; the number of differences."""
    path = HERE / "emulator.txt"
    known = read_table(path)
    sample = pick_sample(tables, options.sample) if options.sample else sorted(known)
    table, differences = {}, 0
    for suite, folder in folders.items():
        cases = [c[len(suite) + 1 :] for c in sample if c.startswith(suite + "/")]
        outcomes = run_all(options, pool, ["emulator"], suite, folder, cases)
        for case, found in sorted(outcomes.items()):
            allowed, text = status(found)
            name = f"{suite}/{case}"
            if allowed:
                table[name] = text
            if not allowed or (not options.update and known.get(name, text) != text):
                differences += 1
                print(f"{name}: expected {known.get(name)}, found {text}")
    if options.update:
        write_table(path, table)
    print(summary("emulator", table), flush=True)
    return differences


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fusec", required=True, help="the fusec program")
    parser.add_argument("--scratch", required=True, help="folder to unpack into")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=30, help="seconds a case may take")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--filter", default="", help="cases by regular expression")
    parser.add_argument("--update", action="store_true", help="write the tables anew")
    parser.add_argument(
        "--sample", type=int, default=0, help="another sample of N cases for the emulator"
    )
    parser.add_argument("--no-emulator", action="store_true", help="leave the emulator out")
    parser.add_argument(
        "--only-emulator", action="store_true", help="run the emulator's sample alone"
    )
    parser.add_argument("--reasons", action="store_true", help="count what is not right")
    parser.add_argument("suites", nargs="*", default=SUITES)
    options = parser.parse_args()
    options.targets = options.targets.split(",")
    return options


def main():
    options = parse_arguments()
    scratch = pathlib.Path(options.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    folders, tables, differences = {}, {}, 0
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in options.suites:
            folder = suite_folder(name, scratch)
            if folder is None:
                print(f"{name}: not here; install the Debian package libonnx-testdata")
                differences += 1
                continue
            folders[name] = folder
            if options.only_emulator:
                tables[name] = read_table(HERE / f"{name}.txt")
                continue
            tables[name], different = check_suite(options, pool, name, folder)
            differences += different
        if not (options.no_emulator or options.filter):
            differences += check_emulator(options, pool, folders, tables)
    if options.reasons:
        reasons(tables.values())
    print(f"conformance: {differences} differences, {time.monotonic() - begin:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
