# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt as a candidate of --tune, on a GPU.

    python3 vendor.py --fusec=PATH [--part=tune,epilogue,capture,functions] [--only=TEXT,..] [--seconds=S]

tune       plain products of each type and layout: cuBLASLt competes, no candidate is wrong, what won is right and is
           taken from the record again; --no-vendor and a missing library run the kernel
epilogue   the same of products with a bias, a residual and ReLU, and in TF32
capture    tuned products of long sums and of f32, for which cuBLASLt is often the fastest (the line says what won), in a
           CUDA graph of PyTorch and run again and again: the same bits (needs fusec's Python module)
functions  how PyTorch's cuBLAS rounds operands to TF32, what its ReLU makes of NaN, and how far its GELU is from the
           formula; prints, and judges nothing

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


def graph(operand, result, layout, attributes=""):
    """The text of one product."""
    x, w = layout
    sizes = {**SIZES, "b": 5}

    def tensor(axes, element):
        return "tensor<" + "x".join(str(sizes[a]) for a in axes) + f"x{element}>"
    batch = "[0] x [0]" if "b" in x else "[] x []"
    types = tensor(x, operand), tensor(w, operand), tensor(x[:-2] + "mn", result)
    return (f"func.func @product(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{\n"
            f"  %y = graph.contract %x, %w batch {batch} contract [{x.index('k')}] x [{w.index('k')}]{attributes} : "
            f"{types[0]}, {types[1]} -> {types[2]}\n  return %y : {types[2]}\n}}\n")


def with_epilogue(element, what, sum_type=None):
    """The text of relu(x . w + r + bias), as far as `what` says; sums in `sum_type`, rounded at the end."""
    m, n, k = (SIZES[a] for a in "mnk")
    total = sum_type or element
    wide, narrow = f"tensor<{m}x{n}x{total}>", f"tensor<{m}x{n}x{element}>"
    inputs = {"x": f"tensor<{m}x{k}x{element}>", "w": f"tensor<{n}x{k}x{element}>"}
    lines = [f"%s0 = graph.contract %x, %w batch [] x [] contract [1] x [1] : {inputs['x']}, {inputs['w']} -> {wide}"]

    def widened(name, shape):
        inputs[name] = f"tensor<{shape}x{element}>"
        if total == element:
            return f"%{name}"
        lines.append(f"%{name}_wide = graph.cast %{name} : {inputs[name]} -> tensor<{shape}x{total}>")
        return f"%{name}_wide"
    if "residual" in what:
        lines.append(f"%s1 = graph.add %s0, {widened('r', f'{m}x{n}')} : {wide}")
    last = "%s1" if "residual" in what else "%s0"
    if "bias" in what:
        lines.append(f"%b = graph.broadcast {widened('bias', n)} [1] : tensor<{n}x{total}> -> {wide}")
        lines.append(f"%s2 = graph.add {last}, %b : {wide}")
        last = "%s2"
    if "relu" in what:
        lines.append(f"%s3 = graph.relu {last} : {wide}")
        last = "%s3"
    if total != element:
        lines.append(f"%y = graph.cast {last} : {wide} -> {narrow}")
        last = "%y"
    parameters = ", ".join(f"%{name}: {kind}" for name, kind in inputs.items())
    body = "\n  ".join(lines)
    return f"func.func @product({parameters}) -> {narrow} {{\n  {body}\n  return {last} : {narrow}\n}}\n"


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
    tune_all(options, {f"{operand} to {result} {layout}": graph(operand, result, LAYOUTS[layout])
                       for operand, result in TYPES
                       for layout in (LAYOUTS if operand != "i8" else ("tb", "batch-tb"))})


def epilogue(options):
    texts = {"tf32": graph("f32", "f32", LAYOUTS["tb"], " {allowTf32 = true}")}
    for element in ("f16", "bf16", "f32"):
        for what in ("bias", "bias-relu", "residual", "residual-bias-relu"):
            texts[f"{element} {what}"] = with_epilogue(element, what)
    for what in ("bias-relu", "residual-bias"):
        texts[f"bf16 {what} in f32"] = with_epilogue("bf16", what, "f32")
    tune_all(options, texts)


def tune_all(options, texts):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            if options.only and not any(part == name for part in options.only.split(",")):
                continue
            path = os.path.join(folder, "product.mlir")
            with open(path, "w") as file:
                file.write(text)
            tune_one(options, name, path, os.path.join(folder, "cache"))


def capture(options):
    import fusec as module
    import torch
    for element, sizes in (("bf16", (512, 512, 16384)), ("f32", (2048, 2048, 1024))):
        SIZES.update(zip("mnk", sizes))
        for what, text in (("plain", graph(element, element, LAYOUTS["tb"])),
                           ("bias", with_epilogue(element, "bias"))):
            capture_one(options, module, torch, element, what, text)


def capture_one(options, module, torch, element, what, text):
    program = module.compile(module.Graph.from_mlir(text), target="cuda", tune=options.seconds)
    choice = program.plan["kernels"][0]["choice"]
    what = f"{element} {what}"
    print(f"     captured: {choice.get('vendor', choice['name'])}")
    m, n, k = (SIZES[a] for a in "mnk")
    dtype, bits_type, bound = {"bf16": (torch.bfloat16, torch.int16, 4e-3),
                               "f32": (torch.float32, torch.int32, 1e-5)}[element]
    shapes = [(m, k), (n, k)] + ([(n,)] if "bias" in what else [])
    inputs = [torch.randn(shape, device="cuda").to(dtype) for shape in shapes]
    outputs = [torch.empty(m, n, device="cuda", dtype=dtype) for _ in range(2)]
    stream = torch.cuda.Stream()
    captured = torch.cuda.CUDAGraph()
    # The first run of all is the captured one.
    program.prepare(inputs, [outputs[0]])
    with torch.cuda.graph(captured, stream=stream):
        program.run(inputs, [outputs[0]], stream.cuda_stream)
    differ = 0
    for _ in range(200):
        for value in inputs:
            value.copy_(torch.randn_like(value))
        torch.cuda.synchronize()
        captured.replay()
        torch.cuda.synchronize()
        bits = outputs[0].view(bits_type).clone()
        for _ in range(5):
            program.run(inputs, [outputs[1]], stream.cuda_stream)
            torch.cuda.synchronize()
            differ += int((outputs[1].view(bits_type) != bits).sum())
    say(differ == 0, f"{what}: bits of 1000 runs and 200 replays", f"{differ} differ")
    exact = inputs[0].double() @ inputs[1].double().T + sum(value.double() for value in inputs[2:])
    error = float((outputs[0].double() - exact).norm() / exact.norm())
    say(error < bound, f"{what}: the product", f"relative error {error:.1e}")


def functions(_):
    import torch
    gelu_errors(torch)
    torch.backends.cuda.matmul.allow_tf32 = True
    x = torch.full((4096, 4096), 1 + 3 * 2.0 ** -12, device="cuda")
    y = x @ torch.eye(4096, device="cuda")
    print(f"     1 + 3*2^-12 in TF32 is {float(y[0, 0])!r}: nearest is 1.0009765625")


def gelu_errors(torch):
    """Each number of a type, times the unit matrix, through cuBLASLt's epilogues."""
    eye = torch.eye(256, device="cuda", dtype=torch.float64)
    every = torch.arange(-2 ** 15, 2 ** 15, device="cuda", dtype=torch.int32).to(torch.int16)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        sixteen = torch.float16 if dtype == torch.float32 else dtype
        x = every.view(sixteen).to(dtype)
        x = torch.where(x.isfinite(), x, torch.zeros_like(x)).view(256, 256)
        zero = torch.zeros(256, device="cuda", dtype=dtype)
        found = torch._addmm_activation(zero, x, eye.to(dtype), use_gelu=True).double()
        exact = torch.nn.functional.gelu(x.double(), approximate="tanh")
        digits, least = {torch.float16: (10, -24), torch.bfloat16: (7, -133), torch.float32: (23, -149)}[dtype]
        spacing = torch.pow(2.0, (torch.frexp(exact)[1] - 1 - digits).clamp(min=least).double())
        error = (found - exact).abs()
        for low, high in ((-20, -6), (-6, -4), (-4, -2), (-2, -2 ** -8), (-2 ** -8, 2 ** -8), (2 ** -8, 2), (2, 20)):
            inside = (x > low) & (x <= high) & (exact.abs() > 2.0 ** -126)
            worst = (error / spacing)[inside].max()
            relative = (error / exact.abs())[inside].max()
            print(f"     gelu {dtype} in ({low}, {high}]: {float(worst):.3g} units, relative {float(relative):.2e}")
        x[3, 4], x[5, 6], x[7, 8] = float("nan"), float("inf"), -float("inf")
        for use_gelu in (False, True):
            y = torch._addmm_activation(zero, x, eye.to(dtype), use_gelu=use_gelu)
            print(f"     NaN and infinities in {dtype} rows, {'gelu' if use_gelu else 'relu'}: "
                  f"{y[3, :2].tolist()} {y[5, 5:8].tolist()} {y[7, 7:10].tolist()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--part", default="tune,epilogue,capture,functions")
    parser.add_argument("--only", default="", help="of tune and epilogue, those of these names")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    for part in options.part.split(","):
        {"tune": tune, "epilogue": epilogue, "capture": capture, "functions": functions}[part](options)
    print("all right" if not failures else f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
