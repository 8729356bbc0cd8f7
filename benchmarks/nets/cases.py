# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which networks are run, at which sizes, and on what inputs.

A case is a network of benchmarks.models at a size, or an ONNX file of the
user's. Inputs come from a seed, so that every process makes the same ones.
"""

import dataclasses
import fnmatch
import pathlib
from dataclasses import dataclass, field
from typing import Dict, Optional

import numpy as np

from ..common.onnx_file import Tensor
from ..models.__main__ import MODELS, build

#: How far an output may be from the reference in float64: of norms, by type of
#: the network. A float16 network of 12 layers rounds some hundred times at
#: 5e-4 each, independent of each other; a wrong kernel is off by 1e-1 or more.
TOLERANCES = {"f32": 1e-5, "f16": 1e-2, "bf16": 5e-2}


@dataclass(frozen=True)
class Case:
    """One row. net: a name of benchmarks.models, or "ppocr". sizes: what
    differs from that network's defaults. path: the file of the user's."""
    name: str
    net: str
    dtype: str
    sizes: Dict[str, int] = field(default_factory=dict)
    #: Too large for each run: run on request only.
    big: bool = False
    path: Optional[str] = None
    tiny: bool = False

    @property
    def file(self):
        """Name of its ONNX file."""
        return f"{self.name}.onnx"

    @property
    def reference_parts(self):
        """In how many parts of the batch the reference may compute its output.
        A file of the user's may have its batch built in."""
        return 1 if self.net == "ppocr" else 8

    def size(self, key):
        full, tiny = MODELS[self.net][1:]
        defaults = {**full, **(tiny if self.tiny else {})}
        return self.sizes.get(key, defaults[key])

    def where(self, folder):
        """Path of its ONNX file."""
        return self.path or str(pathlib.Path(folder) / self.file)

    def locate(self, folder):
        """The same; the file is written if it is not there yet."""
        path = pathlib.Path(self.where(folder))
        if not path.exists():
            part = path.with_suffix(".part")
            build(self.net, folder, self.dtype, small=self.tiny,
                  file=part.name, **self.sizes)
            part.rename(path)
        return str(path)

    def store(self, folder, number, seed):
        """Writes input set `number` for `stored`."""
        for name, tensor in self.inputs(number, seed).items():
            np.save(self._array(folder, number, name), tensor.data)

    def stored(self, folder, number, names):
        """Input set `number` as `inputs` gives it, from the disk."""
        found = {}
        for name in names:
            data = np.load(self._array(folder, number, name), mmap_mode="r")
            # Of 16-bit integers there are none.
            found[name] = (Tensor("bf16", data) if data.dtype == np.uint16
                           else Tensor.of(data))
        return found

    def _array(self, folder, number, name):
        return pathlib.Path(folder) / f"{self.name}.{number}.{name}.npy"

    def inputs(self, number, seed):
        """{name: Tensor} of input set `number`."""
        random = np.random.default_rng([seed, number])
        if self.net == "ppocr":
            shape = [self.sizes["batch"], 3, 48, 192]
            return {"x": Tensor.rounded(random.standard_normal(shape), "f32")}
        batch = self.size("batch")
        if self.net == "bert":
            shape = (batch, self.size("seq"))
            # Texts of half to full length, filled up.
            length = random.integers((shape[1] + 1) // 2, shape[1] + 1, batch)
            mask = np.arange(shape[1]) < length[:, None]
            ids = random.integers(0, self.size("vocab"), shape)
            kind = random.integers(0, 2, shape)
            return {"input_ids": Tensor.of(ids),
                    "attention_mask": Tensor.of(mask.astype(np.int64)),
                    "token_type_ids": Tensor.of(kind)}
        if self.net in ("gpt2", "llama"):
            name, shape = "hidden", (batch, self.size("seq"),
                                     self.size("hidden"))
        else:
            side = self.size("image")
            name, shape = "pixels", (batch, 3, side, side)
        values = random.standard_normal(shape, np.float32)
        return {name: Tensor.rounded(values, self.dtype)}


def _bert(name, batch, seq, dtype, **rest):
    sizes = {"batch": batch, "seq": seq, **rest.pop("sizes", {})}
    return Case(f"{name}-b{batch}-s{seq}-{dtype}", "bert", dtype, sizes, **rest)


def _image(net, batch, dtype="f16", **rest):
    return Case(f"{net}-b{batch}-{dtype}", net, dtype, {"batch": batch}, **rest)


CASES = [
    _bert("minilm", 32, 128, "f32"),
    _bert("minilm", 32, 128, "f16"),
    _image("vit", 16),
    _image("resnet50", 32),
    _image("mobilenetv2", 32),
    Case("ppocr-cls-b1-f32", "ppocr", "f32", {"batch": 1}),
    _bert("minilm", 256, 128, "f16", big=True),
    _bert("bertbase", 64, 512, "f16", big=True,
          sizes={"hidden": 768, "layers": 12}),
    _image("vit", 256, big=True),
    Case("gpt2-b16-s1024-f16", "gpt2", "f16", {"batch": 16, "seq": 1024},
         big=True),
    Case("llama-b2-s4096-bf16", "llama", "bf16", {"batch": 2, "seq": 4096},
         big=True),
]

#: Networks in sizes for tests.
TINY = [Case(f"tiny-{net}-{dtype}", net, dtype, {"batch": 2}, tiny=True)
        for net, dtypes in (("bert", ("f32", "f16")), ("vit", ("f32", "f16")),
                            ("gpt2", ("f32", "f16")),
                            ("llama", ("f32", "bf16")),
                            ("resnet50", ("f32", "f16")),
                            ("mobilenetv2", ("f32", "f16")))
        for dtype in dtypes]


def choose(names, big, batch, dtype, ppocr, tiny=False):
    """The cases that names, patterns and networks stand for, with batch and
    dtype changed where given. Raises ValueError."""
    cases = TINY if tiny else CASES
    chosen = [c for c in cases if big or not c.big] if not names else []
    for name in names:
        found = [c for c in cases if fnmatch.fnmatchcase(c.name, name)]
        if not found:  # a part of a name: a network
            found = [c for c in cases if name in (c.net, c.name.split("-")[0])
                     and (big or not c.big)]
        if not found:
            found = [c for c in cases if name in (c.net, c.name.split("-")[0])]
        if not found:
            raise ValueError(f"no case is named {name!r}: see --list")
        chosen += [c for c in found if c not in chosen]
    result = []
    for case in chosen:
        if case.net == "ppocr":
            if not ppocr and names:
                raise ValueError(f"{case.name} needs --ppocr FILE")
            case = dataclasses.replace(case, path=ppocr)
        case = _changed(case, batch, dtype)
        if case.name not in [c.name for c in result]:
            result.append(case)
    return result


def _changed(case, batch, dtype):
    name, sizes = case.name, dict(case.sizes)
    if batch:
        if f"-b{sizes['batch']}" in name:
            name = name.replace(f"-b{sizes['batch']}", f"-b{batch}")
        sizes["batch"] = batch
    if dtype and case.net != "ppocr":
        name = name[:-len(case.dtype)] + dtype
        case = dataclasses.replace(case, dtype=dtype)
    return dataclasses.replace(case, name=name, sizes=sizes)
