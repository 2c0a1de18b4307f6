"""The models of torch_mesh.py and jax_mesh.py: sizes, parameters and their initial values.

A parameter's seed is its position in the list, from 1. Inputs use seed 1001 and targets use seed 1002, as in
workloads.py. So both libraries train from the same numbers, whatever the mesh.
"""
import dataclasses
import math

# The sizes of Sinter's examples. `batch` counts texts or images a device.
SIZES = {
    "gpt2": {"layers": 12, "heads": 12, "width": 768, "context": 1024, "vocabulary": 50304, "batch": 32},
    "gpt2-xl": {"layers": 48, "heads": 25, "width": 1600, "context": 1024, "vocabulary": 50304, "batch": 16},
    "resnet50": {"layers": 50, "width": 64, "classes": 1000, "image": 224, "batch": 256},
    "lenet": {"batch": 256},
}
# Sizes for a check on a CPU.
TINY = {
    "gpt2": {"layers": 2, "heads": 4, "width": 64, "context": 32, "vocabulary": 320, "batch": 2},
    "gpt2-xl": {"layers": 3, "heads": 8, "width": 64, "context": 32, "vocabulary": 320, "batch": 2},
    "resnet50": {"layers": 14, "width": 8, "classes": 10, "image": 32, "batch": 4},
    "lenet": {"batch": 8},
}
# The blocks of each stage, as in examples/resnet.h.
RESNET_BLOCKS = {14: (1, 1, 1, 1), 26: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
# AdamW of examples/train_gpt2, with a constant rate.
ADAMW = {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "decay": 0.1}
MOMENTUM = {"momentum": 0.9, "decay": 1e-4}
RATES = {"gpt2": 6e-4, "gpt2-xl": 6e-4, "resnet50": 0.1, "lenet": 0.2}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter with a constant value, or with values uniform in [-scale, scale) if `constant` is None."""

    name: str
    shape: tuple
    scale: float = 0.0
    constant: float | None = None


def is_text(model):
    return model.startswith("gpt2")


def _gpt(sizes):
    d, v = sizes["width"], sizes["vocabulary"]
    # The deviations of examples/train_gpt2: layers that add to the residual stream have a smaller one.
    inner = 0.02 * math.sqrt(3)
    outer = inner / math.sqrt(2 * sizes["layers"])

    def norm(name):
        return [Parameter(f"{name}.weight", (d,), constant=1.0),
                Parameter(f"{name}.bias", (d,), constant=0.0)]

    def linear(name, rows, columns, scale):
        return [Parameter(f"{name}.weight", (rows, columns), scale),
                Parameter(f"{name}.bias", (rows,), constant=0.0)]

    parameters = [Parameter("tokens", (v, d), inner), Parameter("positions", (sizes["context"], d), inner)]
    for i in range(sizes["layers"]):
        # Rows of qkv are heads x (q, k, v) x width of a head, so that a part of the rows is whole heads.
        parameters += norm(f"{i}.norm1") + linear(f"{i}.qkv", 3 * d, d, inner)
        parameters += linear(f"{i}.proj", d, d, outer) + norm(f"{i}.norm2")
        parameters += linear(f"{i}.up", 4 * d, d, inner) + linear(f"{i}.down", d, 4 * d, outer)
    return parameters + norm("norm")


def _resnet(sizes):
    parameters = []

    def convolution(name, before, after, kernel):
        scale = math.sqrt(3) * math.sqrt(2 / (before * kernel * kernel))
        parameters.append(Parameter(f"{name}.weight", (after, before, kernel, kernel), scale))
        parameters.append(Parameter(f"{name}.scale", (after,), constant=1.0))
        parameters.append(Parameter(f"{name}.offset", (after,), constant=0.0))

    channels = sizes["width"]
    convolution("stem", 3, channels, 7)
    for stage, blocks in enumerate(RESNET_BLOCKS[sizes["layers"]]):
        width = sizes["width"] << stage
        for block in range(blocks):
            name = f"{stage}.{block}"
            convolution(f"{name}.first", channels, width, 1)
            convolution(f"{name}.middle", width, width, 3)
            convolution(f"{name}.last", width, 4 * width, 1)
            if block == 0:
                convolution(f"{name}.shortcut", channels, 4 * width, 1)
            channels = 4 * width
    parameters.append(Parameter("dense.weight", (sizes["classes"], channels), 1 / math.sqrt(channels)))
    parameters.append(Parameter("dense.bias", (sizes["classes"],), constant=0.0))
    return parameters


def _lenet():
    """Returns the parameters of workloads.py. Weights of dense layers are [in, out] there."""
    parameters = []
    for name, shape, fan_in, width in (("c1", (20, 1, 3, 3), 9, 20), ("c2", (50, 20, 5, 5), 500, 50),
                                       ("d1", (800, 128), 800, 128), ("d2", (128, 10), 128, 10)):
        parameters.append(Parameter(f"{name}.weight", shape, 1 / math.sqrt(fan_in)))
        parameters.append(Parameter(f"{name}.bias", (width,), constant=0.0))
    return parameters


def parameters_of(model, sizes):
    """Returns the parameters in the order of their seeds."""
    if is_text(model):
        return _gpt(sizes)
    return _resnet(sizes) if model == "resnet50" else _lenet()


def data_shapes(model, sizes):
    """Returns the shapes of one example and of its target, and the number of classes. Images are CHW."""
    if is_text(model):
        return (sizes["context"],), (sizes["context"],), sizes["vocabulary"]
    if model == "resnet50":
        return (3, sizes["image"], sizes["image"]), (), sizes["classes"]
    return (1, 28, 28), (), 10


def units_of(model, sizes):
    """Returns what a rate counts, and how many of them an example has."""
    return ("tokens", sizes["context"]) if is_text(model) else ("images", 1)
