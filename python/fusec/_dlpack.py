# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack's structs and capsules: how arrays of other libraries come and go."""

import ctypes as ct
import sys

from ._capi import DTYPES, InvalidArgument, dtype_code

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


class DLTensor(ct.Structure):
    _fields_ = [("data", ct.c_void_p), ("device_type", ct.c_int32),
                ("device_id", ct.c_int32), ("ndim", ct.c_int32),
                ("code", ct.c_uint8), ("bits", ct.c_uint8),
                ("lanes", ct.c_uint16), ("shape", ct.POINTER(ct.c_int64)),
                ("strides", ct.POINTER(ct.c_int64)),
                ("byte_offset", ct.c_uint64)]


class DLManagedTensor(ct.Structure):
    pass


Deleter = ct.CFUNCTYPE(None, ct.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", ct.c_void_p),
                            ("deleter", ct.c_void_p)]

_api = ct.pythonapi
_api.PyCapsule_New.restype = ct.py_object
_api.PyCapsule_New.argtypes = [ct.c_void_p, ct.c_char_p, ct.c_void_p]
_api.PyCapsule_IsValid.restype = ct.c_int
_api.PyCapsule_IsValid.argtypes = [ct.py_object, ct.c_char_p]
_api.PyCapsule_GetPointer.restype = ct.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ct.py_object, ct.c_char_p]

#: Capsules keep the pointer to their name.
_TENSOR = b"dltensor"


#: DLPack's (code, bits) of each element type.
_CODES = dict(zip(DTYPES, (
    (2, 64), (2, 32), (2, 16), (4, 16), (10, 8), (12, 8), (0, 64), (0, 32),
    (0, 16), (0, 8), (0, 8), (1, 64), (1, 32), (1, 16), (1, 8), (1, 8),
    (6, 8))))


def is_numpy(array):
    """Whether it is a NumPy array, without importing NumPy."""
    return type(array).__module__.split(".")[0] == "numpy"


def _view_numpy(array):
    """A DLTensor of a NumPy array. By hand: NumPy's own DLPack refuses
    read-only arrays, bool in older versions, and the types of ml_dtypes."""
    code, bits = _CODES[DTYPES[dtype_code(array.dtype)]]
    if not array.dtype.isnative:
        raise InvalidArgument(f"expected this machine's order of bytes, found "
                              f"{array.dtype.str!r}")
    if any(n > 1 and s % array.itemsize
           for n, s in zip(array.shape, array.strides)):
        raise InvalidArgument(f"expected strides of whole elements, found "
                              f"{array.strides} bytes")
    shape = (ct.c_int64 * array.ndim)(*array.shape)
    strides = (ct.c_int64 * array.ndim)(
        *[s // array.itemsize for s in array.strides])
    tensor = DLTensor()
    tensor.data, tensor.ndim = array.ctypes.data, array.ndim
    tensor.device_type, tensor.device_id = CPU, 0
    tensor.code, tensor.bits, tensor.lanes = code, bits, 1
    tensor.shape = ct.cast(shape, ct.POINTER(ct.c_int64))
    tensor.strides = ct.cast(strides, ct.POINTER(ct.c_int64))
    return tensor, (array, shape, strides)


class Borrowed:
    """A view of an array through its `__dlpack__`, valid while this lives.

    `stream` is handed to the array's library, which makes the data ready for
    work on it (on CUDA; 1 is the default stream).
    """

    def __init__(self, array, stream=None):
        if is_numpy(array):
            self.tensor, self._kept = _view_numpy(array)
            return
        if not hasattr(array, "__dlpack__"):
            raise TypeError(f"expected an array with __dlpack__ (NumPy, "
                            f"PyTorch, CuPy, JAX), found {type(array).__name__}")
        on_cuda = array.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED)
        how = {"stream": stream} if on_cuda else {}
        # Versions of PyTorch have no name for 8-bit floats in DLPack: those
        # go as bytes, and get their type here.
        small = _is_torch_float8(array)
        if small:
            array = array.view(sys.modules["torch"].uint8)
        self._capsule = array.__dlpack__(**how)
        if not _api.PyCapsule_IsValid(self._capsule, _TENSOR):
            raise TypeError(f"{type(array).__name__} gave no DLPack tensor")
        # Not renamed to "used_dltensor": the capsule then frees the tensor.
        pointer = _api.PyCapsule_GetPointer(self._capsule, _TENSOR)
        self.tensor = ct.cast(pointer, ct.POINTER(DLManagedTensor)).contents.tensor
        if small:
            self.tensor.code, self.tensor.bits = _CODES[DTYPES[small]]


def _is_torch_float8(array):
    """The number of the element type of a PyTorch tensor of 8-bit floats; 0
    for other arrays."""
    if type(array).__module__.split(".")[0] != "torch":
        return 0
    name = str(array.dtype)
    return dtype_code(name) if "float8" in name else 0


def delete(pointer):
    """Calls the deleter of a DLManagedTensor."""
    managed = ct.cast(pointer, ct.POINTER(DLManagedTensor))
    Deleter(managed.contents.deleter)(managed)


class Output:
    """An owned tensor that any library can take: it has `__dlpack__`, which may
    be called once. What is not taken is freed with this."""

    def __init__(self, pointer):
        self._pointer = pointer
        self.tensor = ct.cast(pointer,
                              ct.POINTER(DLManagedTensor)).contents.tensor

    def __del__(self):
        if self._pointer:
            delete(self._pointer)
            self._pointer = None

    def __dlpack_device__(self):
        """(device type, ordinal) as DLPack numbers them."""
        return self.tensor.device_type, self.tensor.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        """Hands the tensor over as a capsule. Runs were enqueued on the stream
        that the call of the executable was given."""
        if not self._pointer:
            raise ValueError("the output was handed over before")
        capsule = _api.PyCapsule_New(self._pointer, _TENSOR, _FREE_CAPSULE)
        self._pointer = None
        return capsule


@ct.CFUNCTYPE(None, ct.c_void_p)
def _free_capsule(capsule):
    """Ends a capsule that nobody took: a taken one has another name. Called
    while the capsule is being freed, so it must be touched by address only."""
    if _is_valid(capsule, _TENSOR):
        delete(_get_pointer(capsule, _TENSOR))


_FREE_CAPSULE = ct.cast(_free_capsule, ct.c_void_p)
_is_valid = ct.PYFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_char_p)(
    ("PyCapsule_IsValid", ct.pythonapi))
_get_pointer = ct.PYFUNCTYPE(ct.c_void_p, ct.c_void_p, ct.c_char_p)(
    ("PyCapsule_GetPointer", ct.pythonapi))
