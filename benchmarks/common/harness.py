# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs that run cases beside peers have in common: options, the
choice of cases, the device."""

import concurrent.futures
import fnmatch
import gc
import os
import sys

from . import peer_cache


def add_options(parser, cases, peers, seconds, peers_by_default="torch"):
    """The options that all of them take. `cases` and `peers` say what may be
    named."""
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help=f"names or patterns ({cases})")
    parser.add_argument("--target", default="cuda",
                        choices=["cuda", "host", "emulator", "reference"])
    parser.add_argument("--quick", action="store_true",
                        help="small shapes: checks only, no times")
    parser.add_argument("--peers", default=peers_by_default, metavar="A,B",
                        help=f"{', '.join(peers)} or none (default: "
                             f"{peers_by_default})")
    parser.add_argument("--peer-cache", default=peer_cache.default_root(),
                        metavar="DIR", help="where torch.compile and JAX keep "
                        "what they compiled and chose, by version; off: each "
                        "where it does by itself (default: %(default)s)")
    parser.add_argument("--json", metavar="F", help="all figures")
    parser.add_argument("--seconds", type=float, default=seconds,
                        help=f"time of measuring a case (default {seconds})")
    parser.add_argument("--limit", type=float, default=40,
                        help="seconds that one contender may take to get ready "
                             "for a case (default 40)")
    parser.add_argument("--budget", type=float, default=0,
                        help="seconds after which no further case starts")
    parser.add_argument("--shard", default="0/1", metavar="I/N",
                        help="every N-th case from the I-th on")
    parser.add_argument("--seed", type=int, default=None,
                        help="of the inputs (default: another one each run)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="cases that fusec compiles at the same time, ahead "
                             "of the first (default 1: each when its turn comes, "
                             "so that compile times are those of a free machine)")
    parser.add_argument("--list", action="store_true", help="names and exit")


def choose(options, cases):
    """The cases that the names stand for, in order; None if one stands for
    nothing."""
    if not options.cases:
        chosen = [c for c in cases if not c.neighbour]
    else:
        chosen = []
        for pattern in options.cases:
            found = [c for c in cases if fnmatch.fnmatchcase(c.name, pattern)]
            if not found:
                print(f"no case is named {pattern!r}: see --list",
                      file=sys.stderr)
                return None
            chosen += [c for c in found if c not in chosen]
    first, count = (int(n) for n in options.shard.split("/"))
    return chosen[first::count]


def open_device(options, names, modules):
    """(arrays, bandwidths or None, names of peers); `names` are the peers that
    there are, `modules` has NumpyArrays and TorchArrays. Ends the program where
    something is missing."""
    try:
        import fusec  # noqa: F401
    except (ImportError, OSError) as error:
        raise SystemExit(f"fusec's Python module: {error} (PYTHONPATH names "
                         "its folder, FUSEC_LIBRARY the library)")
    from . import measure
    seed = (options.seed if options.seed is not None
            else int.from_bytes(os.urandom(4), "little"))
    peers = [p for p in options.peers.split(",") if p and p != "none"]
    unknown = [p for p in peers if p not in names]
    if unknown:
        raise SystemExit(f"unknown peer {unknown[0]!r}: expected "
                         f"{', '.join(names)} or none")
    if options.target != "cuda":
        try:
            return modules.NumpyArrays(seed), None, []
        except ImportError as error:
            print(f"skipped: {error}", file=sys.stderr)
            raise SystemExit(77)  # "skipped" for test runners
    peer_cache.use(options.peer_cache)
    try:
        import torch
    except ImportError:
        raise SystemExit("--target=cuda needs PyTorch for its buffers; "
                         "--target=host checks the cases without it")
    if not torch.cuda.is_available():
        raise SystemExit("no GPU that PyTorch can use; --target=host checks "
                         "the cases on the CPU")
    arrays = modules.TorchArrays(seed)
    rates = None if options.quick else measure.bandwidths(torch)
    return arrays, rates, peers


def compiled(cases, make, jobs):
    """{case's name: function that gives make(case) or raises what it raised}.
    With several `jobs` all are made first, so many at the same time."""
    if jobs <= 1:
        return {case.name: (lambda case=case: make(case)) for case in cases}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {case.name: pool.submit(make, case) for case in cases}
    return {name: future.result for name, future in futures.items()}


def clean_up(arrays):
    """Gives a case's memory back to the device."""
    gc.collect()
    if arrays.name == "cuda":
        arrays.torch.cuda.synchronize()
        arrays.torch.cuda.empty_cache()
