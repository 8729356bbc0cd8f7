# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API by ctypes: the library, its structs, and errors as exceptions."""

import ctypes as ct
import os

_NAME = "libfusec.so.0"


def _find():
    """The library: FUSEC_LIBRARY, the install that holds this file, the
    loader's path."""
    named = os.environ.get("FUSEC_LIBRARY")
    if named:
        return named
    # <prefix>/lib/python/fusec/_capi.py
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                          "..", _NAME)
    return beside if os.path.exists(beside) else _NAME


lib = ct.CDLL(_find())


class FusecError(Exception):
    """What went wrong: what was expected and what was found."""


class InvalidArgument(FusecError, ValueError):
    """An argument does not fit the graph."""


class GraphError(FusecError, ValueError):
    """A file, text or built graph is not right."""


class Unsupported(FusecError):
    """The input is right, and fusec has no way to do it yet."""


class NoDevice(FusecError):
    """The device, its driver or NVRTC is not there."""


class RunError(FusecError):
    """A kernel failed to compile, load or run."""


class OutOfMemory(FusecError, MemoryError):
    """Memory was refused."""


_CLASSES = {1: InvalidArgument, 2: GraphError, 3: Unsupported, 4: NoDevice,
            5: RunError, 6: OutOfMemory}

DTYPES = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16",
          "i8", "i4", "u64", "u32", "u16", "u8", "u4", "bool")
#: Names of other libraries, without what is before the last dot.
_ALIASES = {"float64": "f64", "float32": "f32", "float16": "f16",
            "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
            "float8_e5m2": "f8e5m2", "int64": "i64", "int32": "i32",
            "int16": "i16", "int8": "i8", "int4": "i4", "uint64": "u64",
            "uint32": "u32", "uint16": "u16", "uint8": "u8", "uint4": "u4",
            "bool_": "bool", "double": "f64", "float": "f32", "half": "f16"}


