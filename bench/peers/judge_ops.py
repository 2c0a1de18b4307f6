#!/usr/bin/env python3
"""Compares each result of sinter_bench_ops with PyTorch in float64 on the CPU.

usage: judge_ops.py BINARY [--device cpu:0] [--scale 1024] [WORKLOAD ...]

BINARY writes the operands and results of a workload to a safetensors file. The script compares the norm of
the difference, divided by the norm of PyTorch's result, with a limit. Exit status: 0, or 1 if a result
exceeds the limit of its type.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

# Relative limits. In bf16 a chain may round between its ops.
LIMITS = {torch.bfloat16: 8e-3, torch.float32: 3e-6}
TYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "I8": torch.int8, "I32": torch.int32, "I64": torch.int64,
         "BOOL": torch.bool}


def chain(v):
    return {"y": F.gelu(v["x"] * 1.5 + 0.5, approximate="tanh") * torch.sigmoid(v["z"]) + v["x"]}


def norm(v, x):
    return F.layer_norm(x, x.shape[-1:], v["scale"], v["offset"])


def add_layer_norm(v):
    total = v["h"] + v["residual"]
    return {"sum": total, "y": norm(v, total)}


def layer_norm_with_gradients(v):
    leaves = [v[name].requires_grad_() for name in ("h", "scale", "offset")]
    y = norm(v, v["h"])
    gradients = torch.autograd.grad(y, leaves, v["dy"])
    return {"y": y.detach(), **dict(zip(("dh", "dscale", "doffset"), gradients, strict=True))}


def cross_entropy_with_gradient(v):
    loss = F.cross_entropy(v["logits"].requires_grad_(), v["labels"].long())
    return {"loss": loss.detach(), "dlogits": torch.autograd.grad(loss, v["logits"])[0]}


def adamw(v):
    """Returns the moments and the change of each parameter, which is small compared with the parameter."""
    names = [name for name in v if name[0] == "p" and name[1:].isdigit()]
    parameters = [v[name].clone().requires_grad_() for name in names]
    for name, parameter in zip(names, parameters, strict=True):
        parameter.grad = v["g" + name[1:]]
    optimizer = torch.optim.AdamW(parameters)  # Sinter uses the same defaults.
    optimizer.step()
    results = {}
    for name, parameter in zip(names, parameters, strict=True):
        results["change of " + name] = parameter.detach() - v[name]
        results["first moment of " + name] = optimizer.state[parameter]["exp_avg"]
        results["second moment of " + name] = optimizer.state[parameter]["exp_avg_sq"]
    return results


JUDGES = {"copy_f32": lambda v: {"y": v["x"]}, "chain_f32": chain, "chain_bf16": chain,
          "bias_gelu_residual_bf16": lambda v: {"y": F.gelu(v["h"] + v["bias"], approximate="tanh") + v["residual"]},
          "layernorm_bf16": lambda v: {"y": norm(v, v["h"])}, "add_layernorm_bf16": add_layer_norm,
          "softmax_bf16": lambda v: {"y": F.softmax(v["h"], -1)},
          "rowsum_bf16": lambda v: {"y": v["h"].sum(-1)}, "colsum_bf16": lambda v: {"y": v["h"].sum(0)},
          "layernorm_fwd_bwd_bf16": layer_norm_with_gradients,
          "softmax_xent_fwd_bwd_bf16": cross_entropy_with_gradient, "adamw_f32_gpt2": adamw}


def read_tensors(path):
    data = bytearray(path.read_bytes())
    length, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(data, dtype=TYPES[entry["dtype"]], count=(end - begin) // TYPES[entry["dtype"]].itemsize,
                                offset=begin)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def part(tensors, prefix):
    return {name[len(prefix):]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def results_of(tensors):
    """Returns Sinter's results; those of AdamW under the names of adamw()."""
    results, before, after = part(tensors, "output/"), part(tensors, "before/"), part(tensors, "after/")
    for name in after:
        if name.startswith(("adamw/m/", "adamw/v/")):
            moment = "first" if name.startswith("adamw/m/") else "second"
            results[f"{moment} moment of {name[len('adamw/m/'):]}"] = after[name]
        elif not name.startswith("adamw/") and not torch.equal(before[name], after[name]):
            results["change of " + name] = after[name].double() - before[name].double()
    return results


def judge(arguments, workload):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "values.safetensors"
        subprocess.run([str(arguments.binary.resolve()), "--device", arguments.device, "--scale", str(arguments.scale),
                        "--only", workload, "--values", str(path)], check=True)
        tensors = read_tensors(path)
    wide = {name: t.double() if t.is_floating_point() else t for name, t in part(tensors, "before/").items()}
    ours, theirs = results_of(tensors), JUDGES[workload](wide)
    if ours.keys() != theirs.keys():
        sys.exit(f"judge_ops.py: {workload}: Sinter gives {sorted(ours)[:5]}, PyTorch {sorted(theirs)[:5]}")
    agrees, worst = True, (0.0, "")
    for name, b in theirs.items():
        a = ours[name]
        distance = float((a.double() - b).norm() / b.norm().clamp_min(1e-300))
        # A change is the difference of two f32 parameters a thousand times as large.
        limit = 1e-3 if name.startswith("change") else LIMITS[a.dtype]
        agrees = agrees and a.shape == b.shape and distance <= limit
        worst = max(worst, (distance, name))
    print(f"{workload}: of {len(theirs)} results {worst[0]:.2e} at {worst[1]}: {'agrees' if agrees else 'DISAGREES'}", flush=True)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--device", default="cpu:0", help="Sinter's")
    parser.add_argument("--scale", type=int, default=1024, help="as that of the binary")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    arguments = parser.parse_intermixed_args()
    for workload in arguments.workloads:
        if workload not in JUDGES:
            parser.error(f"unknown workload {workload}; known: {', '.join(JUDGES)}")
    return 0 if all([judge(arguments, workload) for workload in arguments.workloads or JUDGES]) else 1


if __name__ == "__main__":
    sys.exit(main())
