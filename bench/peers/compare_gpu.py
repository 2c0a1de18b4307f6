#!/usr/bin/env python3
"""Runs a Sinter benchmark and the peers on one GPU, one after the other, and prints each result's ratio to the best peer.

usage: compare_gpu.py BINARY [--device gpu:0] [--workloads NAME ...] [--python PYTHON] [--out FILE]

BINARY is sinter_bench_models; workloads are lenet, mlp6, gpt2 and resnet50 (all four by default). PYTHON has PyTorch with
torchvision and JAX with optax for the GPU (default: the one that runs this). Every contender draws its own data and weights:
that numbers agree, judge_torch.py shows. Exit status: 0, or 1 if Sinter gave no result for one of the workloads.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from compare import HERE, compare, machine, results_of

# What each peer is asked for: its quickest way.
TORCH = {"lenet": "lenet:graph", "mlp6": "mlp6:graph", "gpt2": "gpt2:default:32", "resnet50": "resnet50:default:256"}
JAX = {"lenet": "lenet", "mlp6": "mlp6", "gpt2": "gpt2:32"}
# Their products are of f32, in tf32 with every contender; the others' are of bf16.
F32 = ("lenet", "mlp6")


def gpu():
    command = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]
    try:
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"compare_gpu.py: nvidia-smi finds no GPU: {error}")
    return lines[0] if lines else sys.exit("compare_gpu.py: nvidia-smi finds no GPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--device", default="gpu:0", help="Sinter's; the peers take their first GPU")
    parser.add_argument("--workloads", nargs="+", default=list(TORCH), choices=list(TORCH), metavar="NAME")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=pathlib.Path, help="also write the results here, one JSON object a line")
    arguments = parser.parse_args()

    print(f"{gpu()}; {machine()}", flush=True)
    results = []
    for workload in arguments.workloads:
        results += results_of([str(arguments.binary.resolve()), "--json", "--device", arguments.device, "--seconds", "2",
                               "--only", workload, *(["--tf32"] if workload in F32 else [])], peer="sinter", mode="")
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
    timed = {r["workload"] for r in results if r["peer"] == "sinter" and "ms" in r}
    missing = [w for w in arguments.workloads if w not in timed]
    if missing:
        print(f"compare_gpu.py: {arguments.binary} printed no result for {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
