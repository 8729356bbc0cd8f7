#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one product in other tiles than the one that is chosen.

    tiles.py MODEL.mlir TILE... [--fusec=fusec] [--repeat=20] [--with=FILE] [--code=A=>B]

MODEL is a graph of one kernel of the Warpgroup loop, or a product as in
"bf16 8192x8192x4096 nk gelu": [Bx]MxNxK, w [k, n] without nk. A TILE is
"consumers,columns,stages,group,blocks,cluster,parts" as GemmWgmmaConfig has them,
"apart,columns,stagesA,stagesB,group,cluster,promoted" of GemmApartConfig, or
"split,consumers,columns,stages,group,sharers,ranks,parts" of GemmSplitConfig. A
graph of one kernel of the loop for few rows has TILEs "few,columns,warps,stages,
cluster,blocks" of GemmFewConfig, which are timed with nothing of theirs in the L2.
For each `fusec compile --emit=cu` is changed and compiled by nvcc; `--code` also
changes the text (variants of the skeleton). Prints microseconds of the median launch
and the checksum line, by which equal arithmetic is seen to give equal bits.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Programs make their inputs at the same time and take the GPU in turns.
INCLUDES = "#include <fcntl.h>\n#include <sys/file.h>\n"
TIMED = """
  { auto timed = [&] { %s };
    size_t rest = %d;
    void *other = nullptr;
    if (rest) cudaMalloc(&other, rest);
    int turn = open("/tmp/fusec-tiles.lock", O_CREAT | O_RDWR, 0666);
    flock(turn, LOCK_EX);
    float times[%d];
    cudaEvent_t begin, end; cudaEventCreate(&begin); cudaEventCreate(&end);
    for (int i = 0; i < 5; ++i) timed();
    for (float &t : times) {
      if (rest) cudaMemsetAsync(other, 0, rest);
      cudaEventRecord(begin); timed(); cudaEventRecord(end);
      cudaEventSynchronize(end); cudaEventElapsedTime(&t, begin, end);
    }
    for (float &t : times) for (float *u = &t + 1; u < times + %d; ++u)
      if (*u < t) { float v = t; t = *u; *u = v; }
    std::printf("median %%.1f us, p10 %%.1f us\\n", times[%d] * 1e3,
                times[%d] * 1e3);
    flock(turn, LOCK_UN); }
"""


