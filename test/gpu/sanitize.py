# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compute-sanitizer over every family of GPU kernels.

    python3 sanitize.py --fusec=PATH [--out=FOLDER] [--jobs=N] [--tools=A,B] [--only=WORD]
                        [--models=FOLDER,...] [--target=emulator] [--fuzz=SECONDS] [--limit=SECONDS] [--seed=N]

Runs each graph of families.py, and the networks in the folders of --models,
plainly against the host (which also compiles the kernels) and then under
memcheck, racecheck, initcheck and synccheck; with --fuzz also random graphs for
that long. Prints a line for each finding and a summary, leaves whole reports in
--out, and exits with 1 if there is a finding. What --limit leaves no time for is
counted. Needs a GPU and compute-sanitizer; nvcc to check that the tools see
planted faults.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time

import families

TOOLS = {
    "memcheck": [],
    "racecheck": ["--racecheck-report", "all"],
    "initcheck": [],
    "synccheck": [],
}
FOUND = 77
SUMMARY = r"ERROR SUMMARY: ([1-9]\d*) error|RACECHECK SUMMARY: ([1-9]\d*) hazard"
START = time.time()


def which(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    return found or next(iter(sorted(glob.glob(f"/usr/local/cuda*/bin/{name}"))), None)


def run(command, limit, environment=None):
    """Exit code (124 where time ran out) and output of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=max(limit, 1), env={**os.environ, **(environment or {})}, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"") + (error.stderr or b"")
        return 124, output.decode(errors="replace") if isinstance(output, bytes) else output


def sanitized(tool, command):
    return [which("compute-sanitizer"), "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "20",
            "--target-processes", "all", *TOOLS[tool], *command]


def first_report(text):
    """The first fault of a report in one line: what, kernel, place."""
    lines = [line.lstrip("= ").strip() for line in text.splitlines() if line.startswith("=========")]
    told = [line for line in lines if line and not line.startswith(("COMPUTE-SANITIZER", "Saved host", "Host Frame"))]
    return " | ".join(told[:3])[:300] or text.strip()[-200:]


def planted(tools, out):
    """Tools that miss their planted fault, also in a child; None without nvcc."""
    nvcc = which("nvcc")
    if not nvcc:
        return None
    binary = os.path.join(out, "planted")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted.cu")
    code, text = run([nvcc, "-arch=sm_90", "-o", binary, source], 120)
    if code:
        print("planted.cu does not compile:", text[-300:])
        return list(tools)
    missed = []
    for tool in tools:
        for place in ([], ["child"]):
            text = run(sanitized(tool, [binary, tool, *place]), 60)[1]
            if not re.search(SUMMARY, text):
                missed.append(" in a ".join([tool, *place]))
    return missed


def subjects(options, out):
    """(name, arguments of fusec) of all that is run."""
    folder = os.path.join(out, "graphs")
    families.write(folder)
    found = [(name, ["run", os.path.join(folder, name + ".mlir")]) for name in families.families()]
    for path in filter(None, options.models.split(",")):
        found.append((os.path.basename(path.rstrip("/")), ["verify", path]))
    return [(name, arguments) for name, arguments in found if options.only in name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fusec", required=True)
    parser.add_argument("--out", default="sanitize")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--only", default="")
    parser.add_argument("--models", default="")
    parser.add_argument("--fuzz", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=500)
    options = parser.parse_args()
    tools = options.tools.split(",")
    if not which("compute-sanitizer"):
        sys.exit("compute-sanitizer is not in PATH nor in /usr/local/cuda/bin")
    out = os.path.abspath(options.out)
    os.makedirs(out, exist_ok=True)
    cache = {"FUSEC_CACHE_DIR": os.path.join(out, "cache")}
    everything = subjects(options, out)
    findings, skipped = [], 0

    def left():
        return options.limit - options.fuzz - (time.time() - START)

    missed = planted(tools, out)
    print("planted faults:", "not tried (no nvcc)" if missed is None else f"missed by {missed}" if missed else "all seen")

    def plain(subject):
        name, arguments = subject
        against = [] if arguments[0] == "verify" else ["--against=host"]
        return name, run([options.fusec, *arguments, f"--target={options.target}", "--quiet", *against], min(left(), 120), cache)

    def check(job):
        tool, (name, arguments) = job
        if left() < 5:
            return tool, name, None, ""
        begin = time.time()
        code, text = run(sanitized(tool, [options.fusec, *arguments, f"--target={options.target}", "--quiet"]), left(), cache)
        with open(os.path.join(out, f"{name}.{tool}.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        return tool, name, code, f"{time.time() - begin:.0f} s: {first_report(text)}"

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (code, text) in pool.map(plain, everything):
            if code:
                findings.append(name)
                print(f"FOUND plain {name}: exit code {code}: {text.strip()[-300:]}", flush=True)
        print(f"plain: {len(everything)} graphs, {time.time() - START:.0f} s", flush=True)
        counts = {tool: [0, 0] for tool in tools}
        for tool, name, code, told in pool.map(check, [(t, s) for s in everything for t in tools]):
            if code is None or code == 124 and left() < 5:
                skipped += 1
                continue
            counts[tool][0] += 1
            if code:
                counts[tool][1] += 1
                findings.append(f"{name}.{tool}")
                print(f"FOUND {tool} {name}: exit code {code}, {told}", flush=True)
    print("; ".join(f"{tool}: {done} runs, {bad} findings" for tool, (done, bad) in counts.items()),
          f"; not run for lack of time: {skipped}; {time.time() - START:.0f} s", flush=True)

    if options.fuzz:
        def fuzz(job):
            tool, seed = job
            code, text = run(sanitized(tool, [options.fusec, "fuzz", f"--target={options.target}", f"--seed={seed}",
                                              f"--time={options.fuzz:.0f}", "--timeout=0"]), options.fuzz + 60, cache)
            with open(os.path.join(out, f"fuzz-{seed}.{tool}.txt"), "w", encoding="utf-8") as file:
                file.write(text)
            graphs = re.search(r"fuzz: (\d+) graphs, (\d+) runs, (\d+) findings", text)
            errors = re.findall(SUMMARY, text)
            return tool, seed, code, graphs.groups() if graphs else ("0", "0", "?"), len(errors), first_report(text)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [(tool, options.seed + 100000 * i) for i in range(max(1, options.jobs // len(tools))) for tool in tools]
            for tool, seed, code, (graphs, runs, wrong), errors, told in pool.map(fuzz, jobs):
                bad = code not in (0, 1) or errors or wrong not in ("0",)
                print(f"fuzz {tool} from seed {seed}: {graphs} graphs, {runs} runs, {wrong} wrong, exit code {code}"
                      + (f", FOUND {told}" if bad else ""), flush=True)
                if bad:
                    findings.append(f"fuzz-{seed}.{tool}")
    print(f"{len(findings)} findings, {time.time() - START:.0f} s")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
