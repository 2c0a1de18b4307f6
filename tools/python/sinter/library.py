"""The C library by ctypes: types, signatures and the check of each call.

    lib = library.runtime()
    check(lib.sn_plan_load(b"a.plan", byref(handle)))

The libraries are in the folder lib/ of the package. SINTER_LIBRARY_FOLDER names another folder, such as a build
folder. ctypes releases the interpreter's lock in every call.
"""
import ctypes
import functools
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p

from sinter.errors import error_of

MAJOR = 1


class Info(ctypes.Structure):
    """sn_info."""
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", POINTER(c_int64))]


class SessionOptions(ctypes.Structure):
    """sn_session_options."""
    _fields_ = [("size", c_uint32), ("threads", c_int32), ("memory_limit", c_int64), ("tuning_file", c_char_p),
                ("expected_hash", c_char_p), ("any_order", c_int32), ("poison", c_int32)]


class LoadOptions(ctypes.Structure):
    """sn_load_options."""
    _fields_ = [("size", c_uint32), ("allow_unchecked", c_int32), ("num_only", c_int64), ("only", POINTER(c_char_p))]


class CompileOptions(ctypes.Structure):
    """sn_compile_options."""
    _fields_ = [("size", c_uint32), ("threads", c_int32), ("device", c_char_p), ("target_cpus", c_char_p),
                ("gpu_architectures", c_char_p), ("memory_limit", c_int64), ("check_indices", c_int32),
                ("automatic_copies", c_int32)]


class DeviceInfo(ctypes.Structure):
    """sn_device_info."""
    _fields_ = [("size", c_uint32), ("is_gpu", c_int32), ("name", ctypes.c_char * 128),
                ("architecture", ctypes.c_char * 32), ("total_bytes", c_int64), ("free_bytes", c_int64)]


class Argument(ctypes.Structure):
    """sn_argument."""
    _fields_ = [("name", c_char_p), ("tensor", c_void_p), ("number", c_double)]


_OUT = POINTER(c_void_p)
_SHAPE = POINTER(c_int64)
_TEXTS = POINTER(c_char_p)

# Result and parameters of each function. Handles are addresses.
_RUNTIME = {
    "sn_version": (c_uint32, ()),
    "sn_release": (c_char_p, ()),
    "sn_last_error": (c_char_p, ()),
    "sn_code_name": (c_char_p, (c_int32,)),
    "sn_dtype_name": (c_char_p, (c_int32,)),
    "sn_dtype_bytes": (c_int64, (c_int32,)),
    "sn_num_gpus": (c_int32, ()),
    "sn_device_query": (c_int32, (c_char_p, POINTER(DeviceInfo))),
    "sn_plan_load": (c_int32, (c_char_p, _OUT)),
    "sn_plan_from_memory": (c_int32, (c_void_p, c_size_t, _OUT)),
    "sn_plan_free": (None, (c_void_p,)),
    "sn_plan_save": (c_int32, (c_void_p, c_char_p)),
    "sn_plan_bytes": (c_int32, (c_void_p, _OUT, POINTER(c_size_t))),
    "sn_plan_name": (c_char_p, (c_void_p,)),
    "sn_plan_hash": (c_char_p, (c_void_p,)),
    "sn_plan_num_functions": (c_int32, (c_void_p,)),
    "sn_plan_num_variables": (c_int32, (c_void_p,)),
    "sn_plan_num_devices": (c_int32, (c_void_p,)),
    "sn_plan_function_info": (c_int32, (c_void_p, c_int32, _TEXTS, POINTER(c_int32), POINTER(c_int32))),
    "sn_plan_input_info": (c_int32, (c_void_p, c_int32, c_int32, POINTER(Info))),
    "sn_plan_output_info": (c_int32, (c_void_p, c_int32, c_int32, POINTER(Info))),
    "sn_plan_variable_info": (c_int32, (c_void_p, c_int32, POINTER(Info), POINTER(c_int32))),
    "sn_plan_device": (c_int32, (c_void_p, c_int32, _TEXTS)),
    "sn_tensor_borrow": (c_int32, (c_int32, c_int32, _SHAPE, c_void_p, c_char_p, _OUT)),
    "sn_tensor_empty": (c_int32, (c_int32, c_int32, _SHAPE, c_char_p, _OUT)),
    "sn_tensor_copy": (c_int32, (c_void_p, _OUT)),
    "sn_tensor_free": (None, (c_void_p,)),
    "sn_tensor_info": (c_int32, (c_void_p, POINTER(Info), _OUT)),
    "sn_tensor_flags": (c_uint32, (c_void_p,)),
    "sn_tensor_from_dlpack": (c_int32, (c_void_p, _OUT)),
    "sn_tensor_from_dlpack_unversioned": (c_int32, (c_void_p, _OUT)),
    "sn_tensor_to_dlpack": (c_int32, (c_void_p, _OUT)),
    "sn_tensor_to_dlpack_unversioned": (c_int32, (c_void_p, _OUT)),
    "sn_session_create": (c_int32, (c_void_p, POINTER(SessionOptions), _OUT)),
    "sn_session_share": (c_int32, (c_void_p, POINTER(SessionOptions), _OUT)),
    "sn_session_free": (None, (c_void_p,)),
    "sn_session_synchronize": (c_int32, (c_void_p,)),
    "sn_session_memory": (c_int32, (c_void_p, c_char_p, POINTER(c_int64))),
    "sn_session_run": (c_int32, (c_void_p, c_char_p, POINTER(Argument), c_int32, _OUT)),
    "sn_function_bind": (c_int32, (c_void_p, c_char_p, _OUT)),
    "sn_function_free": (None, (c_void_p,)),
    "sn_function_set_input": (c_int32, (c_void_p, c_char_p, c_void_p)),
    "sn_function_set_number": (c_int32, (c_void_p, c_char_p, c_double)),
    "sn_function_set_integer": (c_int32, (c_void_p, c_char_p, c_int64)),
    "sn_function_run": (c_int32, (c_void_p,)),
    "sn_function_output": (c_int32, (c_void_p, c_char_p, _OUT)),
    "sn_outputs_free": (None, (c_void_p,)),
    "sn_outputs_count": (c_int32, (c_void_p,)),
    "sn_outputs_name": (c_char_p, (c_void_p, c_int32)),
    "sn_outputs_tensor": (c_int32, (c_void_p, c_char_p, _OUT)),
    "sn_variable_read": (c_int32, (c_void_p, c_char_p, _OUT)),
    "sn_variable_view": (c_int32, (c_void_p, c_char_p, _OUT)),
    "sn_variable_write": (c_int32, (c_void_p, c_char_p, c_void_p)),
    "sn_variables_reset": (c_int32, (c_void_p,)),
    "sn_log_read": (c_int32, (c_void_p, c_char_p, _OUT, POINTER(c_int64))),
    "sn_checkpoint_save": (c_int32, (c_void_p, c_char_p, c_int32, _TEXTS, _TEXTS)),
    "sn_checkpoint_load": (c_int32, (c_void_p, c_char_p, POINTER(LoadOptions), _OUT)),
    "sn_metadata_free": (None, (c_void_p,)),
    "sn_metadata_count": (c_int32, (c_void_p,)),
    "sn_metadata_entry": (c_int32, (c_void_p, c_int32, _TEXTS, _TEXTS)),
}
_COMPILER = {
    "sn_compile_text": (c_int32, (c_char_p, c_size_t, c_char_p, POINTER(CompileOptions), _OUT, _OUT)),
    "sn_compile_report_text": (c_int32, (c_void_p, c_char_p, _TEXTS)),
    "sn_compile_report_free": (None, (c_void_p,)),
}


