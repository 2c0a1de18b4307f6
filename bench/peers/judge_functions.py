#!/usr/bin/env python3
"""Compares results and gradients of Sinter's public functions with PyTorch in float64 on the CPU.

usage: judge_functions.py BINARY [--device cpu:0] [--seed 1] [NAME ...]

BINARY is sinter_function_values, which computes in f32. Each result and each gradient agrees if the norm of its
difference, divided by the norm of PyTorch's, is within a limit; whole numbers and truth values must be equal. Exit
status: 0, or 1 if a call differs, fails, or has no counterpart in functions/.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch

from functions import torch_functions, torch_layers
from judge_ops import part, read_tensors

COUNTERPARTS = torch_functions.COUNTERPARTS | torch_layers.COUNTERPARTS
LIMIT = 1e-5
# Calls whose inputs lose digits: their mean is large beside their deviation.
LIMITS = {"LayerNorm.offset": 1e-4, "Var.offset": 1e-4}


class Values:
    """The inputs of a call, and the parameters of its layer, in float64."""

    def __init__(self, tensors):
        self.inputs = [leaf(tensors[f"in{i}"]) for i in range(count(tensors, "in"))]
        self.parameters = {name: leaf(tensor) for name, tensor in part(tensors, "p:").items()}

    def __getitem__(self, key):
        return self.parameters[key] if isinstance(key, str) else self.inputs[key]


def leaf(tensor):
    return tensor.double().requires_grad_() if tensor.is_floating_point() else tensor


def count(tensors, prefix):
    return sum(1 for name in tensors if name.startswith(prefix) and name[len(prefix):].isdigit())


def expected(name, tensors):
    """Returns PyTorch's results and gradients under Sinter's names."""
    v = Values(tensors)
    results = COUNTERPARTS[name](v)
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    values = {f"out{i}": result.detach() for i, result in enumerate(results)}
    leaves = {f"d{i}": x for i, x in enumerate(v.inputs) if x.requires_grad}
    leaves |= {f"d:{parameter}": x for parameter, x in v.parameters.items()}
    weighted = [(result * tensors[f"w{i}"].double()).sum() for i, result in enumerate(results) if f"w{i}" in tensors]
    if not weighted or not leaves:
        return values
    loss = sum(weighted)
    if not loss.requires_grad:
        return values | {key: torch.zeros_like(x) for key, x in leaves.items()}
    gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return values | dict(zip(leaves, gradients, strict=True))


def distance(ours, theirs):
    """Returns the relative distance; infinity for another shape, other whole numbers, or other infinities and NaN."""
    if ours.shape != theirs.shape:
        return float("inf")
    if not ours.is_floating_point():
        return 0.0 if torch.equal(ours.long(), theirs.long()) else float("inf")
    ours, finite = ours.double(), theirs.isfinite()
    if not torch.allclose(ours[~finite], theirs[~finite], rtol=0, atol=0, equal_nan=True):
        return float("inf")
    ours, theirs = ours[finite], theirs[finite]
    difference = float((ours - theirs).norm())
    return difference if difference == 0 else difference / max(float(theirs.norm()), 1e-30)


def judge(name, tensors):
    """Returns the largest distance and where it is, or a reason why there is none."""
    if name not in COUNTERPARTS:
        return float("inf"), "has no counterpart"
    if not tensors:
        return float("inf"), "the binary failed"
    theirs = expected(name, tensors)
    ours = {key: tensor for key, tensor in tensors.items() if key.startswith(("out", "d"))}
    if ours.keys() != theirs.keys():
        return float("inf"), f"Sinter gives {sorted(ours)}, PyTorch {sorted(theirs)}"
    distances = [(distance(ours[key], theirs[key]), key) for key in ours]
    return max((d if d == d else float("inf"), key) for d, key in distances)


def values_of(arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "values.safetensors"
        subprocess.run([str(arguments.binary.resolve()), "--device", arguments.device, "--seed", str(arguments.seed),
                        "--values", str(path), *arguments.names], check=False)
        return read_tensors(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--device", default="cpu:0", help="Sinter's")
    parser.add_argument("--seed", type=int, default=1, help="decides the inputs")
    parser.add_argument("--all", action="store_true", help="print all distances, not only those of failures")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_intermixed_args()
    torch.set_default_dtype(torch.float64)
    listed = subprocess.run([str(arguments.binary.resolve()), "--list", *arguments.names], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split("\n")[:-1]
    tensors = values_of(arguments)
    failures = 0
    for name in listed:
        worst, where = judge(name, part(tensors, name + "/"))
        agrees = worst <= LIMITS.get(name, LIMIT)
        failures += not agrees
        if arguments.all or not agrees:
            print(f"{name:40} {worst:9.2e} {where}{'' if agrees else '  DIFFERS'}", flush=True)
    print(f"{len(listed) - failures} functions agree, {failures} differ (seed {arguments.seed}, PyTorch {torch.__version__})")
    return 0 if failures == 0 and listed else 1


if __name__ == "__main__":
    sys.exit(main())
