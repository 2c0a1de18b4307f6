"""Capsules of DLPack: Python's objects around managed tensors.

Who takes the tensor of a capsule renames the capsule, and calls the tensor's deleter later. Capsules that nobody
took are freed here, at a later call of `make`. They have no destructor for that: Python runs destructors while an
exception is on its way, and then no function may be called by ctypes.
"""
import ctypes
import sys
import threading
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

# Names, which must live as long as the capsules, and the offset of the deleter in each structure.
VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"
_USED = {VERSIONED: b"used_dltensor_versioned", UNVERSIONED: b"used_dltensor"}
_DELETER_AT = {VERSIONED: 16, UNVERSIONED: 56}
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)

_made = []  # Capsules that were given away: a taken one goes at the next call, another when nobody else has it.
_lock = threading.Lock()


def make(managed, name):
    """Returns a capsule around a managed tensor; `name` is VERSIONED or UNVERSIONED."""
    free_unused()
    capsule = _api.PyCapsule_New(managed, name, None)
    with _lock:
        _made.append(capsule)
    return capsule


def free_unused():
    """Frees the tensors of capsules that nobody has taken and nobody can take any more."""
    with _lock:
        waiting = [i for i in range(len(_made)) if _kind(_made[i]) is not None]
        # References of the list and of the call's argument.
        dropped = [_made[i] for i in waiting if sys.getrefcount(_made[i]) <= 2]
        _made[:] = [_made[i] for i in waiting if all(_made[i] is not capsule for capsule in dropped)]
    for capsule in dropped:
        managed, name = take(capsule)
        _Deleter(c_void_p.from_address(managed + _DELETER_AT[name]).value)(managed)


def unused():
    """Returns the number of tensors that were given away and not taken yet."""
    free_unused()
    return len(_made)


def _kind(capsule):
    return next((name for name in _USED if _api.PyCapsule_IsValid(capsule, name)), None)


def take(capsule):
    """Takes the managed tensor of a capsule. Returns its address and its kind, VERSIONED or UNVERSIONED."""
    name = _kind(capsule)
    if name is None:
        raise ValueError("not a capsule of DLPack, or one whose tensor was taken already")
    managed = _api.PyCapsule_GetPointer(capsule, name)
    _api.PyCapsule_SetName(capsule, _USED[name])
    return managed, name
