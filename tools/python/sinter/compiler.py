"""Compilation of programs in text. Its library is loaded at the first call."""
import ctypes
from ctypes import c_char_p, c_void_p

from sinter.errors import InvalidArgument
from sinter.library import CompileOptions, Handle, check, compiler
from sinter.library import text as encoded
from sinter.plans import Plan


class Report:
    """The compiler's log. Give an empty one to `compile`; it is filled also if the compilation fails."""

    def __init__(self):
        self._handle = None

    def text(self, part="all"):
        """Returns "fusion", "memory", "casts", "kernels", "copies", "times" or "all" of the log."""
        if self._handle is None:
            raise InvalidArgument("the report is empty: give it to sinter.compile first")
        found = c_char_p()
        check(compiler().sn_compile_report_text(self._handle, encoded(part), ctypes.byref(found)))
        return found.value.decode()

    def fill(self, address):
        """Takes over an sn_compile_report."""
        self._handle = Handle(address, compiler().sn_compile_report_free)


def _list(names):
    return None if names is None else encoded(names if isinstance(names, str) else ",".join(names))


def compile(text, device=None, *, name="program.mlir", target_cpus=None, gpu_architectures=None, threads=0,  # pylint: disable=redefined-builtin
            memory_limit=0, check_indices=False, automatic_copies=False, report=None):
    """Compiles a program, in the text of Graph::ToString() in C++, and returns its Plan.

    `device` is the device of all that the program does not place, "cpu:0" unless given. `target_cpus` and
    `gpu_architectures` are names, or lists of names, such as "x86-64-v3" and "sm_90"; without them this machine's.
    `name` is the text's origin: messages begin with it. `report`: a Report to fill.
    """
    lib = compiler()
    options = CompileOptions(size=ctypes.sizeof(CompileOptions), threads=threads, target_cpus=_list(target_cpus),
                             device=None if device is None else encoded(device),
                             gpu_architectures=_list(gpu_architectures), memory_limit=memory_limit,
                             check_indices=int(check_indices), automatic_copies=int(automatic_copies))
    program = text.encode()
    plan, log = c_void_p(), c_void_p()
    code = lib.sn_compile_text(program, len(program), encoded(name), ctypes.byref(options), ctypes.byref(plan),
                               None if report is None else ctypes.byref(log))
    if log.value:
        report.fill(log.value)
    check(code)
    return Plan(plan.value)
