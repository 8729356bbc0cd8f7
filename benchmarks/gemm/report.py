# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the summary of a run."""

import math
import statistics

from ..common import pairs
from ..common.report import columns
from .contenders import GROUPS


def _fastest(row, names):
    """The contender of the groups `names` with the least median; None if none
    has times."""
    times = {label: entry["median_us"]
             for label, entry in row["contenders"].items()
             if entry.get("group") in names and "median_us" in entry}
    return min(times, key=times.get) if times else None


def _judge_aim(row, against, least, floor_us, times):
    """What an aim came to: "met" if the lower bound of the ratio reaches it,
    "missed" if its median does not, "open" in between or without enough
    pairs, "not run" without the contender."""
    result = {"against": against, "aim": least}
    if against == "read":
        ratios = [floor_us / time for time in times["fusec"]]
    else:
        other = _fastest(row, GROUPS[against])
        if not other:
            return {**result, "verdict": "not run"}
        result["contender"] = other
        ratios = [b / a for a, b in zip(times["fusec"], times[other])]
    result.update(pairs.judge(ratios))
    if result["pairs"] >= pairs.LEAST and result["lower"] >= least:
        verdict = "met"
    elif result["median"] < least:
        verdict = "missed"
    else:
        verdict = "open"
    return {**result, "verdict": verdict}


def judge(row, case, problem, read_rate, times):
    """Adds rates, the best peer, what each aim came to and the verdict to a
    measured row. `times`: {contender: replays in us, in turns}."""
    fusec = row["contenders"]["fusec"]
    time = fusec["median_us"]
    row["tflops"] = problem.flops / time * 1e-6
    floor_us = problem.bytes / read_rate * 1e6
    row["bandwidth"] = floor_us / time
    best = _fastest(row, GROUPS["best"])
    if best:
        row["best_peer"] = best
        row["best_us"] = row["contenders"][best]["median_us"]
        row["speedup"] = row["best_us"] / time
    row["aims"] = [_judge_aim(row, against, least, floor_us, times)
                   for against, least in case.aims.items()]
    found = {aim["verdict"] for aim in row["aims"]}
    row["verdict"] = next((word for word in ("missed", "open", "not run", "met")
                           if word in found), "timed")
    # -1: not known of a kernel that came from the disk.
    if any(spilled > 0 for _, spilled in fusec.get("kernels", ())):
        row["verdict"] += ", spills"
    row["vendor"] = [choice["vendor"] for choice in fusec.get("choices", ())
                     if "vendor" in choice]


def _aim(aim):
    """An aim in words: against whom, median (lower bound) of aim."""
    text = aim["against"]
    if "median" in aim:
        lower = "-" if aim["lower"] is None else f"{aim['lower']:.3f}"
        text += f" {aim['median']:.3f} ({lower})"
    return f"{text} of {aim['aim']:.3f} {aim['verdict']}"


def table(rows):
    """Text of all rows, one a line."""
    lines = [["case", "fusec", "p10", "p90", "TFLOP/s", "of read", "krn",
              "predicted", "best peer", "peer/fusec", "error", ""]]
    for row in rows:
        fusec = row["contenders"].get("fusec", {})
        line = [row["case"]]
        if "median_us" in fusec:
            line += [f"{fusec[key]:.1f}"
                     for key in ("median_us", "p10_us", "p90_us")]
        else:
            line += ["-"] * 3
        line += ([f"{row['tflops']:.0f}", f"{row['bandwidth']:.2f}"]
                 if "tflops" in row else ["-"] * 2)
        line += [str(fusec.get("launches", "-")),
                 f"{fusec['predicted_us']:.1f}" if "predicted_us" in fusec
                 else "-"]
        line += ([f"{row['best_us']:.1f}", f"{row['speedup']:.2f}"]
                 if "speedup" in row else ["-", "-"])
        line += [f"{row['error']:.1e}" if "error" in row else "-",
                 "; ".join([row.get("verdict", "")] + row.get("vendor", [])
                           + [_aim(aim) for aim in row.get("aims", ())])]
        lines.append(line)
    return columns(lines)


def summary(rows):
    """Cases and aims met, wrong rows, mean ratio to the best peer, error of the
    cost model."""
    timed = [r for r in rows
             if "median_us" in r["contenders"].get("fusec", {})]
    result = {"cases": len(rows), "timed": len(timed),
              "met": sum(r.get("verdict") == "met" for r in rows),
              "wrong": sum(r.get("verdict", "").startswith("wrong")
                           for r in rows)}
    aims = [aim["verdict"] for r in timed for aim in r.get("aims", ())]
    for word in ("met", "missed", "open", "not run"):
        if word in aims:
            result[f"aims_{word.replace(' ', '_')}"] = aims.count(word)
    ratios = [r["speedup"] for r in timed if "speedup" in r]
    if ratios:
        result["geomean_best_peer_over_fusec"] = math.exp(
            statistics.fmean(math.log(r) for r in ratios))
    errors = [abs(f["predicted_us"] - f["median_us"]) / f["median_us"]
              for f in (r["contenders"]["fusec"] for r in timed)
              if f.get("predicted_us")]
    if errors:
        result["model_error_median"] = statistics.median(errors)
    return result