def padded(columns):
    return -(-columns // 64) * 64


def timed(text, launch, repeat, rest):
    """The program with its only launch timed; `rest` bytes are written before
    each."""
    found = re.search(r"launch\(\(const void \*\)k_\w+, .*?, args\);", text)
    return text.replace(found[0], TIMED % (launch, rest, repeat, repeat,
                                           repeat // 2, repeat // 10))


def few(text, columns, warps, stages, cluster, blocks, repeat):
    """The program with another GemmFewConfig."""
    kind, rows, was, *numbers = re.search(
        r"= GemmFewConfig<(GemmKind::\w+), ([^>]*)>", text)[0][16:-1].split(", ")
    rows, span, staged = int(rows), *map(int, (numbers[3:] + ["0", "0"])[:2])
    new = [kind, rows, columns, warps, stages, cluster]
    text = re.sub(r"= GemmFewConfig<[^>]*>", "= GemmFewConfig<" + ", ".join(
        map(str, new + ([span, staged] if span else []))) + ">", text)
    macro = (f"FUSEC_KERNEL_CLUSTER(\\1, {32 * warps}, {blocks}, {cluster})("
             if cluster > 1 else f"FUSEC_KERNEL_MIN(\\1, {32 * warps}, {blocks})(")
    text = re.sub(r"FUSEC_KERNEL_(?:CLUSTER|MIN)\((k_\w+), [^)]*\)\(", macro, text)
    groups = columns // 8 * (staged if span else 1) + rows // 8 * max(1, span // 8)
    shared = max(stages * groups * 512, rows * (columns + 4) * 4) * warps
    launch = re.search(r"launch\((\(const void \*\)k_\w+), dim3\((\d+), 1, 1\), "
                       r"\d+, (\d+),", text)
    tiles = -(-int(launch[2]) // max(1, int(launch[3])) * int(was) // columns)
    return timed(text, f"launch({launch[1]}, dim3({tiles * cluster}, 1, 1), "
                 f"{32 * warps}, {cluster}, false, {shared}, args);", repeat, 1 << 28)


def changed(text, tile, repeat, code, extra):
    """The program with another tile and other text."""
    text = (few(text, *tile[1:], repeat) if tile[0] == "few" else
            large(text, tile, repeat))
    if extra:
        before = "/// The CTA's part of the contraction; meaning as for gemm_mma."
        assert before in text
        text = text.replace(before, open(extra).read() + before)
    for change in code:
        a, b = change.split("=>")
        assert a in text, f"no {a!r} in the text"
        text = text.replace(a, b)
    return INCLUDES + text


def large(text, tile, repeat):
    """The program with another tile of a loop on warpgroups."""
    chosen = re.findall(r"= Gemm\w+Config<GemmKind::(\w+),", text)[-1]
    inner = 128 // (2 if chosen in ("F16", "BF16") else 4 if chosen == "TF32" else 1)
    if tile[0] == "apart":
        columns, stages, half, group, cluster, promoted = tile[1:]
        name, rows, threads, blocks, shares = "GemmApartConfig", 128, 384, 1, 2
        shared = 128 * (stages * rows + 2 * half * (padded(columns // 2) if inner == 64
                                                  else columns // 2))
        numbers = [columns, stages, half, group, cluster]
        numbers += ["true"] if promoted else []
    elif tile[0] == "split":
        consumers, columns, stages, group, shares, ranks, parts = tile[1:]
        name, rows, blocks, cluster = "GemmSplitConfig", 64 * consumers, 1, shares * ranks
        threads = 128 * (consumers + 1)
        shared = stages * (rows + padded(columns)) * 128
        numbers = [consumers, columns, stages, group, shares, ranks]
        numbers += [parts] if parts else []
    else:
        consumers, columns, stages, group, blocks, cluster, parts = tile
        name, rows, shares = "GemmWgmmaConfig", 64 * consumers, cluster
        threads = 128 * (consumers + 1)
        shared = stages * (rows + padded(columns)) * 128
        numbers = [consumers, columns, stages, group, blocks, cluster]
        numbers += [parts] if parts else []
    text, n = re.subn(r"= Gemm(?:Wgmma|Apart|Split)Config<(GemmKind::\w+), [^>]*>",
                      lambda m: f"= {name}<{m[1]}, "
                      f"{', '.join(map(str, numbers))}>", text)
    assert n == 1, "expected one kernel of the Warpgroup loop"
    text, n = re.subn(
        r"FUSEC_KERNEL_(?:CLUSTER|MIN)\((k_\w+), [^)]*\)\(",
        lambda m: f"FUSEC_KERNEL_CLUSTER({m[1]}, {threads}, {blocks}, {cluster})(",
        text)
    assert n == 1
    # Operands along the outer dimension come in panels.
    outer = [re.search(f"kOrder{side} = GemmOrder::OuterContiguous", text)
             for side in "AB"]
    boxes = iter([64 if outer[0] else rows, 64 if outer[1] else columns // shares])
    # Rows of B along k may come in blocks of 32 (GemmBox).
    text = re.sub(r"(= tensorMap\([^;]*?\}, \{)%d, (2, 4, 4, )?\d+" % inner,
                  lambda m: f"{m[1]}{inner}, {m[2]}{next(boxes) // 32}" if m[2]
                  else f"{m[1]}{inner}, {next(boxes)}", text)
    launch = re.search(r"launch\(\(const void \*\)(k_\w+), .*?, args\);", text)
    new = (f"launch((const void *){launch[1]}, dim3({132 * blocks // cluster * cluster}, 1, 1), "
           f"{threads}, {cluster}, false, {shared}, args);")
    return timed(text, new, repeat, 0)


def model(text):
    """The graph of a product."""
    kind, extents, *rest = text.split()
    *batch, m, n, k = map(int, extents.split("x"))
    element = {"f8": "f8E4M3FN"}.get(kind, kind)
    result = "bf16" if kind == "f8" else "i32" if kind == "i8" else kind

    def tensor(dtype, *shape):
        return f"tensor<{'x'.join(map(str, (*batch, *shape)))}x{dtype}>"
    is_turned, b = "nk" in rest, len(batch)
    x, w = tensor(element, m, k), tensor(element, *((n, k) if is_turned else (k, n)))
    y, row = tensor(result, m, n), f"tensor<{n}x{result}>"
    extra = " {allowTf32 = true}" if kind == "f32" else (
        " {graph.fast_accumulation}" if "fast" in rest else "")
    axes = f"{list(range(b))} x {list(range(b))}"
    lines = [f"  %p = graph.contract %x, %w batch {axes} contract [{b + 1}] x "
             f"[{b + is_turned}]{extra} : {x}, {w} -> {y}"]
    if "gelu" in rest:
        lines += [f"  %b = graph.broadcast %bias [{b + 1}] : {row} -> {y}",
                  f"  %h = graph.add %p, %b : {y}",
                  f"  %g = graph.gelu tanh %h : {y}"]
    bias = f", %bias: {row}" if "gelu" in rest else ""
    name = "%g" if "gelu" in rest else "%p"
    return (f"func.func @main(%x: {x}, %w: {w}{bias}) -> {y} {{\n"
            + "\n".join(lines) + f"\n  return {name} : {y}\n}}\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("tiles", nargs="+")
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--code", action="append", default=[])
    parser.add_argument("--with", dest="extra",
                        help="text to put before the entry of the loop")
    options = parser.parse_args()
    is_file = os.path.exists(options.model)
    text = subprocess.run(
        [options.fusec, "compile", options.model if is_file else "-", "--quiet",
         "--emit=cu", "--arch=sm_90a"], check=True, stdout=subprocess.PIPE,
        input=None if is_file else model(options.model), text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        def build(name):
            path = os.path.join(folder, name.replace(",", "_"))
            with open(path + ".cu", "w") as file:
                file.write(changed(text, [int(x) if x.isdigit() else x
                                          for x in name.split(",")],
                                   options.repeat, options.code,
                                   options.extra))
            run = subprocess.run(
                ["nvcc", "-std=c++17", "-fmad=false", "-gencode=arch=compute_90a,code=sm_90a", "-O3",
                 "-Xptxas", "-v", "-o", path, path + ".cu", "-lcuda"],
                capture_output=True, text=True)
            spills = re.findall(r"(\d+) bytes spill stores", run.stderr)
            return path, run, sum(map(int, spills))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(build, options.tiles))
            outs = list(pool.map(
                lambda made: made[1].returncode == 0 and subprocess.run(
                    [made[0]], capture_output=True, text=True), built))
        for name, (path, run, spills), out in zip(options.tiles, built, outs):
            if run.returncode:
                print(f"{name}: {run.stderr[-600:]}")
                continue
            print(f"{name}: spills {spills}, "
                  f"{' | '.join((out.stdout + out.stderr).split(chr(10)))}",
                  flush=True)


if __name__ == "__main__":
    main()
