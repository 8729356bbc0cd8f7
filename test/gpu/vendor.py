# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt as a candidate of --tune, on a GPU.

    python3 vendor.py --fusec=PATH [--part=tune,capture,tf32] [--seconds=S]

tune     plain products of each type and layout: cuBLASLt competes, no candidate is wrong, what won is right and is
         taken from the record again; --no-vendor and a missing library run the kernel
capture  a tuned product in a CUDA graph of PyTorch and run again and again: the same bits (needs fusec's Python module)
tf32     how PyTorch's cuBLAS rounds operands to TF32; prints, and judges nothing

Prints a line for each check and exits with 1 if one failed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SIZES = {"m": 512, "n": 768, "k": 1024}
TYPES = [("f16", "f16"), ("bf16", "bf16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"), ("f8E4M3FN", "bf16")]
#: Where the rows of x and of w are, and whether there are batches.
LAYOUTS = {"plain": ("mk", "kn"), "ta": ("km", "kn"), "tb": ("mk", "nk"), "tab": ("km", "nk"),
           "batch": ("bmk", "bkn"), "batch-tb": ("bmk", "bnk")}
failures = 0


def say(right, what, detail=""):
    global failures
    failures += not right
    print(f"{'ok  ' if right else 'FAIL'} {what}{': ' + detail if detail else ''}", flush=True)


def graph(operand, result, layout):
    """The text of one product."""
    x, w = layout
    sizes = {**SIZES, "b": 5}

    def tensor(axes, element):
        return "tensor<" + "x".join(str(sizes[a]) for a in axes) + f"x{element}>"
    batch = "[0] x [0]" if "b" in x else "[] x []"
    types = tensor(x, operand), tensor(w, operand), tensor(x[:-2] + "mn", result)
    return (f"func.func @product(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{\n"
            f"  %y = graph.contract %x, %w batch {batch} contract [{x.index('k')}] x [{w.index('k')}] : "
            f"{types[0]}, {types[1]} -> {types[2]}\n  return %y : {types[2]}\n}}\n")


def fusec(options, *arguments, **environment):
    """The JSON of one call; an error where it says none."""
    done = subprocess.run([options.fusec, *arguments, "--json"], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300)
    try:
        return {"code": done.returncode, **json.loads(done.stdout)}
    except ValueError:
        return {"code": done.returncode, "error": (done.stderr or done.stdout)[-500:]}


def tune_one(options, name, path, cache):
    record = {"FUSEC_CACHE": "on", "FUSEC_CACHE_DIR": cache}
    against = ("--against=host", "--seed=1")
    first = fusec(options, "run", path, f"--tune={options.seconds}", *against, **record)
    kernels = first.get("tuning", {}).get("kernels", [])
    if first["code"] or not kernels:
        return say(False, name, first.get("error", json.dumps(first.get("against", first))[:500]))
    kernel = kernels[0]
    if "no_vendor" in kernel:
        return say(False, name, kernel["no_vendor"])
    vendors = [c for c in kernel["candidates"] if c.get("vendor")]
    wrong = [c["name"] + " " + c["dropped"] for c in kernel["candidates"]
             if "wrong" in c.get("dropped", "") or "failed" in c.get("dropped", "")]
    own = min((c["us"] for c in kernel["candidates"] if "us" in c and not c.get("vendor")), default=0)
    best = min((c["us"] for c in vendors if "us" in c), default=0)
    say(bool(vendors) and not wrong, name,
        f"{len(vendors)} by cuBLASLt, best {best:.2f} us, fastest kernel {own:.2f}; {kernel.get('choice')} {wrong or ''}")
    chosen = "cuBLASLt" in kernel.get("choice", "")
    bench = fusec(options, "bench", path, "--repeat=20", **record)
    ran = any("cuBLASLt" in k.get("vendor", "") for k in bench.get("kernels", []))
    say(ran == chosen, f"{name} from the record", bench.get("error", ""))
    for what, extra, environment in (("--no-vendor", ["--no-vendor"], {}),
                                     ("without the library", [], {"FUSEC_CUBLASLT": "/none"})):
        result = fusec(options, "run", path, *against, *extra, **record, **environment)
        right = result["code"] == 0 and ("no_vendor" in result) == (chosen and not extra)
        say(right, f"{name} {what}", result.get("error", result.get("no_vendor", "")))


def tune(options):
    with tempfile.TemporaryDirectory() as folder:
        for operand, result in TYPES:
            for layout in LAYOUTS if operand != "i8" else ("tb", "batch-tb"):
                path = os.path.join(folder, "product.mlir")
                with open(path, "w") as file:
                    file.write(graph(operand, result, LAYOUTS[layout]))
                tune_one(options, f"{operand} to {result} {layout}", path, os.path.join(folder, "cache"))


def capture(options):
    import fusec as module
    import torch
    text = graph("bf16", "bf16", LAYOUTS["ta"])
    program = module.compile(module.Graph.from_mlir(text), target="cuda", tune=options.seconds)
    choice = program.plan["kernels"][0]["choice"]
    print(f"     captured: {choice.get('vendor', choice['name'])}")
    x, w = (torch.randn(shape, device="cuda").bfloat16() for shape in ((1024, 512), (1024, 768)))
    outputs = [torch.empty(512, 768, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
    stream = torch.cuda.Stream()
    captured = torch.cuda.CUDAGraph()
    # The first run of all is the captured one.
    with torch.cuda.graph(captured, stream=stream):
        program.run([x, w], [outputs[0]], stream.cuda_stream)
    differ = 0
    for _ in range(200):
        x.copy_(torch.randn_like(x))
        w.copy_(torch.randn_like(w))
        torch.cuda.synchronize()
        captured.replay()
        torch.cuda.synchronize()
        bits = outputs[0].view(torch.int16).clone()
        for _ in range(5):
            program.run([x, w], [outputs[1]], stream.cuda_stream)
            torch.cuda.synchronize()
            differ += int((outputs[1].view(torch.int16) != bits).sum())
    say(differ == 0, "bits of 1000 runs and 200 replays", f"{differ} differ")
    exact = (x.double().T @ w.double()).float()
    error = float((outputs[0].float() - exact).norm() / exact.norm())
    say(error < 4e-3, "the product", f"relative error {error:.1e}")


def tf32(_):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    x = torch.full((4096, 4096), 1 + 3 * 2.0 ** -12, device="cuda")
    y = x @ torch.eye(4096, device="cuda")
    print(f"     1 + 3*2^-12 in TF32 is {float(y[0, 0])!r}: nearest is 1.0009765625")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--part", default="tune,capture,tf32")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    for part in options.part.split(","):
        {"tune": tune, "capture": capture, "tf32": tf32}[part](options)
    print("all right" if not failures else f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
