"""Runs and trains compiled models: plans of Sinter.

    import sinter
    plan = sinter.load("lenet.plan")
    session = plan.session()
    result = session.run("predict", x=images)      # Any array with __dlpack__ or a buffer: NumPy, PyTorch, ...
    result["y"]                                     # A sinter.Array; numpy.asarray and torch.from_dlpack read it.

    train = session.bind("train")                   # Inputs stay set: only what changes is given again.
    for x, y in batches:
        loss = train.run(x=x, y=y, lr=0.1)["loss"].item()
    session.variables["conv1.weight"]               # A copy of a variable's value.
    session.save("lenet.safetensors")

    plan = sinter.compile(text, device="cpu")       # Needs the compiler's library (package sinter-compiler).

Arrays are dense and row-major, in main memory. Errors are exceptions of sinter.Error, by code; each is also one
of Python's own, such as ValueError.
"""
from sinter.arrays import Array, array, empty
from sinter.compiler import Report, compile  # pylint: disable=redefined-builtin
from sinter.errors import (DataLoss, Error, FailedPrecondition, Internal, InvalidArgument, NotFound, OutOfRange,
                           PermissionDenied, ResourceExhausted, Unavailable, Unimplemented)
from sinter.library import release
from sinter.machine import DeviceInfo, devices, num_gpus
from sinter.plans import FunctionInfo, Plan, TensorInfo, VariableInfo, load
from sinter.sessions import BoundFunction, Log, Results, Session, Variables

__version__ = release()
__all__ = [
    "Array", "BoundFunction", "DataLoss", "DeviceInfo", "Error", "FailedPrecondition", "FunctionInfo", "Internal",
    "InvalidArgument", "Log", "NotFound", "OutOfRange", "PermissionDenied", "Plan", "Report", "ResourceExhausted", "Results",
    "Session", "TensorInfo", "Unavailable", "Unimplemented", "VariableInfo", "Variables", "array", "compile", "devices",
    "empty", "load", "num_gpus", "release"
]
