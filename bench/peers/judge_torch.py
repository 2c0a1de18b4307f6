#!/usr/bin/env python3
"""A second judge: PyTorch trains from Sinter's own initial weights, and every loss is compared.

usage: judge_torch.py BINARY [--steps N] [WORKLOAD ...]

BINARY is sinter_bench_models. It writes the initial weights to a safetensors file, which is read here, and prints the
loss of each step; the batch is that of workloads.py. Workloads: lenet and mlp6 (the default), char_gpt. Exit status: 0,
or 1 if a loss is off by more than one part in 10,000.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import workloads as W  # Before torch: pins the threads.
import torch_cpu as peer  # Its losses and optimisers.

import numpy as np
import torch

TOLERANCE = 1e-4

CASES = {"lenet": (W.lenet, peer.lenet_loss, peer.sgd(W.LENET_RATE)),
         "mlp6": (W.mlp6, peer.mlp6_loss, peer.sgd(W.MLP6_RATE)),
         "char_gpt": (W.char_gpt, peer.char_gpt_loss, peer.adamw)}


def read_safetensors(path):
    """Names to float32 arrays. The file is Sinter's, so that the format is all that has to be agreed on."""
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"]).copy()
    return arrays


def sinter_losses(binary, workload, steps, weights):
    command = [str(binary), "--json", "--trace-loss", str(steps), "--only", workload, "--weights", str(weights)]
    for line in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines():
        result = json.loads(line)
        if "error" in result:
            raise SystemExit(f"judge_torch.py: {workload}: {result['error']}")
        return result["losses"]
    raise SystemExit(f"judge_torch.py: {binary} printed no losses for {workload}")


def torch_losses(workload, steps, arrays):
    make, loss_function, make_optimizer = CASES[workload]
    initial, x, t = make()
    # Sinter's variables are p0, p1, ... in the order of workloads.py; the optimiser's own have other names.
    parameters = [torch.tensor(arrays[f"p{i}"]).requires_grad_() for i in range(len(initial))]
    inputs, targets = torch.tensor(x), torch.tensor(t)
    optimizer = make_optimizer(parameters)
    losses = []
    for _ in range(steps):
        loss = loss_function(parameters, inputs, targets)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return losses


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-30) if math.isfinite(a) and math.isfinite(b) else math.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    arguments = parser.parse_args()
    failed = False
    for workload in arguments.workloads or ["lenet", "mlp6"]:
        if workload not in CASES:
            parser.error(f"unknown workload {workload}; known: {', '.join(CASES)}")
        with tempfile.TemporaryDirectory() as folder:
            weights = pathlib.Path(folder) / "weights.safetensors"
            ours = sinter_losses(arguments.binary.resolve(), workload, arguments.steps, weights)
            theirs = torch_losses(workload, arguments.steps, read_safetensors(weights))
        worst = max(range(len(ours)), key=lambda i: relative(ours[i], theirs[i]))
        difference = relative(ours[worst], theirs[worst])
        agrees = difference <= TOLERANCE and len(ours) == arguments.steps
        failed |= not agrees
        print(f"{workload}: {len(ours)} steps, loss {ours[0]:.6f} to {ours[-1]:.6f} (PyTorch {theirs[-1]:.6f}); largest "
              f"relative difference {difference:.2e} at step {worst + 1}: {'agrees' if agrees else 'DISAGREES'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
