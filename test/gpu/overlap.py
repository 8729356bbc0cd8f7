# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches that overlap: the same bits as launches that do not, and what they gain.

    python3 overlap.py [--runs=N] [--repeat=N] [--fusec=PATH] [MODEL...]

First each graph below is run N times through contexts that overlap, as CUDA
graphs of the context, launch by launch and captured by the caller, without
waiting in between: the caller writes the input just before each run and copies
the output just after it, on the same stream. Results are compared, bit for bit,
with those of a context without overlap. Graphs are compiled without fusion, so
that they are long chains of small kernels that share a workspace.

Then `fusec bench` times each graph and MODEL (fused) with and without
--disable-pass=fusec-simt-overlap-launches, in turn. Needs a GPU of sm_90,
PyTorch, the Python package fusec (PYTHONPATH, FUSEC_LIBRARY), and fusec on PATH
or by --fusec. Exits with 1 if any bits differ.
"""
import argparse
import ctypes as ct
import json
import os
import statistics
import subprocess
import sys
import tempfile

import families


def elementwise(length, size):
    g = families.Graph()
    x = g.argument(families.tensor(size, "f32"))
    for i in range(length):
        x = g.op(("tanh", "sin", "abs")[i % 3], x)
    return g.out(x)


def mixed(length, size, type_="f32"):
    """Row softmaxes, transposes, sums over columns and products in turn."""
    g = families.Graph()
    full, kept = families.tensor(size, size, type_), families.tensor(size, type_)
    x, w = g.argument(full), g.argument(full)
    for _ in range(length):
        m = g.op("broadcast", g.op("reduce max", x, attrs="[1]", to=kept), attrs="[0]", to=full)
        e = g.op("exp", g.op("sub", x, m))
        s = g.op("broadcast", g.op("reduce sum", e, attrs="[0]", to=kept), attrs="[1]", to=full)
        t = g.op("transpose", g.op("div", e, s), attrs="[1, 0]", to=full)
        x = g.op("add", x, g.op("contract", t, w, to=full, attrs="batch [] x [] contract [1] x [0]"))
    return g.out(x)


def tickets(length):
    """Sums that blocks divide, whose counters each launch resets."""
    g = families.Graph()
    full = families.tensor(40, 30011, "f32")
    x = g.argument(full)
    for _ in range(length):
        s = g.op("reduce sum", x, attrs="[0, 1]", to="tensor<f32>")
        x = g.op("mul", x, g.op("broadcast", g.op("tanh", s), attrs="[]", to=full))
    return g.out(x)


def chains():
    return {
        "100 tiny": elementwise(100, 1000),
        "60 of 1 M": elementwise(60, 1 << 20),
        "mixed 64, f32": mixed(12, 64),
        "mixed 256, bf16": mixed(8, 256, "bf16"),
        "mixed 1000, f16": mixed(4, 1000, "f16"),
        "tickets": tickets(12),
    }


class Options(ct.Structure):
    """fusec_execution_options."""
    _fields_ = [("size", ct.c_size_t), ("workspace", ct.c_void_p), ("workspace_bytes", ct.c_uint64),
                ("check_each_step", ct.c_int32), ("no_replay", ct.c_int32), ("allocate", ct.c_void_p),
                ("release", ct.c_void_p), ("user", ct.c_void_p), ("no_overlap", ct.c_int32)]


class Context:
    def __init__(self, executable, replay, overlap):
        from fusec import _capi as c
        options = Options(no_replay=not replay, no_overlap=not overlap)
        options.size = ct.sizeof(options)
        self.capi, self.executable = c, executable
        self.handle = c.make(c.lib.fusec_execution_context_create, c.lib.fusec_execution_context_free,
                             executable._handle.pointer, ct.byref(options))
        c.lib.fusec_execution_context_run.restype = ct.c_void_p
        c.lib.fusec_execution_context_run.argtypes = [ct.c_void_p, ct.c_void_p, ct.c_size_t, ct.c_void_p,
                                                      ct.c_size_t, ct.c_void_p]

    def run(self, inputs, outputs, stream):
        lists = [(ct.c_void_p * len(t))(*[x.data_ptr() for x in t]) for t in (inputs, outputs)]
        self.capi.check(self.capi.lib.fusec_execution_context_run(
            self.handle.pointer, lists[0], len(inputs), lists[1], len(outputs), stream))


def stress(name, text, runs):
    import fusec
    import torch
    executable = fusec.compile(fusec.Graph.from_mlir(text), target="cuda", fuse=False)
    kernels = sum(kernel.launches for kernel in executable.kernels)
    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    torch.manual_seed(1)
    sets = [[(torch.rand(i.shape, device="cuda") - 0.5).to(types[i.dtype]) for i in executable.inputs]
            for _ in range(8)]
    inputs = [torch.empty_like(x) for x in sets[0]]
    outputs = [torch.empty(o.shape, device="cuda", dtype=types[o.dtype]) for o in executable.outputs]
    stream = torch.cuda.Stream()
    wrong = {}
    with torch.cuda.stream(stream):
        def run(context, which):
            for to, of in zip(inputs, sets[which]):
                to.copy_(of)
            context.run(inputs, outputs, stream.cuda_stream)
            return [o.clone() for o in outputs]

        def differ(found, which):
            return sum((a.view(torch.uint8) != b.view(torch.uint8)).any() for a, b in zip(found, expected[which]))

        plain = Context(executable, False, False)
        expected = [run(plain, k) for k in range(len(sets))]
        for how, context in (("graph", Context(executable, True, True)), ("stream", Context(executable, False, True))):
            count = torch.zeros((), device="cuda", dtype=torch.int64)
            for i in range(runs):
                count += differ(run(context, i % len(sets)), i % len(sets))
            wrong[how] = int(count)
        captured = torch.cuda.CUDAGraph()
        context = Context(executable, True, True)
        run(context, 0)
        stream.synchronize()
        with torch.cuda.graph(captured, stream=stream):
            context.run(inputs, outputs, stream.cuda_stream)
        count = torch.zeros((), device="cuda", dtype=torch.int64)
        for i in range(runs):
            for to, of in zip(inputs, sets[i % len(sets)]):
                to.copy_(of)
            captured.replay()
            count += differ([o.clone() for o in outputs], i % len(sets))
        wrong["captured"] = int(count)
    print(f"{name:18} {kernels:4} kernels, {runs} runs each: differ " +
          ", ".join(f"{how} {n}" for how, n in wrong.items()), flush=True)
    return sum(wrong.values())


def bench(fusec, name, arguments, repeats):
    """Median device time of a call in us, with and without overlap."""
    times = {"with": [], "without": []}
    kernels = 0
    for _ in range(3):
        for how, more in (("without", ["--disable-pass=fusec-simt-overlap-launches"]), ("with", [])):
            done = subprocess.run([fusec, "bench", *arguments, "--target=cuda", "--json", "--quiet", f"--repeat={repeats}",
                                   *more], capture_output=True, text=True, timeout=300)
            if done.returncode:
                print(f"{name:28} failed: {done.stderr.strip()[-200:]}")
                return
            told = json.loads(done.stdout)
            times[how].append(told["microseconds"]["median"])
            kernels = len(told["kernels"])
    off, on = (statistics.median(times[how]) for how in ("without", "with"))
    print(f"{name:28} {kernels:4} steps {off:9.2f} us without {on:9.2f} with, "
          f"{(off - on) / max(kernels - 1, 1):6.2f} us a dependent kernel, {off / on:5.3f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=1000)
    parser.add_argument("--fusec", default="fusec")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in chains().items():
            text = graph.text("chain")
            wrong += stress(name, text, options.runs)
            path = os.path.join(folder, name.replace(" ", "-").replace(",", "") + ".mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for path in sorted(os.listdir(folder)):
            bench(options.fusec, path + " unfused", [os.path.join(folder, path), "--fuse=off"], options.repeat)
            bench(options.fusec, path, [os.path.join(folder, path)], options.repeat)
    for model in options.models:
        name, *arguments = model.split()
        bench(options.fusec, os.path.basename(os.path.dirname(os.path.abspath(name))) + "/" + os.path.basename(name),
              [name, *arguments], options.repeat)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
