#!/usr/bin/env python3
"""A second judge: PyTorch trains from Sinter's own initial weights; every loss and the first gradients are compared.

usage: judge_torch.py BINARY [--steps N] [--precision f32|bf16] [--device cpu:0] [--torch-device cpu]
                      [--gpt2-layers N ...] [WORKLOAD ...]

BINARY is sinter_bench_models. It writes the initial weights and the gradients of the first step to safetensors files, which
are read here, and prints the loss of each step; the batch is that of workloads.py. Workloads: lenet and mlp6 (the default),
char_gpt, gpt2. gpt2 is a small one unless its sizes are given: the 124M on a GPU is

  judge_torch.py BINARY gpt2 --precision bf16 --device gpu:0 --torch-device cuda --gpt2-layers 12 --gpt2-heads 12 \\
    --gpt2-width 768 --gpt2-context 1024 --gpt2-vocabulary 50304 --gpt2-batch 8

Gradients are compared tensor by tensor: the norm of the difference over the norm of PyTorch's. Exit status: 0, or 1 if
anything is off by more than the limits below.
"""
import argparse
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import workloads as W  # Before torch: pins the threads.
import torch_cpu as peer  # Its losses and optimisers.

import numpy as np
import torch
import torch.nn.functional as F

# Relative: of a loss, and of a gradient's norm. In bf16 two programs that round at different places are that far apart.
LIMITS = {"f32": {"loss": 1e-5, "gradient": 3e-5}, "bf16": {"loss": 1e-3, "gradient": 3e-2}}
# A hundred steps of plain descent at a large rate spread what rounding leaves.
STEEP_LOSS_LIMIT = 1e-4


def gpt2_loss(sizes):
    """GPT-2 as sinter_bench_models has it: torch_cpu.py's char_gpt, of any sizes, with layers that autocast knows."""
    def linear(x, weight, bias=None):
        return F.linear(x, weight.t(), bias)

    def loss(parameters, tokens, targets):
        def norm(x, gain, bias):
            return F.layer_norm(x, (sizes.width,), gain, bias)

        table, positions, *blocks, gain, bias = parameters
        x = F.embedding(tokens, table) + positions
        for i in range(0, len(blocks), 12):
            g1, c1, wqkv, bqkv, wproj, bproj, g2, c2, wup, bup, wdown, bdown = blocks[i:i + 12]
            qkv = linear(norm(x, g1, c1), wqkv, bqkv).view(sizes.batch, sizes.context, 3, sizes.heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + linear(a.transpose(1, 2).reshape(x.shape), wproj, bproj)
            x = x + linear(F.gelu(linear(norm(x, g2, c2), wup, bup), approximate="tanh"), wdown, bdown)
        logits = F.linear(norm(x, gain, bias), table)
        return F.cross_entropy(logits.view(-1, sizes.vocabulary), targets.view(-1))

    return loss


def gpt2_data(sizes):
    shape = (sizes.batch, sizes.context)
    return W.integers(1001, shape, sizes.vocabulary), W.integers(1002, shape, sizes.vocabulary)


def case(workload, sizes):
    """The data, the loss and the optimiser of a workload."""
    if workload == "gpt2":
        return gpt2_data(sizes), gpt2_loss(sizes), peer.adamw
    make, loss, optimizer = {"lenet": (W.lenet, peer.lenet_loss, peer.sgd(W.LENET_RATE)),
                             "mlp6": (W.mlp6, peer.mlp6_loss, peer.sgd(W.MLP6_RATE)),
                             "char_gpt": (W.char_gpt, peer.char_gpt_loss, peer.adamw)}[workload]
    return make()[1:], loss, optimizer


def read_parameters(path):
    """The arrays p0, p1, ... of a safetensors file. It is Sinter's, so that the format is all that has to be agreed on."""
    data = np.memmap(path, np.uint8, "r")
    length, = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8:8 + length].tobytes())
    arrays = {}
    for name, entry in header.items():
        # The optimiser's variables have other names.
        if not re.fullmatch(r"p\d+", name):
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[int(name[1:])] = data[begin:end].view(np.float32).reshape(entry["shape"]).copy()
    return [arrays[i] for i in range(len(arrays))]


