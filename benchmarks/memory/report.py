# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table, the summary and the roofline picture of a run."""

import html
import math
import statistics

from ..common.report import columns


def _us(entry):
    return f"{entry['median_us']:.1f}" if "median_us" in entry else "-"


def table(rows, peers):
    """Text of all rows, one a line."""
    head = ["case", "floor", "aim", "fusec", "p10", "p90", "x floor", "krn",
            "predicted", *peers, "best/fusec", "error", ""]
    lines = [head]
    for row in rows:
        fusec = row["contenders"].get("fusec", {})
        line = [row["case"]]
        if "floor_us" in row:
            aim = row.get("aim_us")
            line += [f"{row['floor_us']:.1f}", f"{aim:.1f}" if aim else "-"]
        else:
            line += ["-", "-"]
        if "median_us" in fusec:
            line += [_us(fusec), f"{fusec['p10_us']:.1f}",
                     f"{fusec['p90_us']:.1f}",
                     f"{fusec['median_us'] / row['floor_us']:.2f}"]
        else:
            line += ["-"] * 4
        line += [str(fusec.get("launches", "-")),
                 f"{fusec['predicted_us']:.1f}" if "predicted_us" in fusec
                 else "-"]
        line += [_us(row["contenders"].get(name, {})) for name in peers]
        line.append(f"{row['speedup']:.2f}" if "speedup" in row else "-")
        line.append(f"{row['error']:.1e}" if "error" in row else "-")
        line.append(row.get("verdict", ""))
        lines.append(line)
    return columns(lines)


def judge(row, case):
    """Adds aim, speed-up over the best peer and verdict to a measured row."""
    floor = row["floor_us"]
    row["aim_us"] = (case.limit if case.limit is not None
                     else case.ratio * floor + case.extra)
    fusec = row["contenders"].get("fusec", {})
    if "median_us" not in fusec:
        row["verdict"] = row.get("verdict", "no time")
        return
    time = fusec["median_us"]
    peers = [entry["median_us"] for name, entry in row["contenders"].items()
             if name != "fusec" and "median_us" in entry]
    if peers:
        row["speedup"] = min(peers) / time
    notes = []
    if time > row["aim_us"]:
        notes.append("slow")
    if peers and row["speedup"] < 0.98:
        notes.append("behind a peer")
    if case.kernels and fusec["launches"] != case.kernels:
        notes.append("launches")
    row["verdict"] = ", ".join(notes) or "met"


def summary(rows, cases):
    """Figures over all rows: aims met, mean ratio to the best peer, error of
    the cost model."""
    by_name = {case.name: case for case in cases}
    timed = [row for row in rows
             if "median_us" in row["contenders"].get("fusec", {})]
    ratios = [min(row["speedup"], 4.0) for row in timed
              if "speedup" in row and not by_name[row["case"]].launch_bound]
    errors = sorted(
        abs(f["predicted_us"] - f["median_us"]) / f["median_us"]
        for f in (row["contenders"]["fusec"] for row in timed)
        if f.get("predicted_us"))
    result = {"cases": len(rows), "timed": len(timed),
              "met": sum(row.get("verdict") == "met" for row in rows),
              "wrong": sum(row.get("verdict", "").startswith("wrong")
                           for row in rows)}
    if ratios:
        result["geomean_best_peer_over_fusec"] = math.exp(
            statistics.fmean(math.log(r) for r in ratios))
    if errors:
        result["model_error_median"] = statistics.median(errors)
        result["model_error_p95"] = errors[min(len(errors) - 1,
                                               int(0.95 * len(errors)))]
    return result


def roofline(rows, bandwidth):
    """An SVG: each case's bytes against its time; lines: copy and read
    bandwidth."""
    points = [(row["case"], row["bytes"], name, entry["median_us"])
              for row in rows for name, entry in row["contenders"].items()
              if "median_us" in entry]
    if not points:
        return ""
    width, height, margin = 900, 600, 60
    x0 = math.floor(math.log10(min(p[1] for p in points)))
    x1 = math.ceil(math.log10(max(p[1] for p in points)) + 1e-9)
    top = 1.25 * max(*(bandwidth.values()),
                     *(p[1] / (p[3] * 1e-6) for p in points))

    def at(moved, rate):
        x = margin + (math.log10(moved) - x0) / max(x1 - x0, 1) * (
            width - 2 * margin)
        return x, height - margin - rate / top * (height - 2 * margin)
    colours = {"fusec": "#c0392b", "torch": "#7f8c8d", "compile": "#2980b9",
               "cudnn": "#27ae60", "autotune": "#16a085", "jax": "#8e44ad", "optim": "#d35400"}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for name, rate in bandwidth.items():
        (xa, y), (xb, _) = at(10 ** x0, rate), at(10 ** x1, rate)
        out.append(f'<line x1="{xa:.0f}" y1="{y:.1f}" x2="{xb:.0f}" '
                   f'y2="{y:.1f}" stroke="#aaa" stroke-dasharray="4 3"/>'
                   f'<text x="{xb + 4:.0f}" y="{y + 4:.1f}">{name} '
                   f'{rate / 1e12:.2f}</text>')
    for power in range(x0, x1 + 1):
        x, y = at(10 ** power, 0)
        out.append(f'<text x="{x:.0f}" y="{y + 16:.0f}" '
                   f'text-anchor="middle">1e{power} B</text>')
    for name, moved, who, time in points:
        x, y = at(moved, moved / (time * 1e-6))
        label = html.escape(f"{name}: {who} {time:.1f} us")
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill='
                   f'"{colours.get(who, "black")}" fill-opacity="0.7">'
                   f'<title>{label}</title></circle>')
    for i, (name, colour) in enumerate(colours.items()):
        out.append(f'<text x="{margin + 90 * i}" y="20" fill="{colour}">'
                   f'{name}</text>')
    out.append(f'<text x="{margin}" y="{height - 12}">bytes that have to move '
               f'against TB/s</text></svg>')
    return "\n".join(out)
