# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt without PyTorch in between: the fastest of what its heuristics name.

The library has columns contiguous: a result with rows of n is an n x m matrix
to it, so its A is our w and its B our x,

    D (n x m) = op(A) (n x k) . op(B) (k x m).

Its C interface has been stable since version 12.
"""

import ctypes as ct

from ..common import measure
from ..common.arrays import torch_dtype

#: Of how many algorithms the fastest is taken.
TRIED = 8
WORKSPACE = 64 << 20

# cudaDataType_t.
_TYPES = {"f32": 0, "f16": 2, "i8": 3, "i32": 10, "bf16": 14, "f8e4m3": 28,
          "f8e5m2": 29}
# cublasComputeType_t.
_F32, _TF32, _I32 = 68, 77, 72
# cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t and
# cublasLtMatmulPreferenceAttributes_t.
_TURN_A, _TURN_B, _FAST = 3, 4, 25
_BATCHES, _BATCH_PITCH = 5, 6
_WORKSPACE_BYTES = 1


class _Heuristic(ct.Structure):
    """cublasLtMatmulHeuristicResult_t."""
    _fields_ = [("algorithm", ct.c_uint64 * 8), ("workspace", ct.c_size_t),
                ("state", ct.c_int), ("waves", ct.c_float),
                ("reserved", ct.c_int * 4)]


def _open():
    """The library that PyTorch has loaded, else the system's."""
    for name in ("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"):
        try:
            library = ct.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise ImportError("cuBLASLt is not installed")
    library.cublasLtMatmul.argtypes = [ct.c_void_p] * 14 + [ct.c_size_t,
                                                            ct.c_void_p]
    library.cublasLtMatrixLayoutCreate.argtypes = [
        ct.c_void_p, ct.c_int, ct.c_uint64, ct.c_uint64, ct.c_int64]
    return library


class CublasLt:
    """A plain product (case.Matmul) of the first two inputs of each set."""
    can_capture = True

    def __init__(self, matmul, sets):
        import torch
        self.torch, self.lib = torch, _open()
        self.sets = [inputs[:2] for inputs, _ in sets]
        self._describe(matmul)
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8,
                                     device="cuda")
        number = ct.c_int32 if matmul.out == "i32" else ct.c_float
        self.alpha, self.beta = number(1), number(0)
        self.results = [torch.empty((matmul.batch * matmul.m, matmul.n),
                                    dtype=torch_dtype(torch, matmul.out),
                                    device="cuda") for _ in sets]
        self.algorithm = self._fastest(self._heuristics())
        self._check(matmul)

    def _call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")

    def _set(self, function, what, attribute, value):
        self._call(function, what, attribute, ct.byref(value),
                   ct.c_size_t(ct.sizeof(value)))

    def _layout(self, dtype, contiguous, other, batch):
        layout = ct.c_void_p()
        self._call("cublasLtMatrixLayoutCreate", ct.byref(layout),
                   _TYPES[dtype], contiguous, other, contiguous)
        if batch > 1:
            set_to = "cublasLtMatrixLayoutSetAttribute"
            self._set(set_to, layout, _BATCHES, ct.c_int32(batch))
            self._set(set_to, layout, _BATCH_PITCH,
                      ct.c_int64(contiguous * other))
        return layout

    def _describe(self, p):
        compute = _I32 if p.out == "i32" else _TF32 if p.tf32 else _F32
        scale = _TYPES["i32" if p.out == "i32" else "f32"]
        self.handle, self.operation = ct.c_void_p(), ct.c_void_p()
        self._call("cublasLtCreate", ct.byref(self.handle))
        self._call("cublasLtMatmulDescCreate", ct.byref(self.operation),
                   compute, scale)
        set_to = "cublasLtMatmulDescSetAttribute"
        turns_a, turns_b = "b" in p.turned, "a" in p.turned
        self._set(set_to, self.operation, _TURN_A, ct.c_int32(turns_a))
        self._set(set_to, self.operation, _TURN_B, ct.c_int32(turns_b))
        if p.fast:
            self._set(set_to, self.operation, _FAST, ct.c_int8(1))
        a = (p.k, p.n) if turns_a else (p.n, p.k)
        b = (p.m, p.k) if turns_b else (p.k, p.m)
        self.layouts = [self._layout(p.w, *a, p.batch),
                        self._layout(p.x, *b, p.batch),
                        self._layout(p.out, p.n, p.m, p.batch)]

    def _heuristics(self):
        preference, found = ct.c_void_p(), ct.c_int()
        self._call("cublasLtMatmulPreferenceCreate", ct.byref(preference))
        self._set("cublasLtMatmulPreferenceSetAttribute", preference,
                  _WORKSPACE_BYTES, ct.c_uint64(WORKSPACE))
        a, b, d = self.layouts
        results = (_Heuristic * TRIED)()
        self._call("cublasLtMatmulAlgoGetHeuristic", self.handle,
                   self.operation, a, b, d, d, preference, TRIED, results,
                   ct.byref(found))
        self._call("cublasLtMatmulPreferenceDestroy", preference)
        return [one for one in results[:found.value] if not one.state]

    def _fastest(self, heuristics):
        best = None, float("inf")
        for one in heuristics:
            self.algorithm = one.algorithm
            try:
                runner = measure.Runner(self.torch, self, len(self.sets))
                runner.prepare()
            except RuntimeError:  # it asks for what is not there
                self.torch.cuda.synchronize()
                continue
            time = min(runner.replay() for _ in range(5))
            if time < best[1]:
                best = one.algorithm, time
        if best[0] is None:
            raise RuntimeError("cuBLASLt has no algorithm for this product")
        return best[0]

    def _check(self, p):
        """Compares a few rows with the product in float64: a peer that is
        wrong must not be a measure. Of norms 2e-2: float8 without promotion is
        off by a tenth of that."""
        x, w = (one[0] if p.batch > 1 else one for one in self.sets[0])
        x = x.t() if "a" in p.turned else x
        w = w.t() if "b" in p.turned else w
        want = x[:16].double() @ w.double()
        error = (self.step(0)[:16].double() - want).norm() / want.norm()
        if not error.item() < 2e-2:
            raise RuntimeError(f"cuBLASLt's product is off by {error:.1e}")

    def step(self, i):
        a, b, d = self.layouts
        x, w = self.sets[i]
        out = ct.c_void_p(self.results[i].data_ptr())
        stream = ct.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        self._call("cublasLtMatmul", self.handle, self.operation,
                   ct.byref(self.alpha), ct.c_void_p(w.data_ptr()), a,
                   ct.c_void_p(x.data_ptr()), b, ct.byref(self.beta), out, d,
                   out, d, ct.byref(self.algorithm),
                   ct.c_void_p(self.workspace.data_ptr()), WORKSPACE, stream)
        return self.results[i]

    def __del__(self):
        for layout in getattr(self, "layouts", ()):
            self.lib.cublasLtMatrixLayoutDestroy(layout)
        if getattr(self, "operation", None):
            self.lib.cublasLtMatmulDescDestroy(self.operation)
        if getattr(self, "handle", None):
            self.lib.cublasLtDestroy(self.handle)
