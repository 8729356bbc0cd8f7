# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the summary of a run."""

import math
import statistics

from ..common.report import columns


def judge(row, case, problem, read_rate):
    """Adds rates, the best peer and the verdict to a measured row."""
    fusec = row["contenders"]["fusec"]
    time = fusec["median_us"]
    row["tflops"] = problem.flops / time * 1e-6
    row["bandwidth"] = problem.bytes / (time * 1e-6) / read_rate
    times = {name: entry["median_us"]
             for name, entry in row["contenders"].items()
             if name != "fusec" and "median_us" in entry}
    notes = []
    if times:
        best = min(times, key=times.get)
        row["best_peer"], row["best_us"] = best, times[best]
        row["speedup"] = times[best] / time
        if row["speedup"] < case.aim:
            notes.append("slow")
    if case.bandwidth and row["bandwidth"] < case.bandwidth:
        notes.append("bandwidth")
    if any(spilled for _, spilled in fusec.get("kernels", ())):
        notes.append("spills")
    row["verdict"] = ", ".join(notes) or "met"
    row["vendor"] = [choice["vendor"] for choice in fusec.get("choices", ())
                     if "vendor" in choice]


def table(rows):
    """Text of all rows, one a line."""
    lines = [["case", "fusec", "p10", "p90", "TFLOP/s", "of read", "krn",
              "predicted", "best peer", "peer/fusec", "aim", "error", ""]]
    for row in rows:
        fusec = row["contenders"].get("fusec", {})
        line = [row["case"]]
        if "median_us" in fusec:
            line += [f"{fusec[key]:.1f}"
                     for key in ("median_us", "p10_us", "p90_us")]
            line += [f"{row['tflops']:.0f}", f"{row['bandwidth']:.2f}"]
        else:
            line += ["-"] * 5
        line += [str(fusec.get("launches", "-")),
                 f"{fusec['predicted_us']:.1f}" if "predicted_us" in fusec
                 else "-"]
        line += ([f"{row['best_us']:.1f}", f"{row['speedup']:.2f}"]
                 if "speedup" in row else ["-", "-"])
        aim = f"{row['aim']:.2f}"
        if row["aim_bandwidth"]:
            aim += f", {row['aim_bandwidth']:.2f}"
        line += [aim, f"{row['error']:.1e}" if "error" in row else "-",
                 ", ".join([row.get("verdict", "")] + row.get("vendor", []))]
        lines.append(line)
    return columns(lines)


def summary(rows):
    """Aims met, wrong rows, mean ratio to the best peer, error of the cost
    model."""
    timed = [r for r in rows
             if "median_us" in r["contenders"].get("fusec", {})]
    result = {"cases": len(rows), "timed": len(timed),
              "met": sum(r.get("verdict") == "met" for r in rows),
              "wrong": sum(r.get("verdict", "").startswith("wrong")
                           for r in rows)}
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
