# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of contenders, seen from the one that directs them."""

import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
import time


class Failure(Exception):
    """A contender failed, ended or took too long; it is over with it."""


#: Those whose processes run.
RUNNING = set()


def stop_all():
    """Ends all processes; who waits for one gets a Failure."""
    for worker in list(RUNNING):
        worker.interrupt()


class Worker:
    """A contender (worker.py) of a case. `facts` gathers what it says.
    `arrays`: the folder of its inputs."""

    def __init__(self, kind, case, path, options, arrays, threads):
        self.kind, self.case, self.path = kind, case, path
        self.arrays, log = str(arrays), arrays / f"{case.name}.{kind}.log"
        self.options, self.log = options, log
        self.facts, self.times = {}, []
        self.failed, self.ended = None, False
        environment = dict(os.environ)
        # One process for each contender compiles; JAX shares the device, and
        # nothing is taken from disk that fusec compiled before.
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(threads))
        environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        environment.setdefault("FUSEC_CACHE", "off")
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        if options.target != "cuda":
            environment["JAX_PLATFORMS"] = "cpu"
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", kind,
                 str(arrays / "turns")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env=environment, start_new_session=True)
        self.buffer = b""
        RUNNING.add(self)

    @property
    def alive(self):
        return self.failed is None

    def ask(self, do, limit, **rest):
        """The answer to a command. Raises Failure, and ends the process, if
        there is none within `limit` seconds."""
        if self.failed:
            raise Failure(self.failed)
        line = json.dumps({"do": do, **rest}) + "\n"
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
            answer = json.loads(self._line(time.monotonic() + limit))
        except TimeoutError:
            self._fail(f"{do}: no answer within {limit:.0f} s")
        except (OSError, ValueError):
            self._fail(f"{do}: ended with {self.process.poll()}: "
                       f"{self._last_words()}")
        if "failed" in answer:
            self._fail(f"{do}: {answer['failed']}")
        return answer

    def _line(self, deadline):
        stream = self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise TimeoutError
                data = os.read(stream.fileno(), 1 << 16)
                if not data:
                    self.process.wait(5)
                    raise OSError("the process ended")
                self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def _last_words(self):
        with open(self.log, "rb") as file:
            lines = file.read()[-2000:].decode(errors="replace").splitlines()
        return " | ".join(lines[-2:])[-300:]

    def leave_out(self, why):
        """Ends it without a result, unless it is over already."""
        if not self.failed:
            self.failed = f"left out: {why}"
            self.kill()

    def _fail(self, text):
        self.failed = text
        self.kill()
        raise Failure(text)

    def load(self, limit):
        start = time.monotonic()
        self.facts.update(self.ask(
            "load", limit, path=self.path, arrays=self.arrays,
            case=dataclasses.asdict(self.case), target=self.options.target,
            seed=self.options.seed))
        self.facts["load_s"] = time.monotonic() - start

    def build(self, limit, form=None):
        start = time.monotonic()
        self.facts.update(self.ask("build", limit, format=form))
        self.facts["build_s"] = time.monotonic() - start

    def replay(self):
        """For measure.interleave: microseconds of one run."""
        return self.ask("replay", 30)["us"]

    def close(self):
        """Lets the process end, and sees to it."""
        if not self.ended:
            try:
                self.process.stdin.close()
                self.process.wait(3)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self.kill()

    def interrupt(self):
        """Ends the process group. Its pipes stay: another thread may read."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def kill(self):
        """Ends the process and what it started; once."""
        if self.ended:
            return
        self.interrupt()
        self.ended = True
        RUNNING.discard(self)
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:  # what was not written yet
            pass
