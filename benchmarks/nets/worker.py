# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A contender in a process of its own, so that one that hangs, crashes or
spoils the device takes no other with it.

Commands and answers are lines of JSON on the standard streams; what libraries
print goes to the standard error. Commands: {"do": "load", "kind", "case",
"path", "target", "seed"}, "build" (with
"format", the memory format of images, or null), "output" (with "path" of an .npy file),
"runner" (with "row_us"), "replay" and "kernels" (of one call, traced).
"""

import json
import os
import sys
import traceback


class Server:
    """Answers commands in order."""

    def __init__(self):
        self.contender = self.clock = None

    def load(self, command):
        from . import cases, contenders
        case = cases.Case(**command["case"])
        make = contenders.KINDS[command["kind"]]
        self.contender = make(case, command["path"], command["target"],
                              command["seed"])
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
    server = Server()
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
