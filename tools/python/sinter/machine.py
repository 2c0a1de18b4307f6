"""The devices of this machine."""
import ctypes
from typing import NamedTuple

from sinter.library import DeviceInfo as _Info
from sinter.library import check, runtime, text


class DeviceInfo(NamedTuple):
    """A device: its bytes of memory, and those left for this process, an estimate."""
    device: str
    name: str
    architecture: str
    total_bytes: int
    free_bytes: int


def num_gpus():
    """Returns the number of GPUs that plans can run on."""
    return runtime().sn_num_gpus()


def devices():
    """Returns a DeviceInfo for the CPU and for each GPU."""
    found = []
    for name in ["cpu:0", *(f"gpu:{i}" for i in range(num_gpus()))]:
        info = _Info(size=ctypes.sizeof(_Info))
        check(runtime().sn_device_query(text(name), ctypes.byref(info)))
        found.append(DeviceInfo(name, info.name.decode("utf-8", "replace"), info.architecture.decode(), info.total_bytes,
                                info.free_bytes))
    return found