def dtype_code(dtype):
    """The number of an element type, given as fusec's name or as a dtype of
    NumPy, PyTorch or JAX."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    name = str(name or dtype).rsplit(".", 1)[-1]
    name = _ALIASES.get(name, name)
    if name not in DTYPES:
        raise InvalidArgument(f"unknown element type {dtype!r}: expected one "
                              f"of {', '.join(DTYPES)}")
    return DTYPES.index(name)


def text(name, encode=str.encode):
    """A name as bytes for C, which knows no zeros within."""
    data = encode(name)
    if b"\0" in data:
        raise InvalidArgument(f"expected a name without zero bytes, found "
                              f"{name!r}")
    return data


class CTensorInfo(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("name", ct.c_char_p),
                ("dtype", ct.c_int32), ("rank", ct.c_int32),
                ("shape", ct.POINTER(ct.c_int64)),
                ("symbols", ct.POINTER(ct.c_char_p)), ("bytes", ct.c_int64)]


class CContextOptions(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("log", ct.c_void_p),
                ("log_user", ct.c_void_p), ("log_level", ct.c_int32),
                ("cache_directory", ct.c_char_p), ("cache_bytes", ct.c_uint64),
                ("cache_off", ct.c_int32)]


class CDeviceInfo(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("target", ct.c_int32),
                ("ordinal", ct.c_int32), ("name", ct.c_char_p),
                ("compute_capability", ct.c_int32),
                ("multiprocessors", ct.c_int32), ("memory_bytes", ct.c_uint64),
                ("host_memory", ct.c_int32)]


class CCompileOptions(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("device", ct.c_void_p),
                ("target", ct.c_int32), ("ordinal", ct.c_int32),
                ("compute_capability", ct.c_int32), ("numerics", ct.c_int32),
                ("fusion", ct.c_int32), ("compile_only", ct.c_int32),
                ("like", ct.c_void_p), ("tune_seconds", ct.c_double),
                ("no_tuning_record", ct.c_int32),
                ("batch_invariant", ct.c_int32), ("no_vendor", ct.c_int32)]


class CKernelInfo(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("name", ct.c_char_p),
                ("source", ct.c_char_p), ("threads", ct.c_uint32),
                ("launches", ct.c_uint32), ("num_ops", ct.c_size_t),
                ("ops", ct.POINTER(ct.c_char_p)), ("bytes", ct.c_int64),
                ("registers", ct.c_int32), ("static_shared_bytes", ct.c_int32),
                ("local_bytes", ct.c_int32), ("spill_store_bytes", ct.c_int32),
                ("spill_load_bytes", ct.c_int32)]


class CDimBinding(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("size", ct.c_int64)]


class CShapeBinding(ct.Structure):
    _fields_ = [("input", ct.c_char_p), ("rank", ct.c_int32),
                ("shape", ct.POINTER(ct.c_int64))]


class CWindow(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("count", ct.c_int32),
                ("window", ct.POINTER(ct.c_int64)),
                ("strides", ct.POINTER(ct.c_int64)),
                ("dilations", ct.POINTER(ct.c_int64)),
                ("low", ct.POINTER(ct.c_int64)),
                ("high", ct.POINTER(ct.c_int64))]


#: fusec_loop_body: builder, arguments, yields, user.
LOOP_BODY = ct.CFUNCTYPE(None, ct.c_void_p, ct.POINTER(ct.c_uint32),
                         ct.POINTER(ct.c_uint32), ct.c_void_p)
#: fusec_log_callback: user, level, message.
LOG = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_int32, ct.c_char_p)


def sized(struct):
    """A zeroed struct with its `size` set."""
    value = struct()
    value.size = ct.sizeof(struct)
    return value


def check(error):
    """Raises a fusec_error and frees it; null does nothing."""
    if not error:
        return
    code = lib.fusec_error_code(error)
    message = lib.fusec_error_message(error).decode("utf-8", "replace")
    lib.fusec_error_free(error)
    raise _CLASSES.get(code, FusecError)(message)


class Handle:
    """Owns a handle of the C API, which `free` ends."""

    def __init__(self, pointer, free):
        self.pointer = pointer
        self._free = free

    def __del__(self):
        if self.pointer:
            self._free(self.pointer)
            self.pointer = None


def int64s(values):
    """An array of int64, or null for an empty list."""
    values = [int(v) for v in values]
    return (ct.c_int64 * len(values))(*values) if values else None


def int32s(values):
    """An array of int32, or null for an empty list."""
    values = [int(v) for v in values]
    return (ct.c_int32 * len(values))(*values) if values else None


def take_string(pointer):
    """The text of a `char *` that is ours, freed."""
    text = ct.cast(pointer, ct.c_char_p).value.decode("utf-8", "replace")
    lib.fusec_string_free(pointer)
    return text


def _declare():
    """Result and argument types. Handles are void pointers."""
    p, cp, i32, u32, f64 = (ct.c_void_p, ct.c_char_p, ct.c_int32, ct.c_uint32,
                            ct.c_double)
    i64p, i32p = ct.POINTER(ct.c_int64), ct.POINTER(ct.c_int32)
    size, out, u64 = ct.c_size_t, ct.POINTER(ct.c_void_p), ct.c_uint64
    info = ct.POINTER(CTensorInfo)
    errors = {  # functions that return fusec_error *
        "context_create": [ct.POINTER(CContextOptions), out],
        "graph_from_file": [p, cp, out],
        "graph_from_onnx": [p, cp, size, out],
        "graph_from_mlir": [p, cp, size, out],
        "graph_input": [p, size, info], "graph_output": [p, size, info],
        "graph_bind": [p, ct.POINTER(CDimBinding), size,
                       ct.POINTER(CShapeBinding), size, out],
        "graph_to_mlir": [p, out],
        "builder_create": [p, out], "builder_finish": [p, out],
        "builder_value": [p, u32, info],
        "device_create": [p, i32, i32, out],
        "device_get_info": [p, ct.POINTER(CDeviceInfo)],
        "device_synchronize": [p, p],
        "compile": [p, ct.POINTER(CCompileOptions), out],
        "executable_input": [p, size, info],
        "executable_output": [p, size, info],
        "executable_device": [p, out],
        "executable_kernel": [p, size, ct.POINTER(CKernelInfo)],
        "executable_kernel_ptx": [p, size, out],
        "executable_allocate_output": [p, size, out],
        "execution_context_create": [p, p, out],
        "execution_context_run_dlpack": [p, out, size, out, size, p],
        "execution_context_prepare_dlpack": [p, out, size, out, size],
        "execution_context_synchronize": [p, p],
    }
    for name, arguments in errors.items():
        function = getattr(lib, "fusec_" + name)
        function.restype, function.argtypes = p, arguments
    plain = {
        "version_string": (cp, []), "error_code": (i32, [p]),
        "error_message": (cp, [p]), "error_free": (None, [p]),
        "string_free": (None, [p]), "context_free": (None, [p]),
        "graph_free": (None, [p]), "builder_free": (None, [p]),
        "device_free": (None, [p]), "executable_free": (None, [p]),
        "execution_context_free": (None, [p]),
        "graph_num_inputs": (size, [p]), "graph_num_outputs": (size, [p]),
        "graph_is_bound": (ct.c_int, [p]),
        "executable_num_inputs": (size, [p]),
        "executable_num_outputs": (size, [p]),
        "executable_num_kernels": (size, [p]),
        "executable_workspace_bytes": (u64, [p]),
        "executable_plan_json": (cp, [p]),
        "builder_set_scope": (None, [p, cp]),
        "builder_output": (None, [p, cp, u32]),
        "builder_top_k": (None, [p, i32, u32, i32, i32, ct.POINTER(u32)]),
        "builder_while": (None, [p, ct.POINTER(u32), size, ct.c_int64,
                                 LOOP_BODY, LOOP_BODY, p, ct.POINTER(u32)]),
        "builder_scan": (None, [p, ct.POINTER(u32), size, ct.POINTER(u32), size,
                                ct.c_int64, ct.c_int, size, LOOP_BODY, p,
                                ct.POINTER(u32)]),
    }
    for name, (result, arguments) in plain.items():
        function = getattr(lib, "fusec_" + name)
        function.restype, function.argtypes = result, arguments
    values = {  # builder functions that return a value
        "input": [cp, i32, i32, i64p],
        "constant": [cp, i32, i32, i64p, p, u64],
        "full": [i32, i32, i64p, f64], "iota": [i32, i32, i64p, i32],
        "philox": [u32, u32, i32, i64p],
        "unary": [i32, u32], "leaky_relu": [u32, f64], "elu": [u32, f64],
        "hard_sigmoid": [u32, f64, f64], "binary": [i32, u32, u32],
        "compare": [i32, u32, u32], "select": [u32, u32, u32],
        "clamp": [u32, u32, u32], "cast": [u32, i32],
        "quantize": [u32, u32, u32], "dequantize": [u32, u32, u32],
        "broadcast": [u32, i32, i64p], "reshape": [u32, i32, i64p],
        "transpose": [u32, i32p, i32],
        "slice": [u32, i64p, i64p, i64p, i32],
        "pad": [u32, u32, i64p, i64p, i32],
        "concat": [ct.POINTER(u32), size, i32], "gather": [u32, u32, i32],
        "gather_elements": [u32, u32, i32], "gather_nd": [u32, u32, i32],
        "scatter_nd": [i32, u32, u32, u32],
        "scatter_elements": [i32, u32, u32, u32, i32],
        "reduce": [i32, u32, i32p, i32, ct.c_int],
        "mean": [u32, i32p, i32, ct.c_int],
        "arg_reduce": [i32, u32, i32, ct.c_int],
        "cumulative": [i32, u32, i32, ct.c_int, ct.c_int],
        "window_reduce": [i32, u32, ct.POINTER(CWindow)],
        "matmul": [u32, u32],
        "convolution": [u32, u32, ct.POINTER(CWindow), ct.c_int64, i32,
                        ct.c_int],
        "softmax": [u32, i32p, i32], "log_softmax": [u32, i32p, i32],
        "layer_norm": [u32, u32, u32, i32, f64],
        "rms_norm": [u32, u32, i32, f64],
        "batch_norm": [u32, u32, u32, u32, u32, i32, f64],
    }
    for name, arguments in values.items():
        function = getattr(lib, "fusec_builder_" + name)
        function.restype, function.argtypes = u32, [p] + arguments


_declare()


def version():
    """The library's version: "0.1.0"."""
    return lib.fusec_version_string().decode()


