# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a network goes: fusec's kernels beside a peer's.

Both run products, attention and other kernels in the same order, but cut the
others in different places: a residual is added in a product's kernel here and
in a norm's there. So the kernels of a call are cut into parts that begin with a
product or with an attention, and parts are compared in turn. Kernels are traced
as the GPU runs them (PyTorch's profiler, which sees those of fusec, too).
"""

import re
import statistics

#: What kernels of PyTorch's libraries are, by name; else "other". Inductor names
#: its kernels after all operators that they serve, but templates are products.
_NAMES = (("other", r"^triton_(?!tem)|split_?k_?reduce"),
          ("attention", r"flash|fmha|attention|sdpa"),
          ("product", r"gemm|nvjet|cutlass|xmma|^triton_tem|conv(?!ert)"))


def kind_of(name):
    """"product", "attention" or "other"."""
    for kind, pattern in _NAMES:
        if re.search(pattern, name, re.IGNORECASE):
            return kind
    return "other"


def kinds_of_plan(plan):
    """The kinds of fusec's launches in order: products around a softmax are
    attention, and so is the softmax. `plan`: Executable.plan."""
    kernels = plan["kernels"]
    kinds = ["product" if k["kind"] == "contraction" else "other"
             for k in kernels]
    for i, kernel in enumerate(kernels):
        ops = [op["op"] for op in kernel["ops"]]
        if (kernel["kind"] == "row" and "exp" in ops
                and kinds[i - 1:i] == ["product"]
                and kinds[i + 1:i + 2] == ["product"]):
            kinds[i - 1:i + 2] = ["attention"] * 3
    return kinds


def trace(torch, step, sets, calls=8):
    """[(name, us)] of the kernels of one call: what each adds to the time at
    which the GPU has done everything before it, the median over `calls`."""
    from torch.profiler import ProfilerActivity, profile
    for i in range(sets):
        step(i)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for i in range(calls):
            step(i % sets)
        torch.cuda.synchronize()
    found = sorted((event.time_range.start, event.time_range.end, event.name)
                   for event in profiler.events()
                   if event.device_type == torch.autograd.DeviceType.CUDA
                   and not event.name.startswith(("Memcpy", "Memset", "gpu_")))
    return per_call(found, calls)


def per_call(found, calls):
    """[(name, us)] from [(start, end, name)] of equal calls, in order of
    start."""
    count = len(found) // calls
    if not count or len(found) != count * calls:
        raise ValueError(f"expected {calls} times the same kernels, found "
                         f"{len(found)}")
    times, done = [[] for _ in range(count)], found[0][0]
    for i, (start, end, _) in enumerate(found):
        times[i % count].append(max(0.0, end - max(start, done)))
        done = max(done, end)
    return [(found[i][2], statistics.median(times[i])) for i in range(count)]


def parts(kinds, kernels):
    """[(kind, [(name, us)])]: a product or an attention with what follows it;
    what stands ahead of the first is "begin". Kernels of attention in a row are
    one."""
    result = [("begin", [])]
    for kind, kernel in zip(kinds, kernels):
        last, found = result[-1]
        if kind == "other" or kind == last == "attention":
            found.append(tuple(kernel))
        else:
            result.append((kind, [tuple(kernel)]))
    return result


def runs_of_products(found):
    """Parts in which products that follow each other are one."""
    result = found[:1]
    for kind, kernels in found[1:]:
        last, before = result[-1]
        if kind == last:
            result[-1] = kind, before + kernels
        else:
            result.append((kind, kernels))
    return result


def beside(plan, ours, theirs):
    """Rows {"kind", "count", "first", "kernels", "us", "peer_kernels",
    "peer_us"}: parts of fusec that run the same kernels are one row, with mean
    times. `first` is the first op's place in the graph; kernels are (name, us),
    those of the first such part. Where one has more products (two for a gate and
    what it is for, one in the peer), products that follow each other are one
    part. Raises ValueError where the two do not cut alike even so."""
    kinds = kinds_of_plan(plan)
    if len(kinds) != len(ours):
        raise ValueError(f"the plan has {len(kinds)} launches, the trace "
                         f"{len(ours)}")
    mine = parts(kinds, ours)
    other = parts([kind_of(name) for name, _ in theirs], theirs)
    if len(mine) != len(other):
        mine, other = runs_of_products(mine), runs_of_products(other)
    if [kind for kind, _ in mine] != [kind for kind, _ in other]:
        raise ValueError("the peer's products are others")
    rows, at = {}, 0
    for (kind, kernels), (_, peers) in zip(mine, other):
        place = plan["kernels"][at]["ops"][0]["place"] if kernels else ""
        at += len(kernels)
        row = rows.setdefault((kind, tuple(name for name, _ in kernels)), {
            "kind": kind, "count": 0, "first": place, "kernels": kernels,
            "peer_kernels": peers, "us": 0.0, "peer_us": 0.0})
        row["count"] += 1
        row["us"] += sum(us for _, us in kernels)
        row["peer_us"] += sum(us for _, us in peers)
    for row in rows.values():
        row["us"] /= row["count"]
        row["peer_us"] /= row["count"]
    return [row for row in rows.values() if row["kernels"]
            or row["peer_kernels"]]
