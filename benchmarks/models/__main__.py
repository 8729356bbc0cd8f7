# __main__.py - writes a model and inputs for it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m benchmarks.models NAME --out DIR [--small] [--decomposed] ..."""

import argparse
import pathlib
import types

from . import images, small, transformers
from .graph import save

TRANSFORMER = {"batch": 1, "seq": 128, "hidden": 384, "heads": 12, "layers": 6}
IMAGE = {"batch": 1, "image": 224, "classes": 1000}
TINY_TRANSFORMER = {"seq": 16, "hidden": 64, "heads": 4, "layers": 2}
TINY_IMAGE = {"image": 32, "classes": 10}

# name: (what makes it, full sizes, what --small changes)
MODELS = {
    "bert": (transformers.bert, {**TRANSFORMER, "vocab": 30522},
             {**TINY_TRANSFORMER, "vocab": 50}),
    "gpt2": (transformers.gpt2, {**TRANSFORMER, "hidden": 768, "layers": 1}, TINY_TRANSFORMER),
    "llama": (transformers.llama,
              {**TRANSFORMER, "hidden": 4096, "heads": 32, "groups": 8, "layers": 1,
               "inner": 14336},
              {**TINY_TRANSFORMER, "groups": 2, "inner": 96}),
    "vit": (transformers.vit,
            {**IMAGE, "patch": 16, "hidden": 768, "heads": 12, "layers": 12},
            {**TINY_IMAGE, "patch": 8, "hidden": 64, "heads": 4, "layers": 2}),
    "resnet50": (images.resnet50, {**IMAGE, "width": 64, "depths": [3, 4, 6, 3]},
                 {**TINY_IMAGE, "width": 8, "depths": [2, 1]}),
    "mobilenetv2": (images.mobilenetv2, {**IMAGE, "depth": 7, "last": 1280},
                    {**TINY_IMAGE, "depth": 2, "last": 64}),
    "unet": (images.unet,
             {"batch": 1, "channels": 320, "image": 64, "groups": 32, "time": 1280},
             {"channels": 16, "image": 8, "groups": 4, "time": 32}),
    "lstm": (small.lstm, {"batch": 32, "seq": 16, "hidden": 512}, {"batch": 3, "seq": 4, "hidden": 24}),
    "nerf": (small.nerf, {"batch": 4096, "hidden": 256}, {"batch": 37, "hidden": 32}),
}


def parse():
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.models", description=__doc__)
    parser.add_argument("name", choices=sorted(MODELS))
    parser.add_argument("--out", required=True, help="folder for NAME.onnx")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"], default="f32")
    parser.add_argument("--decomposed", action="store_true",
                        help="norms, activations and attention in primitives")
    parser.add_argument("--small", action="store_true", help="a size for tests")
    for size in sorted({key for _, full, _ in MODELS.values() for key in full}):
        if size != "depths":
            parser.add_argument(f"--{size}", type=int)
    return parser.parse_args()


def build(name, out, dtype="f32", decomposed=False, small=False, file=None, **sizes):
    """Writes OUT/NAME.onnx, or OUT/FILE, and gives its path. sizes: what is not
    as in MODELS; None is as there."""
    make, full, tiny = MODELS[name]
    size = types.SimpleNamespace(**{**full, **(tiny if small else {})})
    for key, value in sizes.items():
        if value is not None:
            setattr(size, key, value)
    size.dtype, size.decomposed = dtype, decomposed
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / (file or f"{name}.onnx")
    save(make(size), path)
    return path


def main():
    arguments = vars(parse())
    sizes = {key: arguments[key] for key in MODELS[arguments["name"]][1] if key in arguments}
    print(build(arguments["name"], arguments["out"], arguments["dtype"],
                arguments["decomposed"], arguments["small"], **sizes))


if __name__ == "__main__":
    main()