def _open(name, functions, package):
    named = os.environ.get("SINTER_LIBRARY_FOLDER")
    folder = pathlib.Path(named) if named else pathlib.Path(__file__).parent / "lib"
    try:
        lib = ctypes.CDLL(str(folder / name))
    except OSError as error:
        raise ImportError(f"{error}. {name} belongs to the package {package}, or SINTER_LIBRARY_FOLDER names its folder") from None
    for function, (result, parameters) in functions.items():
        getattr(lib, function).restype = result
        getattr(lib, function).argtypes = parameters
    return lib


@functools.lru_cache(maxsize=None)
def runtime():
    """Returns the library that loads and runs plans. ImportError if it is not there or too new."""
    lib = _open("libsinter_c.so.1", _RUNTIME, "sinter")
    if lib.sn_version() >> 16 != MAJOR:
        raise ImportError(f"libsinter_c has version {lib.sn_version() >> 16} of the interface; this package needs {MAJOR}")
    return lib


@functools.lru_cache(maxsize=None)
def compiler():
    """Returns the compiler's library. ImportError if it is not there."""
    runtime()
    return _open("libsinter_compiler_c.so.1", _COMPILER, "sinter-compiler")


def release():
    """Returns Sinter's version, such as "0.1.0"."""
    return runtime().sn_release().decode()


def check(code):
    """Raises the exception of a call's code unless it is OK."""
    if code != 0:
        raise error_of(code, runtime().sn_last_error().decode("utf-8", "replace"))


def out(function, *arguments):
    """Calls a function whose last parameter takes a handle, and returns the handle's address."""
    handle = c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    return handle.value


def text(value):
    """Returns a name or path as the C interface takes it. ValueError if it has a zero character."""
    encoded = os.fsencode(value) if isinstance(value, os.PathLike) else str(value).encode()
    if b"\0" in encoded:
        raise ValueError(f"{value!r} has a zero character")
    return encoded


def texts(values):
    """Returns an array of texts."""
    return (c_char_p * len(values))(*[text(value) for value in values])


class Handle:
    """Owns a handle of the C library and frees it with the function `free`. An argument of calls."""

    def __init__(self, address, free):
        self.address = address
        self._free = free

    @property
    def _as_parameter_(self):
        return c_void_p(self.address)

    def __del__(self):
        self._free(self.address)


class Held:
    """An object that holds a handle, as `_handle`. An argument of calls, which then keep it alive."""

    @property
    def _as_parameter_(self):
        return c_void_p(self._handle.address)