def run_sinter(arguments, workload, folder):
    """The losses, the initial weights and the gradients of the first step."""
    weights, gradients = folder / "weights.safetensors", folder / "gradients.safetensors"
    command = [str(arguments.binary.resolve()), "--json", "--trace-loss", str(arguments.steps), "--only", workload,
               "--weights", str(weights), "--gradients", str(gradients), "--device", arguments.device,
               "--precision", arguments.precision]
    for name in SIZES:
        command += [f"--gpt2-{name}", str(getattr(arguments.sizes, name))]
    for line in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines():
        result = json.loads(line)
        if "error" in result:
            raise SystemExit(f"judge_torch.py: {workload}: {result['error']}")
        return result["losses"], read_parameters(weights), read_parameters(gradients)
    raise SystemExit(f"judge_torch.py: {arguments.binary} printed no losses for {workload}")


def run_torch(arguments, workload, weights):
    """The losses, and the gradients of the first step."""
    (x, t), loss_function, make_optimizer = case(workload, arguments.sizes)
    device = torch.device(arguments.torch_device)
    parameters = [torch.tensor(a, device=device).requires_grad_() for a in weights]
    inputs, targets = torch.tensor(x, device=device), torch.tensor(t, device=device)
    optimizer = make_optimizer(parameters)
    losses, gradients = [], []
    for step in range(arguments.steps):
        with torch.autocast(device.type, torch.bfloat16, enabled=arguments.precision == "bf16"):
            loss = loss_function(parameters, inputs, targets)
        losses.append(loss.item())
        loss.backward()
        if step == 0:
            gradients = [p.grad.float().cpu().numpy() for p in parameters]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return losses, gradients


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-30) if math.isfinite(a) and math.isfinite(b) else math.inf


def distance(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    difference = float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))
    return difference if math.isfinite(difference) else math.inf


def judge(arguments, workload):
    """Whether Sinter and PyTorch agree."""
    with tempfile.TemporaryDirectory() as folder:
        ours, weights, our_gradients = run_sinter(arguments, workload, pathlib.Path(folder))
    theirs, their_gradients = run_torch(arguments, workload, weights)
    limits = dict(LIMITS[arguments.precision])
    if workload in ("lenet", "mlp6"):
        limits["loss"] = max(limits["loss"], STEEP_LOSS_LIMIT)
    step = max(range(len(ours)), key=lambda i: relative(ours[i], theirs[i]))
    loss = relative(ours[step], theirs[step])
    distances = [distance(a, b) for a, b in zip(our_gradients, their_gradients, strict=True)]
    worst = max(range(len(distances)), key=distances.__getitem__)
    agrees = loss <= limits["loss"] and distances[worst] <= limits["gradient"] and len(ours) == arguments.steps
    print(f"{workload} in {arguments.precision}: {len(ours)} steps, loss {ours[0]:.6f} to {ours[-1]:.6f} "
          f"(PyTorch {theirs[-1]:.6f}); largest relative difference {loss:.2e} at step {step + 1}; of "
          f"{len(distances)} gradients {distances[worst]:.2e} at p{worst}: {'agrees' if agrees else 'DISAGREES'}")
    return agrees


# Of the small GPT-2.
SIZES = {"layers": 2, "heads": 4, "width": 64, "context": 48, "vocabulary": 320, "batch": 4}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--precision", choices=LIMITS, default="f32")
    parser.add_argument("--device", default="cpu:0", help="Sinter's")
    parser.add_argument("--torch-device", default="cpu")
    for name, value in SIZES.items():
        parser.add_argument(f"--gpt2-{name}", type=int, default=value)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    arguments = parser.parse_args()
    arguments.sizes = argparse.Namespace(**{name: getattr(arguments, f"gpt2_{name}") for name in SIZES})
    known = ["lenet", "mlp6", "char_gpt", "gpt2"]
    chosen = arguments.workloads or ["lenet", "mlp6"]
    for workload in chosen:
        if workload not in known:
            parser.error(f"unknown workload {workload}; known: {', '.join(known)}")
    return 0 if all([judge(arguments, workload) for workload in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
