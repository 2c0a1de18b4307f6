"""Arrays: results of runs, and what runs take.

    y = results["y"]
    y.shape, y.dtype              # (2, 10), "f32"
    numpy.asarray(y)              # Without a copy, as torch.from_dlpack(y).
    y.tolist(), y.item()          # Without NumPy.
    x = sinter.array(other)       # Over the memory of any array with __dlpack__ or a buffer.
"""
import ctypes
import struct
from ctypes import POINTER, c_int64, c_void_p

from sinter import capsules
from sinter.errors import InvalidArgument, Unimplemented
from sinter.library import Handle, Held, Info, check, out, runtime

# By the number of sn_dtype: the name, NumPy's type string, the code of Python's struct, the name in NumPy.
_TYPES = (("f64", "<f8", "d", "float64"), ("f32", "<f4", "f", "float32"), ("bf16", None, None, "bfloat16"),
          ("f16", "<f2", "e", "float16"), ("i64", "<i8", "q", "int64"), ("i32", "<i4", "i", "int32"),
          ("i8", "|i1", "b", "int8"), ("u8", "|u1", "B", "uint8"), ("i1", "|b1", "?", "bool"),
          ("i16", "<i2", "h", "int16"), ("u16", "<u2", "H", "uint16"), ("u32", "<u4", "I", "uint32"),
          ("u64", "<u8", "Q", "uint64"), ("f8e4m3", None, None, "float8_e4m3fn"), ("f8e5m2", None, None, "float8_e5m2"))
_BY_NAME = {row[0]: number for number, row in enumerate(_TYPES)}
_BY_NUMPY = {row[3]: number for number, row in enumerate(_TYPES)}
_BY_FORMAT = {row[2]: number for number, row in enumerate(_TYPES) if row[2]}
_BY_FORMAT.update({"l": _BY_NAME["i64"], "L": _BY_NAME["u64"]})  # On x86-64 Linux.
_READ_ONLY, _COPIED = 1, 4  # SN_TENSOR_READ_ONLY, SN_TENSOR_COPIED.
_MAIN_MEMORY = (1, 3)  # kDLCPU and kDLCUDAHost.


def dtype_name(number):
    """Returns the name of an element type's number."""
    return _TYPES[number][0]


class Array(Held):
    """A dense row-major array in main memory. Made by runs, `array` and `empty`."""

    def __init__(self, address, owner=None):
        self._owner = owner  # Keeps borrowed memory alive, until the handle is freed.
        self._handle = Handle(address, runtime().sn_tensor_free)
        info, data = Info(), c_void_p()
        check(runtime().sn_tensor_info(address, ctypes.byref(info), ctypes.byref(data)))
        self._number, self._data = info.dtype, data.value
        self.shape = tuple(info.shape[i] for i in range(info.rank))

    @property
    def dtype(self):
        """Name of the element type, such as "f32"."""
        return dtype_name(self._number)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def nbytes(self):
        return self.size * runtime().sn_dtype_bytes(self._number)

    @property
    def read_only(self):
        """True for views of the session's memory."""
        return bool(runtime().sn_tensor_flags(self) & _READ_ONLY)

    @property
    def was_copied(self):
        """True if the array was made from another by a copy, for its memory was not aligned."""
        return bool(runtime().sn_tensor_flags(self) & _COPIED)

    def copy(self):
        """Returns an array with memory of its own."""
        return Array(out(runtime().sn_tensor_copy, self))

    def memoryview(self):
        """Returns the memory as a flat view of bytes, which cannot be written through if the array is read-only."""
        memory = (ctypes.c_char * self.nbytes).from_address(self._data)
        memory.owner = self  # The view keeps `memory`, and that this array.
        view = memoryview(memory).cast("B") if self.nbytes else memoryview(b"")
        return view.toreadonly() if self.read_only else view

    def tolist(self):
        """Returns the elements as nested lists; a number for rank 0. Unimplemented for f8."""
        return _nested(self._numbers(), self.shape)

    def item(self):
        """Returns the only element. InvalidArgument if there is not exactly one."""
        if self.size != 1:
            raise InvalidArgument(f"{self!r} has {self.size} elements, not one")
        return self._numbers()[0]

    def _numbers(self):
        code = "H" if self.dtype == "bf16" else _TYPES[self._number][2]
        if code is None:
            raise Unimplemented(f"Python has no numbers like {self.dtype}: use numpy() with ml_dtypes, or torch.from_dlpack")
        values = list(struct.unpack(f"<{self.size}{code}", self.memoryview()))
        if self.dtype == "bf16":  # The upper half of an f32.
            values = list(struct.unpack(f"<{self.size}f", struct.pack(f"<{self.size}I", *[v << 16 for v in values])))
        return values

    def numpy(self):
        """Returns a NumPy array over the same memory. bf16 and f8 need the package ml_dtypes."""
        import numpy  # pylint: disable=import-outside-toplevel
        if _TYPES[self._number][1] is not None:
            return numpy.asarray(self)
        try:
            import ml_dtypes  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise Unimplemented(f"NumPy has no {self.dtype}: install ml_dtypes, or use torch.from_dlpack") from None
        return numpy.frombuffer(self.memoryview(), dtype=getattr(ml_dtypes, _TYPES[self._number][3])).reshape(self.shape)

    @property
    def __array_interface__(self):
        if _TYPES[self._number][1] is None:
            raise Unimplemented(f"NumPy has no {self.dtype}: use numpy() with ml_dtypes, or torch.from_dlpack")
        return {"version": 3, "typestr": _TYPES[self._number][1], "shape": self.shape, "data": (self._data, self.read_only)}

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise BufferError("an array in main memory has no stream: leave `stream` out")
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError("the array is in main memory, DLPack's device (1, 0): copy it to another device afterwards")
        if copy is False and self._owner is not None:
            raise BufferError("the memory is another object's buffer, which a capsule cannot hold: leave `copy` out")
        source = self.copy() if copy or self._owner is not None else self
        if max_version is not None and max_version[0] >= 1:
            return capsules.make(out(runtime().sn_tensor_to_dlpack, source), capsules.VERSIONED)
        if source.read_only:
            raise BufferError("a read-only view: ask with max_version=(1, 1), or for copy=True")
        return capsules.make(out(runtime().sn_tensor_to_dlpack_unversioned, source), capsules.UNVERSIONED)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of rank 0 has no length")
        return self.shape[0]

    def __repr__(self):
        return f"sinter.Array({self.dtype}[{','.join(map(str, self.shape))}])"


