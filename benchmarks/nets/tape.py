# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of a generated ONNX file, in the order in which its generator
made them: the networks of peers are written in that order and take theirs."""


class Tape:
    """Hands out the constants of a Model (common.onnx_file)."""

    def __init__(self, model):
        self.constants = model.constants
        self.queues = {}
        for name, tensor in model.constants.items():
            stem = name.rsplit("_", 1)[0]
            self.queues.setdefault(stem, []).append((name, tensor))
        for queue in self.queues.values():
            queue.reverse()

    def take(self, stem, *shape):
        """The next constant of that stem ("weight", "scale", "variance",
        "cos", ...), which must have that shape."""
        queue = self.queues.get(stem)
        if not queue:
            raise ValueError(f"the file has too few constants named {stem}")
        name, tensor = queue.pop()
        if shape and tensor.data.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, found "
                             f"{tensor.data.shape}: the file is of another "
                             "size than the case")
        return tensor

    def finish(self):
        """Raises ValueError if weights are left."""
        left = [name for stem in ("weight", "scale", "variance")
                for name, _ in self.queues.get(stem, [])]
        if left:
            raise ValueError(f"{len(left)} weights were not used, from "
                             f"{left[-1]} on: the file is of another size "
                             "than the case")
