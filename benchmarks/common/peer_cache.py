# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where PyTorch and JAX keep what they compiled and what their searches chose,
so that a second run of max-autotune takes seconds.

A folder for each version of the libraries; what else a result depends on (the
GPU, the code, the options) is in the libraries' own keys.
"""

import importlib.metadata
import os
import pathlib

LIBRARIES = ("torch", "triton", "jax")


def folder(root):
    """`root`/torch-2.11.0+cu130-triton-3.6.0-jax-0.11.2, of those that are
    installed."""
    parts = []
    for name in LIBRARIES:
        try:
            parts.append(f"{name}-{importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return pathlib.Path(root) / ("-".join(parts) or "none")


def default_root():
    """The user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "fusec-benchmarks")


def use(root):
    """Before the libraries are imported. "off": they keep what they do by
    themselves."""
    if root == "off":
        return
    found = folder(root)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(found / "inductor")
    os.environ["TRITON_CACHE_DIR"] = str(found / "triton")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(found / "jax")
    # Else what compiles fast is not kept.
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
