# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times on a GPU, with PyTorch's events and graphs.

Runs go round several buffer sets whose sum is larger than the L2 cache; nothing
is flushed in between. A contender that makes its results anew has them held for
each set until it is that set's turn again: given back at once, all runs would
write one block of memory, which stays in L2. Everything that can be is captured:
one replay holds enough runs that it lasts milliseconds. Contenders take turns
replay by replay, so that clocks and heat are the same for all.
"""

import contextlib
import signal
import statistics
import time

#: All sets of a case together hold at least this much: four times 60 MB of L2.
ROTATION_BYTES = 240 << 20
REPLAY_US = 2000.0


class TimedOut(Exception):
    """A step took longer than its limit."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TimedOut in the main thread after `seconds` (0: no limit), as
    soon as Python code runs."""
    if not seconds:
        yield
        return

    def stop(number, frame):
        raise TimedOut(f"stopped after {seconds:.0f} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def set_count(problem_bytes):
    """How many buffer sets a case takes."""
    return max(1, min(64, -(-ROTATION_BYTES // max(problem_bytes, 1))))


class Runner:
    """Times one contender. `prepare` runs it once and captures a replay."""

    def __init__(self, torch, contender, sets):
        self.torch, self.contender, self.sets = torch, contender, sets
        self.times = []
        self.graph = None
        self.held = [None] * sets  # what runs gave, by set

    def prepare(self):
        torch = self.torch
        # Torch's libraries want a warm-up on a side stream ahead of a capture.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            outputs = self.contender.step(self.sets - 1)
            self._wait(outputs)
            start = time.perf_counter()
            outputs = self.contender.step(0)
            self._wait(outputs)
            once = 1e6 * (time.perf_counter() - start)
            del outputs
        torch.cuda.current_stream().wait_stream(side)
        least = 1 if once > REPLAY_US else self.sets
        self.count = max(least, min(400, int(REPLAY_US / max(once, 1.0)) + 1))
        if self.contender.can_capture:
            self._capture()
            # Calls from Python hide how short a kernel is.
            once = min(once, self.replay())
            count = max(least, min(400, int(REPLAY_US / max(once, 1.0)) + 1))
            if count > 2 * self.count:
                self.count = count
                self._capture()
                self.replay()

    def _step(self, i):
        """One run, which writes where its set's last one did."""
        self.held[i] = None
        self.held[i] = self.contender.step(i)
        return self.held[i]

    def _capture(self):
        self.graph, self.held = None, [None] * self.sets
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph):
            for i in range(self.count):
                self._step(i % self.sets)

    def _wait(self, outputs):
        if hasattr(self.contender, "wait"):
            self.contender.wait(outputs)
        self.torch.cuda.synchronize()

    def replay(self):
        """Microseconds of one run."""
        if not self.graph:
            start = time.perf_counter()
            for i in range(self.count):
                outputs = self._step(i % self.sets)
            self._wait(outputs)
            return 1e6 * (time.perf_counter() - start) / self.count
        begin = self.torch.cuda.Event(enable_timing=True)
        end = self.torch.cuda.Event(enable_timing=True)
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end) / self.count

    def result(self):
        """Median, 10th and 90th percentile in microseconds."""
        return {**summary(self.times), "runs_per_replay": self.count,
                "captured": bool(self.graph)}


def summary(times):
    """Of times in microseconds."""
    times = sorted(times)
    last = len(times) - 1
    return {"median_us": statistics.median(times),
            "p10_us": times[round(0.1 * last)],
            "p90_us": times[round(0.9 * last)], "replays": len(times)}


class RowRunner(Runner):
    """Times calls as users make them: several in a row, of which nothing is
    captured here. With `torch` between two of its events on the GPU, behind a
    call that is not timed; without it by the wall, to the end of the last."""

    def __init__(self, torch, contender, sets, row_us=8000.0, warm=3):
        super().__init__(torch, contender, sets)
        self.row_us, self.warm = row_us, warm

    def prepare(self):
        for _ in range(self.warm):
            for i in range(self.sets):
                outputs = self.contender.step(i)
        self._wait(outputs)
        self.count = self.sets
        once = min(self.replay(), self.replay())
        rows = int(self.row_us / max(once, 1.0) / self.sets) + 1
        self.count = max(1, min(400, rows * self.sets))
        if once * self.sets > self.row_us:
            self.count = max(1, int(self.row_us / once))

    def _wait(self, outputs):
        if hasattr(self.contender, "wait"):
            self.contender.wait(outputs)
        if self.torch:
            self.torch.cuda.synchronize()

    def replay(self):
        outputs = self.contender.step(self.sets - 1)
        if not self.torch:
            self._wait(outputs)
            start = time.perf_counter()
        else:
            begin = self.torch.cuda.Event(enable_timing=True)
            end = self.torch.cuda.Event(enable_timing=True)
            begin.record()
        for i in range(self.count):
            outputs = self.contender.step(i % self.sets)
        if not self.torch:
            self._wait(outputs)
            return 1e6 * (time.perf_counter() - start) / self.count
        end.record()
        self._wait(outputs)
        return 1e3 * begin.elapsed_time(end) / self.count


def interleave(runners, seconds, least=5, most=40):
    """Replays in turns until each has had `most`, or the time is over. Every
    other turn goes backwards, so that who runs behind whom evens out: a hot
    chip slows what comes next."""
    start = time.perf_counter()
    for turn in range(most):
        for runner in runners[::-1 if turn % 2 else 1]:
            runner.times.append(runner.replay())
        # Very slow ones have fewer.
        spent = time.perf_counter() - start
        if spent > (seconds if turn + 1 >= least else 4 * seconds):
            return


def bandwidths(torch):
    """Bytes per second: {"copy": read plus written, "read": read only}. The
    best of several ways in each, as a floor must not be beaten."""
    count = 256 << 20
    sources = [torch.randn(count, device="cuda") for _ in range(2)]
    target = torch.empty_like(sources[0])
    total = torch.empty((), device="cuda")

    # A contiguous copy_ is a memcpy node, which a kernel may beat.
    def copy(i): target.copy_(sources[i])
    def negate(i): torch.neg(sources[i], out=target)
    def read_sum(i): torch.sum(sources[i], (0,), out=total)
    def read_max(i): torch.amax(sources[i], (0,), out=total)
    best = {"copy": 0.0, "read": 0.0}
    for name, step, moved in (("copy", copy, 8), ("copy", negate, 8),
                              ("read", read_sum, 4), ("read", read_max, 4)):
        contender = type("Step", (), {"step": staticmethod(step),
                                      "can_capture": True})
        runner = Runner(torch, contender, 2)
        runner.prepare()
        interleave([runner], 0.2, 10, 20)
        rate = moved * count / (runner.result()["median_us"] * 1e-6)
        best[name] = max(best[name], rate)
    return best
