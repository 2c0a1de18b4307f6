"""Sessions: loaded plans with their variables.

    session = plan.session(threads=2)
    train = session.bind("train")
    train.set(lr=0.1)
    for x, y in batches:
        losses.append(train.run(x=x, y=y)["loss"].item())
"""
import ctypes
import numbers
import struct
from collections.abc import Mapping, MutableMapping
from ctypes import c_char_p, c_int64
from typing import List, NamedTuple

from sinter.arrays import Array, array
from sinter.errors import FailedPrecondition, InvalidArgument, NotFound
from sinter.library import (Argument, Handle, Held, LoadOptions, SessionOptions, check, out, runtime, text, texts)


def options_of(given):
    """Returns sn_session_options for keyword arguments. TypeError for an unknown name."""
    options = SessionOptions(size=ctypes.sizeof(SessionOptions))
    known = [name for name, _ in SessionOptions._fields_ if name != "size"]
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"a session has no option {name!r}: its options are {', '.join(known)}")
        setattr(options, name, text(value) if name in ("tuning_file", "expected_hash") else value)
    return ctypes.byref(options)


class Results(Mapping):
    """The outputs of a run, by name. The first use of an output copies it, on a GPU to main memory.

    An output that was not used before the session's next run is lost: FailedPrecondition.
    """

    def __init__(self, session, names, fetch):
        self._session, self._names, self._fetch = session, names, fetch
        self._run = session.runs
        self._copies = {}

    def view(self, name):
        """Returns an output without a copy: a read-only view, whose values the session's next run changes."""
        if self._run != self._session.runs:
            raise FailedPrecondition(f"output {name!r} was not read before the session's next run")
        if name not in self._names:
            raise NotFound(f"the function has no output {name!r}: it has {', '.join(self._names)}")
        return Array(self._fetch(text(name)))

    def __getitem__(self, name):
        if name not in self._copies:
            self._copies[name] = self.view(name).copy()
        return self._copies[name]

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return f"sinter.Results({', '.join(self._names)})"


class Variables(MutableMapping):
    """The variables of a session, by name: reads are copies, writes copy."""

    def __init__(self, session):
        self._session = session

    def view(self, name):
        """Returns a read-only view of the variable's memory, which later runs change; a copy if it is on a GPU."""
        return Array(out(runtime().sn_variable_view, self._session, text(name)))

    def __getitem__(self, name):
        return Array(out(runtime().sn_variable_read, self._session, text(name)))

    def __setitem__(self, name, value):
        check(runtime().sn_variable_write(self._session, text(name), array(value)))

    def __delitem__(self, name):
        raise TypeError("a plan's variables cannot be removed")

    def __iter__(self):
        return iter(self._session.plan.variables)

    def __len__(self):
        return len(self._session.plan.variables)


class Log(NamedTuple):
    """Numbers that runs have logged. `lost` counts those that were overwritten before they were read."""
    values: List[float]
    lost: int


def _is_double(value):
    """True for numbers that a double holds, as the C library takes them for a run."""
    return isinstance(value, numbers.Real) and not (isinstance(value, numbers.Integral) and abs(value) > 2**53)


def _exact(value):
    """Returns an integer of 64 bits as a buffer; other values as they are."""
    return memoryview(struct.pack("q", _int64(value))).cast("q", ()) if isinstance(value, numbers.Integral) else value


class BoundFunction(Held):
    """A function with inputs that stay set. Made by Session.bind."""

    def __init__(self, session, name):
        self._session = session
        self._handle = Handle(out(runtime().sn_function_bind, session, text(name)), runtime().sn_function_free)
        self._inputs = {}  # Keeps borrowed arrays alive.
        self.info = session.plan.functions[name]

    def set(self, inputs=None, /, **named):
        """Sets inputs, from a mapping or by keywords: arrays, of which each run reads the values anew, or numbers."""
        lib = runtime()
        for name, value in {**(inputs or {}), **named}.items():
            if isinstance(value, numbers.Integral):
                check(lib.sn_function_set_integer(self, text(name), _int64(value)))
                self._inputs.pop(name, None)
            elif isinstance(value, numbers.Real):
                check(lib.sn_function_set_number(self, text(name), float(value)))
                self._inputs.pop(name, None)
            else:
                tensor = array(value)
                check(lib.sn_function_set_input(self, text(name), tensor))
                self._inputs[name] = tensor

    def run(self, inputs=None, /, **named):
        """Sets the given inputs, runs the function and returns its Results."""
        self.set(inputs, **named)
        self._session.runs += 1
        check(runtime().sn_function_run(self))
        return Results(self._session, [o.name for o in self.info.outputs], self._fetch)

    def _fetch(self, name):
        return out(runtime().sn_function_output, self, name)


