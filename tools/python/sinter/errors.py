"""Exceptions: one for each code of sinter/c/sinter.h."""


class Error(Exception):
    """An error of Sinter. `code` is its number in sinter/c/sinter.h, `name` its name there."""

    code = 2
    name = "UNKNOWN"

    def __str__(self):
        return str(self.args[0]) if self.args else ""  # A KeyError would print its text in quotes.


class InvalidArgument(Error, ValueError):
    code, name = 3, "INVALID_ARGUMENT"


class NotFound(Error, KeyError):
    code, name = 5, "NOT_FOUND"


class PermissionDenied(Error, PermissionError):
    code, name = 7, "PERMISSION_DENIED"


class ResourceExhausted(Error, MemoryError):
    code, name = 8, "RESOURCE_EXHAUSTED"


class FailedPrecondition(Error, RuntimeError):
    code, name = 9, "FAILED_PRECONDITION"


class OutOfRange(Error, IndexError):
    code, name = 11, "OUT_OF_RANGE"


class Unimplemented(Error, NotImplementedError):
    code, name = 12, "UNIMPLEMENTED"


class Internal(Error, RuntimeError):
    code, name = 13, "INTERNAL"


class Unavailable(Error, ConnectionError):
    code, name = 14, "UNAVAILABLE"


class DataLoss(Error, OSError):
    code, name = 15, "DATA_LOSS"


_BY_CODE = {kind.code: kind for kind in Error.__subclasses__()}


def error_of(code, text):
    """Returns the exception for a code; codes without a class of their own are plain Errors."""
    error = _BY_CODE.get(code, Error)(text)
    error.code = code
    return error
