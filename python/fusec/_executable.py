# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, compilation and runs."""

import ctypes as ct
import json
import sys
import threading
from typing import List, NamedTuple

from . import _capi as c
from ._dlpack import Borrowed, Output, is_numpy
from ._graph import Graph, read_infos

_TARGETS = ("auto", "cuda", "host", "emulator", "reference")


def _target_code(target):
    if target not in _TARGETS:
        raise c.InvalidArgument(f"unknown target {target!r}: expected one of "
                                f"{', '.join(_TARGETS)}")
    return _TARGETS.index(target)


class Device:
    """An opened device. target: "auto" (a GPU if there is one, else the host),
    "cuda", "host", "emulator" or "reference". ordinal: which GPU."""

    def __init__(self, target="auto", ordinal=0):
        self._handle = c.make(c.lib.fusec_device_create,
                              c.lib.fusec_device_free, c.context(),
                              _target_code(target), ordinal)

    def _info(self):
        raw = c.sized(c.CDeviceInfo)
        c.check(c.lib.fusec_device_get_info(self._handle.pointer,
                                            ct.byref(raw)))
        return raw

    @property
    def target(self):
        """"cuda", "host", "emulator" or "reference"."""
        return _TARGETS[self._info().target]

    @property
    def ordinal(self):
        """The number of the GPU; 0 on the CPU."""
        return self._info().ordinal

    @property
    def name(self):
        """"NVIDIA H200", "host", ..."""
        return self._info().name.decode("utf-8", "replace")

    @property
    def compute_capability(self):
        """10 * major + minor; 0 on the CPU."""
        return self._info().compute_capability

    def synchronize(self, stream=None):
        """Waits for the work on a stream (an integer; None: the default)."""
        c.check(c.lib.fusec_device_synchronize(self._handle.pointer, stream))


class Kernel(NamedTuple):
    """One kernel of an executable. Numbers are -1 where unknown."""
    name: str
    #: CUDA C++ on fusec's prelude, or LLVM IR on the host.
    source: str
    #: Launches a run.
    launches: int
    #: Graph ops of the first launch; none on the host.
    ops: List[str]
    #: Of inputs and outputs of the first launch.
    bytes: int
    registers: int
    spill_store_bytes: int


def _view(array, stream):
    return array if isinstance(array, Output) else Borrowed(array, stream)


class Executable:
    """A compiled graph, made by `compile`. Threads may share it: each gets an
    execution context of its own when it first calls."""

    def __init__(self, handle):
        self._handle = handle
        self._local = threading.local()
        p = handle.pointer
        self.inputs = read_infos(p, c.lib.fusec_executable_num_inputs(p),
                                 c.lib.fusec_executable_input)
        self.outputs = read_infos(p, c.lib.fusec_executable_num_outputs(p),
                                  c.lib.fusec_executable_output)

    @property
    def workspace_bytes(self):
        """Scratch memory of each execution context."""
        return c.lib.fusec_executable_workspace_bytes(self._handle.pointer)

    @property
    def plan(self):
        """What was fused and why not, as parsed JSON."""
        text = c.lib.fusec_executable_plan_json(self._handle.pointer)
        return json.loads(text)

    @property
    def kernels(self):
        """A list of Kernel."""
        result = []
        for i in range(c.lib.fusec_executable_num_kernels(
                self._handle.pointer)):
            raw = c.sized(c.CKernelInfo)
            c.check(c.lib.fusec_executable_kernel(self._handle.pointer, i,
                                                  ct.byref(raw)))
            result.append(Kernel(
                raw.name.decode(), raw.source.decode("utf-8", "replace"),
                raw.launches, [raw.ops[k].decode() for k in range(raw.num_ops)],
                raw.bytes, raw.registers, raw.spill_store_bytes))
        return result

    def kernel_ptx(self, index):
        """The PTX of a kernel; needs NVRTC but no GPU."""
        text = ct.c_void_p()
        c.check(c.lib.fusec_executable_kernel_ptx(self._handle.pointer, index,
                                                  ct.byref(text)))
        return c.take_string(text)

    def _context(self):
        """This thread's execution context."""
        context = getattr(self._local, "context", None)
        if context is None:
            context = c.make(c.lib.fusec_execution_context_create,
                             c.lib.fusec_execution_context_free,
                             self._handle.pointer, None)
            self._local.context = context
        return context.pointer

    def run(self, inputs, outputs, stream=None):
        """Runs on arrays in the order of `inputs` and `outputs`; outputs are
        written in place. Arrays are on the executable's device; inputs may have
        strides, outputs are row-major.

        stream: on CUDA, the stream as an integer (torch's `cuda_stream`,
        CuPy's `ptr`); None is the default stream. The call does not wait;
        `synchronize` does. While the stream is captured nothing is allocated:
        `prepare` before.
        """
        if any(is_numpy(a) and not a.flags.writeable for a in outputs):
            raise c.InvalidArgument("expected outputs that may be written, "
                                    "found a read-only array")
        self._hand_over(c.lib.fusec_execution_context_run_dlpack, inputs,
                        outputs, stream, stream)

    def prepare(self, inputs, outputs):
        """Does what the first `run` of this thread with such arrays would do
        once (allocate, compile for their alignment) and runs nothing, so that
        a stream may be captured afterwards."""
        self._hand_over(c.lib.fusec_execution_context_prepare_dlpack, inputs,
                        outputs, None)

    def _hand_over(self, function, inputs, outputs, stream, *more):
        """Calls a function of this thread's context on arrays."""
        # DLPack names the default stream 1 and forbids 0.
        ready = stream if stream else 1
        views = [[_view(array, ready) for array in arrays]
                 for arrays in (inputs, outputs)]
        lists = [(ct.c_void_p * max(len(v), 1))(*[ct.addressof(x.tensor) for x in v])
                 for v in views]
        c.check(function(self._context(), lists[0], len(views[0]), lists[1],
                         len(views[1]), *more))

    def __call__(self, *inputs, stream=None):
        """Runs on new outputs and gives them as a tuple: as arrays of the
        library that the first input is from (NumPy, PyTorch, CuPy, JAX), else
        as objects with `__dlpack__`. `stream` as for `run`."""
        results = [_new_numpy(info) if not inputs or is_numpy(inputs[0])
                   else None for info in self.outputs]
        for i, result in enumerate(results):
            if result is None:
                pointer = ct.c_void_p()
                c.check(c.lib.fusec_executable_allocate_output(
                    self._handle.pointer, i, ct.byref(pointer)))
                results[i] = Output(pointer.value)
        self.run(inputs, results, stream)
        return tuple(_convert(result, inputs) for result in results)

    def synchronize(self, stream=None):
        """Waits for the work on a stream and raises what went wrong in it."""
        c.check(c.lib.fusec_execution_context_synchronize(self._context(),
                                                          stream))


