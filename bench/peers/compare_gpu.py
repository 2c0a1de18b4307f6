#!/usr/bin/env python3
"""Runs a Sinter benchmark, then the peers, on one GPU and prints each result's ratio to the best peer.

usage: compare_gpu.py BINARY [--device gpu:0] [--workloads NAME ...] [--python PYTHON] [--out FILE]

BINARY is sinter_bench_models; sinter_bench_ops must be in the same folder. Workloads are lenet, mlp6, gpt2,
llama, resnet50 and ops, the memory-bound kernels (default: all six). PYTHON needs PyTorch with torchvision and JAX
with optax for the GPU (default: the Python that runs this script). Every contender draws its own data and
weights; judge_torch.py and judge_ops.py check that the numbers agree. Exit status: 0, or 1 if Sinter gave no
result for a workload.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from compare import HERE, compare, machine, results_of

# The fastest mode of each peer.
TORCH = {"lenet": "lenet:graph", "mlp6": "mlp6:graph", "gpt2": "gpt2:default:32", "llama": "llama:default:4",
         "resnet50": "resnet50:default:256",
         "ops": "ops"}  # Both modes: eager and compiled.
JAX = {"lenet": "lenet", "mlp6": "mlp6", "gpt2": "gpt2:32", "ops": "ops"}
# Workloads with f32 matmuls, which every contender computes in tf32; the other workloads use bf16.
F32 = ("lenet", "mlp6")


def gpu():
    command = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]
    try:
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"compare_gpu.py: nvidia-smi finds no GPU: {error}")
    return lines[0] if lines else sys.exit("compare_gpu.py: nvidia-smi finds no GPU")


def sinter_command(binary, device, workload):
    command = ["--json", "--device", device, "--seconds", "2"]
    if workload == "ops":
        return [str(binary.with_name("sinter_bench_ops")), *command]
    return [str(binary), *command, "--only", workload, *(["--tf32"] if workload in F32 else [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--device", default="gpu:0", help="Sinter's; the peers take their first GPU")
    parser.add_argument("--workloads", nargs="+", default=list(TORCH), choices=list(TORCH), metavar="NAME")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=pathlib.Path, help="also write the results here, one JSON object a line")
    arguments = parser.parse_args()

    commands = {w: sinter_command(arguments.binary.resolve(), arguments.device, w) for w in arguments.workloads}
    for program, *_ in commands.values():
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is not an executable file: build it first")
    print(f"{gpu()}; {machine()}", flush=True)
    results, missing = [], []
    for workload in arguments.workloads:
        ours = results_of(commands[workload], peer="sinter", mode="")
        if not ours or any("ms" not in r for r in ours):
            missing.append(workload)
        results += ours
        results += results_of([arguments.python, str(HERE / "torch_gpu.py"), TORCH[workload]], peer="PyTorch")
        if workload in JAX:
            results += results_of([arguments.python, str(HERE / "jax_gpu.py"), JAX[workload]], peer="JAX")
    print("; ".join(dict.fromkeys(r["version"] for r in results if "version" in r)))
    compare(results)
    for r in results:
        if "peak_GiB" in r:
            print(f"{r['workload']}, {r['peer']}: {r['peak_GiB']:.2f} GiB at most")
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(r) + "\n" for r in results), encoding="utf-8")
    if missing:
        print(f"compare_gpu.py: Sinter gave no result, or not all, for {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
