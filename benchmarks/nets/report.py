# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the figures of a run."""

import math
import statistics

from ..common.report import columns


def _us(row, name):
    entry = row["contenders"].get(name, {})
    if "wrong" in entry:
        return "wrong"
    return f"{entry['median_us']:.0f}" if "median_us" in entry else "-"


def best_peer(row, peers):
    """(name, us) of the fastest right peer, or None."""
    found = [(row["contenders"][name]["median_us"], name) for name in peers
             if "median_us" in row["contenders"].get(name, {})
             and "wrong" not in row["contenders"][name]]
    return min(found)[::-1] if found else None


def judge(row, peers):
    """Adds the ratio to the best peer and the verdict."""
    fusec = row["contenders"].get("fusec", {})
    if "wrong" in fusec:
        row["verdict"] = f"wrong: {fusec['wrong']}"
        return
    if "median_us" not in fusec:
        row["verdict"] = f"failed: {fusec.get('failed', 'no time')}"
        return
    best = best_peer(row, peers)
    row["verdict"] = "right" if "error" in fusec else "unchecked"
    if best:
        row["best_peer"] = best[0]
        row["speedup"] = best[1] / fusec["median_us"]
        row["verdict"] += f", best peer: {best[0]}"


def line(row):
    """A case as soon as it is measured: times in us, and what each contender
    took to load and to build."""
    parts = []
    for name, entry in row["contenders"].items():
        if name == "reference":
            continue
        steps = "+".join(f"{entry[key]:.1f}" for key in ("load_s", "build_s")
                         if key in entry)
        parts.append(f"{name} {_us(row, name)} ({steps or 'not loaded'})")
    return f"{row['case']}: {row['verdict']}; us (s): {', '.join(parts)}"


def table(rows, peers):
    """Text of all rows, one a line. Times in microseconds."""
    lines = [["network", "fusec", "p10", "p90", "launches", "kernels", "unfused",
              "launches", *peers, "best/fusec", "predicted", "error", "eager's", ""]]
    for row in rows:
        fusec = row["contenders"].get("fusec", {})
        eager = row["contenders"].get("eager", {})
        line = [row["case"], _us(row, "fusec")]
        line += [f"{fusec[k]:.0f}" if k in fusec else "-"
                 for k in ("p10_us", "p90_us")]
        unfused = row["contenders"].get("unfused", {})
        line += [str(fusec.get("launches", "-")),
                 str(fusec.get("kernels", "-")), _us(row, "unfused"),
                 str(unfused.get("launches", "-"))]
        line += [_us(row, name) for name in peers]
        line.append(f"{row['speedup']:.2f}" if "speedup" in row else "-")
        line.append(f"{fusec['predicted_us']:.0f}" if "predicted_us" in fusec
                    else "-")
        line += [f"{e['error']:.0e}" if "error" in e else "-"
                 for e in (fusec, eager)]
        line.append(row.get("verdict", ""))
        lines.append(line)
    return columns(lines)


def details(rows):
    """What is not in the table: compile times, formats, failures."""
    lines = []
    for row in rows:
        for name, entry in row["contenders"].items():
            if "failed" in entry or "wrong" in entry:
                problem = entry.get("failed") or entry["wrong"]
                lines.append(f"{row['case']}: {name}: {problem}")
        parts = []
        for name, entry in row["contenders"].items():
            if "compile_ms" in entry:
                text = f"{name} {entry['compile_ms'] / 1e3:.1f}"
                if entry.get("format"):
                    text += f" ({entry['format']})"
                parts.append(text)
        if parts:
            lines.append(f"{row['case']}: seconds to compile: "
                         f"{', '.join(parts)}")
    return "\n".join(lines)


#: Parts that take less than this of a peer's speed are shown kernel by kernel.
BEHIND = 0.97


def _parts(name, peer, parts):
    """fusec's parts of a network beside a peer's, in us, and the kernels of
    those that are behind."""
    lines = [["part", "times", "fusec", "launches", peer, "launches",
              f"{peer}/fusec", "from"]]
    behind = []
    for part in parts:
        ratio = part["peer_us"] / part["us"] if part["us"] else math.inf
        lines.append([part["kind"], str(part["count"]), f"{part['us']:.1f}",
                      str(len(part["kernels"])), f"{part['peer_us']:.1f}",
                      str(len(part["peer_kernels"])), f"{ratio:.2f}",
                      part["first"]])
        if ratio < BEHIND and part["kind"] != "attention":
            for whose, key in (("fusec", "kernels"), (peer, "peer_kernels")):
                each = ", ".join(f"{kernel[:60]} {us:.1f}"
                                 for kernel, us in part[key])
                behind.append(f"  {part['kind']} from {part['first']}: {whose}:"
                              f" {each}\n")
    return (f"{name}, kernels beside {peer}:\n{columns(lines)}\n"
            + "".join(behind))


def kernels(rows):
    """A table for each network whose kernels were traced and each peer."""
    text = ""
    for row in rows:
        for peer, problem in row.get("kernels_failed", {}).items():
            text += f"{row['case']}: kernels beside {peer}: {problem}\n"
        for peer, parts in row.get("kernels", {}).items():
            text += _parts(row["case"], peer, parts)
    return text


def summary(rows, peers):
    """Means over all rows that have times."""
    result = {"cases": len(rows), "right": sum(
        row.get("verdict", "").startswith("right") for row in rows)}
    for name in ("best", "unfused", *peers):
        ratios = []
        for row in rows:
            fusec = row["contenders"].get("fusec", {})
            other = row["contenders"].get(name, {})
            if name == "best":
                ratio = row.get("speedup")
            elif "median_us" in fusec and "median_us" in other:
                ratio = other["median_us"] / fusec["median_us"]
            else:
                ratio = None
            if ratio:
                ratios.append(ratio)
        if ratios:
            result[f"geomean_{name}_over_fusec"] = math.exp(
                statistics.fmean(math.log(ratio) for ratio in ratios))
    return result
