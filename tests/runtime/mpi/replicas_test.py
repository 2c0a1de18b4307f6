#!/usr/bin/env python3
"""Trains a GPT-2 in several processes that share the batch: all end with the same bits of all variables.

usage: replicas_test.py MPIRUN TRAIN_GPT2 [gpus]

gpus: a process for each GPU of this machine, in bf16; else two processes on CPUs.
"""
import re
import subprocess
import sys


def main():
    mpirun, program = sys.argv[1:3]
    command, ranks = [program, "--steps", "100", "--warmup", "10", "--val-batches", "1", "--digest"], 2
    if sys.argv[3:] == ["gpus"]:
        try:
            listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            listed = ""
        ranks = len(listed.splitlines())
        if ranks < 2:
            print(f"skipped: this machine has {ranks} GPUs")
            return
        command += ["--device", "gpu", "--layers", "12", "--batch", str(8 * ranks)]
    else:
        command += ["--layers", "2", "--heads", "2", "--width", "64", "--context", "32", "--batch", "8",
                    "--vocabulary", "256"]
    command = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] + command + ["--mesh", f"data={ranks}"]
    print(" ".join(command), flush=True)
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    print(run.stdout[-3000:], run.stderr[-3000:])
    digests = dict(re.findall(r"rank (\d+): variables ([0-9a-f]{16})", run.stdout))
    assert run.returncode == 0, run.returncode
    assert sorted(digests) == sorted(str(rank) for rank in range(ranks)), digests
    assert len(set(digests.values())) == 1, digests


if __name__ == "__main__":
    main()