#: NumPy's names of those element types that it has.
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16",
          "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
          "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
          "bool": "bool"}


def _new_numpy(info):
    """An uninitialised NumPy array for an output on the CPU, aligned to 64;
    None without NumPy or for a type that it lacks."""
    try:
        import numpy
    except ImportError:
        return None
    if info.dtype not in _NUMPY:
        return None
    dtype = numpy.dtype(_NUMPY[info.dtype])
    count = 1
    for size in info.shape:
        count *= size
    raw = numpy.empty(count * dtype.itemsize + 64, numpy.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + count * dtype.itemsize].view(dtype).reshape(
        info.shape)


def _convert(result, inputs):
    """An owned output as an array of the first input's library."""
    if not isinstance(result, Output) or not inputs:
        return result
    library = type(inputs[0]).__module__.split(".")[0]
    if library in ("jax", "jaxlib"):
        import jax.dlpack as module
    else:
        module = sys.modules.get(library)
    convert = getattr(module, "from_dlpack", None)
    return convert(result) if convert and library != "numpy" else result


def compile(graph, target="auto", *, device=None, ordinal=0,
            compute_capability=0, exact=False, fuse=True, compile_only=False,
            like=None, tune=0, tuning_record=True, batch_invariant=False,
            vendor=True):
    """Compiles a bound graph and gives an Executable.

    target, ordinal: where to run (see Device), unless `device` is given.
    compute_capability: 0 (the device's), 80 or 90.
    exact: every op rounds to its type, as in the unfused graph.
    fuse: False makes one kernel per op.
    compile_only: make kernels without a device; the result cannot run.
    like: an Executable of the same graph in other sizes (another batch), whose
    plan and kernels are taken; exact, fuse and compute_capability are its.
    tune: if greater than 0, the candidates of each kernel are timed on the
    device first, for at most so many seconds, and what won is kept.
    tuning_record: False takes the model's choices, also where a search found
    something before.
    batch_invariant: what is computed for an item of the outermost axis has the
    same bits in batches of all sizes.
    vendor: False never lets the vendor's library (cuBLASLt) compute a product,
    also where a search finds or found it the fastest.
    """
    for name, value, wanted in (("graph", graph, Graph),
                                ("device", device, Device),
                                ("like", like, Executable)):
        if not isinstance(value, wanted) and (value is not None or
                                              name == "graph"):
            raise TypeError(f"{name}: expected a fusec.{wanted.__name__}, "
                            f"found {type(value).__name__}")
    options = c.sized(c.CCompileOptions)
    options.device = device._handle.pointer if device else None
    options.target = _target_code(target)
    options.ordinal = ordinal
    options.compute_capability = compute_capability
    options.numerics = int(exact)
    options.fusion = int(not fuse)
    options.compile_only = int(compile_only)
    options.batch_invariant = int(batch_invariant)
    options.like = like._handle.pointer if like else None
    options.tune_seconds = tune
    options.no_tuning_record = int(not tuning_record)
    options.no_vendor = int(not vendor)
    return Executable(c.make(c.lib.fusec_compile, c.lib.fusec_executable_free,
                             graph._handle.pointer, ct.byref(options)))
