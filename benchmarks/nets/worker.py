# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A contender in a process of its own, so that one that hangs, crashes or
spoils the device takes no other with it.

    python3 -m benchmarks.nets.worker KIND LOCK

imports what KIND needs and answers commands; LOCK is the file of those that take
turns (turns.py). Commands and answers are lines of JSON on the standard streams;
what libraries print goes to the standard error. Commands: {"do": "load", "case",
"path", "target", "seed", "arrays"}, "build" (with "format", the memory format of
images, or null), "output" (with "path" of an .npy file), "runner" (with
"row_us"), "replay" and "kernels" (of one call, traced).
"""

import contextlib
import importlib
import json
import os
import sys
import traceback

from . import cases, contenders
from .turns import Turns


class Server:
    """Answers commands in order."""

    def __init__(self, kind, lock):
        self.make, self.turns = contenders.KINDS[kind], Turns(lock)
        self.contender = self.clock = None
        for name in self.make.needs:
            with contextlib.suppress(ImportError):  # said when it is loaded
                importlib.import_module(name)

    def load(self, command):
        self.contender = self.make(
            cases.Case(**command["case"]), command["path"], command["target"],
            command["seed"], arrays=command["arrays"])
        self.contender.turns = self.turns
        self.contender.load()
        return {"versions": self.versions()}

    def versions(self):
        """Of the libraries that are in use."""
        found = {}
        for name in ("torch", "jax", "triton", "fusec", "numpy"):
            if name in sys.modules:
                found[name] = getattr(sys.modules[name], "__version__", "")
        torch = sys.modules.get("torch")
        if torch and torch.cuda.is_available():
            found["device"] = torch.cuda.get_device_name()
        return found

    def build(self, command):
        self.contender.format = command["format"]
        with (self.turns.mine() if self.make.times_kernels
              else contextlib.nullcontext()):
            return self.contender.build()

    def output(self, command):
        import numpy
        numpy.save(command["path"], self.contender.output())
        return {}

    def runner(self, command):
        self.clock = self.contender.runner(command["row_us"])
        return {"runs_per_row": self.clock.count,
                "clock": "events" if self.clock.torch else "wall"}

    def replay(self, command):
        return {"us": self.clock.replay()}

    def kernels(self, command):
        return self.contender.kernels()


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = Server(*sys.argv[1:])
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(server, command["do"])(command)
        except Exception as error:  # of other libraries: any
            traceback.print_exc()
            answer = {"failed": f"{type(error).__name__}: {error}"[:600]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Libraries have been seen to hang while they are taken down.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
