"""Capsules of DLPack: Python's objects around managed tensors.

A capsule that nobody took calls the deleter of its tensor when it is destroyed. Who takes the tensor renames
the capsule first, so that it does not.
"""
import ctypes
from ctypes import c_char_p, c_int, c_void_p, py_object

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = py_object
_api.PyCapsule_New.argtypes = (c_void_p, c_char_p, c_void_p)
_api.PyCapsule_IsValid.restype = c_int
_api.PyCapsule_IsValid.argtypes = (py_object, c_char_p)
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = (py_object, c_char_p)
_api.PyCapsule_SetName.restype = c_int
_api.PyCapsule_SetName.argtypes = (py_object, c_char_p)

# A destructor gets a capsule that has no references: it must not become a Python object again.
_is_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_get_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))

# Names, which must live as long as the capsules, and the offset of the deleter in each structure.
VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"
_USED = {VERSIONED: b"used_dltensor_versioned", UNVERSIONED: b"used_dltensor"}
_DELETER_AT = {VERSIONED: 16, UNVERSIONED: 56}
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _destroy(capsule):
    for name, at in _DELETER_AT.items():
        if _is_valid(capsule, name):
            managed = _get_pointer(capsule, name)
            _Deleter(c_void_p.from_address(managed + at).value)(managed)


def make(managed, name):
    """Returns a capsule around a managed tensor; `name` is VERSIONED or UNVERSIONED."""
    return _api.PyCapsule_New(managed, name, ctypes.cast(_destroy, c_void_p))


def take(capsule):
    """Takes the managed tensor of a capsule. Returns its address and its kind, VERSIONED or UNVERSIONED."""
    for name, used in _USED.items():
        if _api.PyCapsule_IsValid(capsule, name):
            managed = _api.PyCapsule_GetPointer(capsule, name)
            _api.PyCapsule_SetName(capsule, used)
            return managed, name
    raise ValueError("not a capsule of DLPack, or one whose tensor was taken already")
