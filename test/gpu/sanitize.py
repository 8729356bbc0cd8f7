# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compute-sanitizer over every family of GPU kernels.

    python3 sanitize.py --fusec=PATH [--out=FOLDER] [--jobs=N] [--tools=A,B] [--only=WORD]
                        [--range=FROM:TO] [--models=FOLDER,...] [--target=emulator] [--fuzz=SECONDS]
                        [--limit=SECONDS] [--hang=SECONDS] [--seed=N] [--unjudged]

Runs each graph of families.py, and the networks in the folders of --models,
plainly (which also compiles the kernels; longer than --hang is a finding) and
then, cheapest first, under memcheck, racecheck, initcheck and synccheck and
against the host; with --fuzz also random graphs for that long. --range takes a
part of the graphs in that order (50: all but the cheapest 50), so that runs of
a limited time together reach all. Prints a line for each finding, one every ten
seconds and a summary, leaves whole reports in --out, and exits with 1 if there
is a finding. What --limit leaves no time for, and results whose oracle did not
end in time, are counted apart: large graphs are judged when all else is done,
none with --unjudged. Needs a GPU and compute-sanitizer; nvcc to check that the
tools see planted faults.
"""
import argparse
import concurrent.futures
import glob
import heapq
import itertools
import os
import re
import shutil
import signal
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
TIMED_OUT = 124
SUMMARY = r"ERROR SUMMARY: ([1-9]\d*) error|RACECHECK SUMMARY: ([1-9]\d*) hazard"
# Graphs of more work (families.Graph.work) are judged last.
LARGE = 20_000_000
START = time.time()


def which(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    return found or next(iter(sorted(glob.glob(f"/usr/local/cuda*/bin/{name}"))), None)


def run(command, limit, environment=None):
    """Exit code (TIMED_OUT where time ran out) and output of a command."""
    # A group of its own, so that what a tool launched ends with the tool.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env={**os.environ, **(environment or {})}, start_new_session=True)
    try:
        text = process.communicate(timeout=max(limit, 1))[0]
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return TIMED_OUT, process.communicate()[0]


def sanitized(tool, command):
    return [which("compute-sanitizer"), "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "20",
            "--target-processes", "all", *TOOLS[tool], *command]


def first_report(text):
    """The first fault of a report in one line: what, kernel, place."""
    lines = [line.lstrip("= ").strip() for line in text.splitlines() if line.startswith("=========")]
    told = [line for line in lines if line and not line.startswith(("COMPUTE-SANITIZER", "Saved host", "Host Frame"))]
    return " | ".join(told[:3])[:300] or text.strip()[-200:]


def planted(tools, out, jobs):
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
    cases = [(tool, *place) for tool in tools for place in ([], ["child"])]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        texts = pool.map(lambda case: run(sanitized(case[0], [binary, *case]), 60)[1], cases)
        return [" in a ".join(case) for case, text in zip(cases, texts) if not re.search(SUMMARY, text)]


def subjects(options, out):
    """(name, arguments of fusec, work) of all that is run."""
    folder = os.path.join(out, "graphs")
    families.write(folder)
    found = [(name, ["run", os.path.join(folder, name + ".mlir")], graph.work)
             for name, (_, graph) in families.families().items()]
    for path in filter(None, options.models.split(",")):
        found.append((os.path.basename(path.rstrip("/")), ["verify", path], 0))
    found = [subject for subject in found if options.only in subject[0]]
    first, _, last = options.range.partition(":")
    return sorted(found, key=lambda subject: subject[2])[int(first or 0):int(last) if last else None]


class Session:
    """Runs all subjects in one pool and keeps what came of it."""

    def __init__(self, options, out):
        self.options, self.out = options, out
        self.tools = options.tools.split(",")
        self.cache = {"FUSEC_CACHE_DIR": os.path.join(out, "cache")}
        self.findings, self.unjudged = [], []
        self.skipped = 0
        self.done = {kind: 0 for kind in ("plain", *self.tools, "judged")}
        self.bad = dict(self.done)
        self.waiting, self.numbers = [], itertools.count()
        self.told = time.time()

    def left(self):
        return self.options.limit - self.options.fuzz - (time.time() - START)

    def find(self, kind, name, text):
        self.bad[kind] = self.bad.get(kind, 0) + 1
        self.findings.append(f"{name}.{kind}")
        print(f"FOUND {kind} {name}: {text}", flush=True)

    def add(self, kind, subject):
        """Queues a run: what is begun goes on first, then cheap subjects."""
        large = kind == "judged" and subject[2] > LARGE
        rank = 2 if large else 1 if kind == "plain" else 0
        heapq.heappush(self.waiting, (rank, subject[2], next(self.numbers), kind, subject))

    def execute(self, kind, subject):
        """Exit code (None: not begun), output and seconds of one run, and whether it had its full time."""
        name, arguments, _ = subject
        limit = self.left()
        if limit < 5:
            return None, "", 0, False
        full = kind == "plain" and limit >= self.options.hang
        command = [self.options.fusec, *arguments, f"--target={self.options.target}", "--quiet"]
        if kind == "judged":
            command.append("--against=host")
        begin = time.time()
        code, text = run(sanitized(kind, command) if kind in TOOLS else command,
                         self.options.hang if full else limit, self.cache)
        if kind in TOOLS:
            with open(os.path.join(self.out, f"{name}.{kind}.txt"), "w", encoding="utf-8") as file:
                file.write(text)
        return code, text, time.time() - begin, full

    def take(self, kind, subject, result):
        """Books a result and queues what follows it."""
        name, arguments, _ = subject
        code, text, seconds, full = result
        judged = arguments[0] == "run" and not self.options.unjudged
        if kind == "judged" and code in (None, TIMED_OUT):
            self.unjudged.append(f"{name} in {seconds:.0f} s")
            return
        if code is None or code == TIMED_OUT and not full:
            self.skipped += 1
        else:
            self.done[kind] += 1
            if code == TIMED_OUT:
                self.find(kind, name, f"no end in {seconds:.0f} s")
            elif code:
                told = first_report(text) if kind in TOOLS else text.strip()[-300:]
                self.find(kind, name, f"exit code {code}, {seconds:.0f} s: {told}")
        if kind != "plain":
            return
        if code in (None, TIMED_OUT):  # A tool would not end either.
            self.skipped += len(self.tools)
            if judged:
                self.unjudged.append(f"{name} in 0 s")
            return
        for tool in self.tools:
            self.add(tool, subject)
        if judged:
            self.add("judged", subject)

    def tell(self, everything):
        if time.time() - self.told < 10:
            return
        self.told = time.time()
        print(f"{self.told - START:.0f} s: " + ", ".join(f"{count} {kind}" for kind, count in self.done.items())
              + f" of {len(everything)}; {len(self.findings)} findings", flush=True)

    def graphs(self, everything):
        for subject in everything:
            self.add("plain", subject)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            running = {}
            while self.waiting or running:
                while self.waiting and len(running) < self.options.jobs:
                    kind, subject = heapq.heappop(self.waiting)[3:]
                    running[pool.submit(self.execute, kind, subject)] = kind, subject
                ended, _ = concurrent.futures.wait(running, 10, concurrent.futures.FIRST_COMPLETED)
                for future in ended:
                    self.take(*running.pop(future), future.result())
                self.tell(everything)
        print("; ".join(f"{kind}: {count} runs, {self.bad[kind]} findings" for kind, count in self.done.items())
              + f"; not run for lack of time: {self.skipped}; not judged: {len(self.unjudged)}; "
              f"{time.time() - START:.0f} s", flush=True)
        if self.unjudged:
            print("not judged:", ", ".join(self.unjudged), flush=True)

    def fuzz(self):
        seconds = self.options.fuzz

        def one(job):
            tool, seed = job
            code, text = run(sanitized(tool, [self.options.fusec, "fuzz", f"--target={self.options.target}",
                                              f"--seed={seed}", f"--time={seconds:.0f}", "--timeout=0"]),
                             seconds + 60, self.cache)
            with open(os.path.join(self.out, f"fuzz-{seed}.{tool}.txt"), "w", encoding="utf-8") as file:
                file.write(text)
            graphs = re.search(r"fuzz: (\d+) graphs, (\d+) runs, (\d+) findings", text)
            errors = re.findall(SUMMARY, text)
            return tool, seed, code, graphs.groups() if graphs else ("0", "0", "?"), len(errors), first_report(text)

        jobs = self.options.jobs
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            runs = [(tool, self.options.seed + 100000 * i) for i in range(max(1, jobs // len(self.tools)))
                    for tool in self.tools]
            for tool, seed, code, (graphs, count, wrong), errors, told in pool.map(one, runs):
                print(f"fuzz {tool} from seed {seed}: {graphs} graphs, {count} runs, {wrong} wrong, exit code {code}",
                      flush=True)
                if code not in (0, 1) or errors or wrong != "0":
                    self.find(tool, f"fuzz-{seed}", told)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fusec", required=True)
    parser.add_argument("--out", default="sanitize")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--only", default="")
    parser.add_argument("--range", default=":", metavar="FROM:TO")
    parser.add_argument("--models", default="")
    parser.add_argument("--fuzz", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=500)
    parser.add_argument("--unjudged", action="store_true")
    parser.add_argument("--hang", type=float, default=30)
    options = parser.parse_args()
    if not which("compute-sanitizer"):
        sys.exit("compute-sanitizer is not in PATH nor in /usr/local/cuda/bin")
    out = os.path.abspath(options.out)
    os.makedirs(out, exist_ok=True)
    session = Session(options, out)
    missed = planted(session.tools, out, options.jobs)
    print("planted faults:", "not tried (no nvcc)" if missed is None else f"missed by {missed}" if missed else "all seen",
          flush=True)
    session.findings += [f"planted.{tool}" for tool in missed or []]
    session.graphs(subjects(options, out))
    if options.fuzz:
        session.fuzz()
    print(f"{len(session.findings)} findings, {time.time() - START:.0f} s")
    return bool(session.findings)


if __name__ == "__main__":
    sys.exit(main())
