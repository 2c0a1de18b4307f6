"""Plans: compiled programs."""
import ctypes
from ctypes import c_char_p, c_int32, c_size_t, c_void_p
from typing import NamedTuple, Tuple

from sinter.arrays import dtype_name
from sinter.library import Handle, Held, Info, check, out, runtime, text
from sinter.sessions import Session, options_of


class TensorInfo(NamedTuple):
    """An input or output of a function."""
    name: str
    dtype: str
    shape: Tuple[int, ...]


class VariableInfo(NamedTuple):
    """A variable of a plan."""
    name: str
    dtype: str
    shape: Tuple[int, ...]
    trainable: bool


class FunctionInfo(NamedTuple):
    """A function of a plan."""
    name: str
    inputs: Tuple[TensorInfo, ...]
    outputs: Tuple[TensorInfo, ...]


def _tensor_info(read, *place):
    info = Info()
    check(read(*place, ctypes.byref(info)))
    return TensorInfo(info.name.decode(), dtype_name(info.dtype), tuple(info.shape[i] for i in range(info.rank)))


class Plan(Held):
    """A compiled program. Made by `load`, `compile` and `Plan.from_bytes`; a session runs it."""

    def __init__(self, address):
        self._handle = Handle(address, runtime().sn_plan_free)

    @classmethod
    def from_bytes(cls, data):
        """Makes a plan from the bytes of a plan file."""
        data = bytes(data)
        return cls(out(runtime().sn_plan_from_memory, ctypes.cast(c_char_p(data), c_void_p), len(data)))

    @property
    def name(self):
        return runtime().sn_plan_name(self).decode()

    @property
    def hash(self):
        """SHA-256 of the contents."""
        return runtime().sn_plan_hash(self).decode()

    @property
    def devices(self):
        """Names of the devices that the plan runs on."""
        names = []
        for i in range(runtime().sn_plan_num_devices(self)):
            name = c_char_p()
            check(runtime().sn_plan_device(self, i, ctypes.byref(name)))
            names.append(name.value.decode())
        return names

    @property
    def functions(self):
        """Functions by name."""
        return {info.name: info for info in map(self._function, range(runtime().sn_plan_num_functions(self)))}

    def _function(self, f):
        name, inputs, outputs = c_char_p(), c_int32(), c_int32()
        lib = runtime()
        check(lib.sn_plan_function_info(self, f, ctypes.byref(name), ctypes.byref(inputs), ctypes.byref(outputs)))
        return FunctionInfo(name.value.decode(),
                            tuple(_tensor_info(lib.sn_plan_input_info, self, f, i) for i in range(inputs.value)),
                            tuple(_tensor_info(lib.sn_plan_output_info, self, f, i) for i in range(outputs.value)))

    @property
    def variables(self):
        """Variables by name."""
        found = {}
        for i in range(runtime().sn_plan_num_variables(self)):
            info, trainable = Info(), c_int32()
            check(runtime().sn_plan_variable_info(self, i, ctypes.byref(info), ctypes.byref(trainable)))
            shape = tuple(info.shape[k] for k in range(info.rank))
            name = info.name.decode()
            found[name] = VariableInfo(name, dtype_name(info.dtype), shape, bool(trainable.value))
        return found

    def to_bytes(self):
        """Returns the bytes of the plan's file."""
        data, size = c_void_p(), c_size_t()
        check(runtime().sn_plan_bytes(self, ctypes.byref(data), ctypes.byref(size)))
        return ctypes.string_at(data, size.value)

    def save(self, path):
        """Writes the whole file or nothing."""
        check(runtime().sn_plan_save(self, text(path)))

    def session(self, **options):
        """Loads the plan to run it. `options`: threads, memory_limit (bytes of each device), tuning_file,
        expected_hash, any_order (True: products by oneDNN, whose bits depend on threads and CPU)."""
        address = out(runtime().sn_session_create, self, options_of(options))
        return Session(address, self)

    def __repr__(self):
        return f"sinter.Plan({self.name!r}: {', '.join(self.functions)})"


def load(path):
    """Reads a plan file."""
    return Plan(out(runtime().sn_plan_load, text(path)))