def _int64(value):
    value = int(value)
    if not -2**63 <= value < 2**63:
        raise InvalidArgument(f"{value} does not fit 64 bits: give an array of u64")
    return value


class Session(Held):
    """A loaded plan. Use it from one thread at a time. Made by Plan.session and Session.share."""

    def __init__(self, address, plan):
        self._handle = Handle(address, runtime().sn_session_free)
        self.plan = plan
        self.runs = 0  # Runs of all functions, to know whether outputs are still there.
        self.variables = Variables(self)

    def bind(self, name):
        """Returns a BoundFunction."""
        return BoundFunction(self, name)

    def run(self, function, inputs=None, /, **named):
        """Runs a function once, with inputs from a mapping or by keywords, and returns its Results.

        For the name of buckets, runs the smallest that fits.
        """
        values = {**(inputs or {}), **named}
        tensors = {name: array(_exact(value)) for name, value in values.items() if not _is_double(value)}
        arguments = (Argument * len(values))(*[
            Argument(text(name), tensors[name]._as_parameter_ if name in tensors else None,
                     0.0 if name in tensors else float(value)) for name, value in values.items()])
        self.runs += 1
        lib = runtime()
        outputs = Handle(out(lib.sn_session_run, self, text(function), arguments, len(values)), lib.sn_outputs_free)
        names = [lib.sn_outputs_name(outputs, i).decode() for i in range(lib.sn_outputs_count(outputs))]
        return Results(self, names, lambda name: out(lib.sn_outputs_tensor, outputs, name))

    def share(self, **options):
        """Returns a session for another thread that reads this one's variables, which become read-only."""
        return Session(out(runtime().sn_session_share, self, options_of(options)), self.plan)

    def synchronize(self):
        """Waits until all devices have completed their work."""
        check(runtime().sn_session_synchronize(self))

    def memory(self, device=None):
        """Returns the bytes that the session takes on a device, or on all."""
        taken = c_int64()
        named = None if device is None else text(device)
        check(runtime().sn_session_memory(self, named, ctypes.byref(taken)))
        return taken.value

    def reset(self):
        """Sets all variables to their initial values and empties logs."""
        check(runtime().sn_variables_reset(self))

    def read_log(self, name):
        """Returns the numbers logged since the last call, oldest first, as a Log."""
        lost = c_int64()
        tensor = ctypes.c_void_p()
        check(runtime().sn_log_read(self, text(name), ctypes.byref(tensor), ctypes.byref(lost)))
        return Log(Array(tensor.value).tolist(), lost.value)

    def save(self, path, metadata=None):
        """Writes a checkpoint: all variables, and texts by their keys."""
        metadata = metadata or {}
        check(runtime().sn_checkpoint_save(self, text(path), len(metadata), texts(list(metadata)),
                                           texts(list(metadata.values()))))

    def load(self, path, only=None, allow_unchecked=False):
        """Loads a checkpoint, and returns its texts by their keys. `only`: names, or prefixes with '*', to load."""
        lib = runtime()
        options = LoadOptions(size=ctypes.sizeof(LoadOptions), allow_unchecked=int(allow_unchecked))
        if only is not None:
            names = texts(list(only))
            options.num_only, options.only = len(names), names
        found = Handle(out(lib.sn_checkpoint_load, self, text(path), ctypes.byref(options)), lib.sn_metadata_free)
        metadata = {}
        for i in range(lib.sn_metadata_count(found)):
            key, value = c_char_p(), c_char_p()
            check(lib.sn_metadata_entry(found, i, ctypes.byref(key), ctypes.byref(value)))
            metadata[key.value.decode()] = value.value.decode()
        return metadata