def _nested(values, shape):
    """Returns a list of numbers, in row-major order, as nested lists of this shape."""
    if len(shape) < 2:
        return values if shape else values[0]
    part = len(values) // shape[0] if shape[0] else 0
    return [_nested(values[i * part:(i + 1) * part], shape[1:]) for i in range(shape[0])]


def _shape(sizes):
    return (c_int64 * len(sizes))(*sizes)


def _dtype_number(dtype):
    if dtype not in _BY_NAME:
        raise InvalidArgument(f"there is no element type {dtype!r}: the types are {', '.join(_BY_NAME)}")
    return _BY_NAME[dtype]


def empty(shape, dtype="f32"):
    """Returns an array with memory of its own and unspecified contents."""
    return Array(out(runtime().sn_tensor_empty, _dtype_number(dtype), len(shape), _shape(shape), None))


class _Buffer(ctypes.Structure):
    """Python's Py_buffer."""
    _fields_ = [("buf", c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
                ("shape", POINTER(ctypes.c_ssize_t)), ("strides", POINTER(ctypes.c_ssize_t)),
                ("suboffsets", POINTER(ctypes.c_ssize_t)), ("internal", c_void_p)]


_api = ctypes.pythonapi
_api.PyObject_GetBuffer.argtypes = (ctypes.py_object, POINTER(_Buffer), ctypes.c_int)
_api.PyBuffer_Release.argtypes = (POINTER(_Buffer),)
_api.PyBuffer_Release.restype = None


class _HeldBuffer:
    """Holds an object's buffer, of which nothing may be moved until it is released."""
    FULL_READ_ONLY = 0x11C  # PyBUF_FULL_RO

    def __init__(self, value):
        self.buffer = _Buffer()
        _api.PyObject_GetBuffer(value, ctypes.byref(self.buffer), self.FULL_READ_ONLY)

    def __del__(self):
        _api.PyBuffer_Release(ctypes.byref(self.buffer))


def _from_buffer(value):
    view = memoryview(value)
    code = view.format.lstrip("@=<") if view.itemsize else ""
    if code not in _BY_FORMAT:
        raise InvalidArgument(f"no element type is like the buffer's format {view.format!r}")
    if not view.c_contiguous:
        raise InvalidArgument("the buffer is not contiguous: use numpy.ascontiguousarray")
    held = _HeldBuffer(view)
    tensor = out(runtime().sn_tensor_borrow, _BY_FORMAT[code], view.ndim, _shape(view.shape), held.buffer.buf, None)
    return Array(tensor, held)


def _from_ml_dtypes(value):
    """For NumPy arrays of a type that NumPy lends from ml_dtypes: it has neither a capsule nor a buffer."""
    interface = value.__array_interface__
    if interface.get("strides") is not None:
        raise InvalidArgument("the array is not contiguous: use numpy.ascontiguousarray")
    tensor = out(runtime().sn_tensor_borrow, _BY_NUMPY[value.dtype.name], value.ndim, _shape(value.shape),
                 interface["data"][0], None)
    return Array(tensor, value)


def _from_dlpack(value):
    device = value.__dlpack_device__()
    if device[0] not in _MAIN_MEMORY:
        raise Unimplemented(f"an array in the memory of DLPack's device {tuple(map(int, device))}: this version takes "
                            "main memory only; use .cpu(), a run copies it to its device")
    try:
        capsule = value.__dlpack__(max_version=(1, 1))
    except TypeError:  # Before version 1 of DLPack.
        capsule = value.__dlpack__()
    managed, kind = capsules.take(capsule)
    lib = runtime()
    take = lib.sn_tensor_from_dlpack if kind == capsules.VERSIONED else lib.sn_tensor_from_dlpack_unversioned
    return Array(out(take, managed))


def _has_buffer(value):
    try:
        memoryview(value)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def array(value):
    """Returns an array over the memory of another: of any object with __dlpack__ or a buffer, without a copy.

    Memory that is not aligned to the size of an element is copied (Array.was_copied). InvalidArgument: a type
    without a name here, or not contiguous. Unimplemented: in the memory of a GPU.
    """
    if isinstance(value, Array):
        return value
    name = getattr(getattr(value, "dtype", None), "name", None)
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2") and hasattr(value, "__array_interface__"):
        return _from_ml_dtypes(value)
    if hasattr(value, "__dlpack__"):
        try:
            return _from_dlpack(value)
        except (BufferError, TypeError):  # An old NumPy gives no read-only array away; its buffer is as good.
            if not _has_buffer(value):
                raise
    if _has_buffer(value):
        return _from_buffer(value)
    raise InvalidArgument(f"a {type(value).__name__} is no array: it has neither __dlpack__ nor a buffer; use numpy.asarray")
