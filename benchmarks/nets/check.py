# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs against a reference; and small networks against each other without
any times."""

import sys
import tempfile

import numpy as np

from . import cases, contenders


def distance(got, want):
    """(relative error of norms, largest error of an element over the root of
    the mean square). Not a number where the output is none."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise ValueError(f"expected shape {want.shape}, found {got.shape}")
    error = got.astype(np.float64) - want
    rms = float(np.sqrt(np.mean(want * want))) or 1.0
    return (float(np.sqrt(np.mean(error * error)) / rms),
            float(np.abs(error).max() / rms))


def judge(got, want, dtype):
    """The facts of a comparison: "error", "largest" and, where it is over
    bounds, "wrong"."""
    error, largest = distance(got, want)
    bound = cases.TOLERANCES[dtype]
    facts = {"error": error, "largest": largest}
    # Single elements may lie further out than all of them on average.
    if not (error <= bound and largest <= 10 * bound):
        facts["wrong"] = (f"error {error:.2e} of norms, {largest:.2e} of an "
                          f"element; expected up to {bound:.0e} and "
                          f"{10 * bound:.0e}")
    return facts


def _has(module):
    try:
        __import__(module)
    except (ImportError, OSError):
        return False
    return True


def check_all(chosen, target, seed, peers):
    """Runs small cases in this process: fusec fused and unfused, and what is
    installed of `peers`, against float64. Returns the number of failures."""
    torch, jax = _has("torch"), _has("jax")
    reference = "reference" if torch else "evaluator"
    names = ["fusec", "unfused"] + [
        name for name in peers if (jax if name == "jax" else torch)]
    print(f"against {reference}: {', '.join(names)}"
          f"{'' if torch else '; no PyTorch'}{'' if jax else '; no JAX'}")
    failures = skips = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            if case.dtype == "bf16" and not _has("ml_dtypes"):
                print(f"{case.name}: skipped: bf16 on the CPU needs ml_dtypes")
                skips += 1
                continue
            path = case.locate(folder)

            def run(name):
                contender = contenders.KINDS[name](case, path, target, seed, 2)
                contender.load()
                contender.build()
                return contender.output()
            want = run(reference)
            line = []
            for name in names:
                try:
                    facts = judge(run(name), want, case.dtype)
                    line.append(f"{name} {facts['error']:.1e}")
                    problem = facts.get("wrong")
                except Exception as error:  # of other libraries: any
                    problem = f"{type(error).__name__}: {error}"[:300]
                if problem:
                    failures += 1
                    print(f"{case.name}: {name}: {problem}", file=sys.stderr)
            print(f"{case.name}: {', '.join(line)}", flush=True)
    print(f"{len(chosen) - skips} networks, {failures} failures, "
          f"{skips} skipped")
    return failures