def make(function, free, *arguments):
    """A Handle from a function whose last argument is its result."""
    result = ct.c_void_p()
    check(function(*arguments, ct.byref(result)))
    return Handle(result.value, free)


_context = None
# Callbacks that C may still call: graphs keep the settings they were made with.
_loggers = []


def context():
    """The context of this module: it holds settings, no state."""
    if _context is None:
        configure()
    return _context.pointer


def configure(log=None, log_level="warning", cache_dir=None, cache_bytes=None,
              cache=True):
    """Settings for graphs, builders and devices made from now on; what is left
    out is the default again.

    log: called as log(level, message), level "warning" or "info", from any
        thread; None logs nothing. log_level: the most talkative level.
    cache_dir: folder of compiled GPU kernels; by default what FUSEC_CACHE_DIR
        names, else the user's cache folder. cache_bytes: what it may hold
        (1 GiB). cache=False keeps no kernels on disk.
    """
    global _context
    levels = ("off", "warning", "info")
    if log_level not in levels:
        raise InvalidArgument(f"unknown log level {log_level!r}: expected one "
                              f"of {', '.join(levels)}")
    options = sized(CContextOptions)
    if log is not None and log_level != "off":
        callback = LOG(lambda _, level, message: log(
            levels[level], message.decode("utf-8", "replace")))
        _loggers.append(callback)
        options.log = ct.cast(callback, ct.c_void_p)
        options.log_level = levels.index(log_level)
    if cache_dir is not None:
        options.cache_directory = text(cache_dir, os.fsencode)
    options.cache_bytes = cache_bytes or 0
    options.cache_off = 0 if cache else 1
    _context = make(lib.fusec_context_create, lib.fusec_context_free,
                    ct.byref(options))
