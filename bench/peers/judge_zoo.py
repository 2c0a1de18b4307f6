#!/usr/bin/env python3
"""Compares the models of examples/zoo with the same models in PyTorch: losses, gradients, times.

usage: judge_zoo.py FOLDER [--steps 20] [--large] [--seed 3] [--time] [--rounds 3] [--seconds 1.5] [--no-compile]
                    [--nice -20] [MODEL ...]

FOLDER has the programs zoo_vae, zoo_llama, ... (build/release/examples). Each writes its initial weights, the inputs
of each call, its losses and its first gradients (--dump). The model of zoo_models.py trains from these weights on
these inputs, in f32. Every loss must agree within 1e-5, every first gradient within 1e-4 of its norm, and the running
statistics after the last step within 1e-4 of theirs; `loss` is the largest relative difference of a loss, `gradient`
and `state` are the largest distances.

--time also prints the least times of a step: of the program, of PyTorch and of PyTorch with torch.compile (of the loss
and its gradients; the optimizers are fused). The three alternate for --rounds rounds of --seconds each, so that other
programs on the machine disturb all of them. --nice gives all three this priority while they run; on a busy machine use
-20, which needs root. A step is a call of each of a program's functions. `ratio` is the
program's time divided by the better of PyTorch's.

Exit status: 0, or 1 if a model disagrees or failed.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from measure import THREADS  # Before torch: pins the threads.
from judge_torch import relative
from zoo_models import MODELS, load, named_tensors

import numpy as np
import torch

torch.set_num_threads(THREADS)

LOSS_LIMIT, GRADIENT_LIMIT, STATE_LIMIT = 1e-5, 1e-4, 1e-4
TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def read_safetensors(path):
    """Returns the arrays of a file by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    arrays = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            arrays[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def run_program(program, arguments, *options):
    """Runs a program; returns what it printed."""
    command = [str(program), "--device", "cpu", "--seed", str(arguments.seed), *options]
    command += ["--large"] if arguments.large else []
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{program.name} failed: {result.stderr.strip()}")
    return result.stdout


class Dump:
    """What a program wrote."""
    def __init__(self, folder):
        self.run = json.loads((folder / "run.json").read_text())
        self.weights, self.inputs, self.gradients, self.final = (
            read_safetensors(folder / f"{name}.safetensors") for name in ("weights", "inputs", "gradients", "final"))

    def arguments(self, call):
        """Returns the inputs of a call as tensors; class numbers and indices in PyTorch's type."""
        prefix = f"{call}/"
        tensors = {n[len(prefix):]: torch.tensor(a) for n, a in self.inputs.items() if n.startswith(prefix)}
        return {n: t.long() if t.dtype == torch.int32 else t for n, t in tensors.items()}


class Trainer:
    """A training function of a model with its optimizer."""
    def __init__(self, model, function, compiled):
        self.function = function
        self.loss = torch.compile(function.loss) if compiled else function.loss
        self.parameters = list((function.parameters or model).parameters())
        self.optimizer = function.optimizer(self.parameters)
        self.schedule = (torch.optim.lr_scheduler.LambdaLR(self.optimizer, function.schedule)
                         if function.schedule else None)

    def step(self, inputs, watch=None):
        """Makes one step; returns the loss as a tensor. `watch` is called when the gradients are there."""
        loss = self.loss(**inputs)
        loss, state = loss if isinstance(loss, tuple) else (loss, None)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if watch:
            watch()
        if self.function.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.function.clip)
        self.optimizer.step()
        if self.schedule:
            self.schedule.step()
        if self.function.after:
            self.function.after(state)
        return loss


def apart(a, b):
    """Returns the norm of the difference."""
    return float(np.linalg.norm(a.astype(np.float64) - b.astype(np.float64)))


def make_trainers(name, dump, compiled=False):
    model = MODELS[name](dump.run["large"])
    load(model, dump.weights)
    return model, {n: Trainer(model, f, compiled) for n, f in model.functions().items()}


def compare(name, dump):
    """Returns the largest differences of losses, first gradients and running statistics, with their places."""
    model, trainers = make_trainers(name, dump)
    tensors, worst = named_tensors(model), {"loss": (0, ""), "gradient": (0, ""), "state": (0, "")}

    def note(what, value, place):
        if not value <= worst[what][0]:  # Also for NaN.
            worst[what] = (value if math.isfinite(value) else math.inf, place)

    def watch(function):
        own = {n: g for n, g in dump.gradients.items() if n.startswith(function + "/")}
        least = 1e-3 * math.sqrt(sum(np.linalg.norm(g) ** 2 for g in own.values()))
        for full, gradient in own.items():
            tensor, transposed = tensors[full.partition("/")[2]]
            theirs = (tensor.grad.t() if transposed else tensor.grad).numpy()
            note("gradient", apart(gradient, theirs) / max(np.linalg.norm(theirs), least), full)

    seen = set()
    for call, (function, loss) in enumerate(dump.run["calls"]):
        is_first = function not in seen
        seen.add(function)
        theirs = trainers[function].step(dump.arguments(call), (lambda f=function: watch(f)) if is_first else None)
        note("loss", relative(loss, theirs.item()), f"call {call}")
    trained = sum(p.requires_grad for p in model.parameters())
    if trained != len(dump.gradients):
        raise RuntimeError(f"the program has {len(dump.gradients)} gradients, PyTorch {trained} parameters")
    for variable, (tensor, _) in tensors.items():
        if "running_" in variable:
            is_mean = variable.endswith("running_mean")
            spread = tensors[variable[:-len("mean")] + "variance"][0].sqrt() if is_mean else tensor
            note("state", apart(dump.final[variable], tensor.numpy()) / np.linalg.norm(spread.numpy()), variable)
    return worst


def set_priority(value):
    """Sets the nice value of all threads of this process, and so of the programs that it starts."""
    for thread in os.listdir("/proc/self/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), value)


def torch_ms(trainers, inputs, seconds):
    """Returns the least time of a step: the sum over the functions."""
    total = 0.0
    for function, trainer in trainers.items():
        times, start = [], time.perf_counter()
        while len(times) < 10 or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            trainer.step(inputs[function])
            times.append((time.perf_counter() - begin) * 1e3)
        total += min(times)
    return total


def measure(name, dump, program, arguments):
    """Returns the least times of a step in ms: of the program, of PyTorch, and compiled, or None."""
    inputs = {function: dump.arguments(call) for call, (function, _) in enumerate(dump.run["calls"])}
    peers = {"eager": make_trainers(name, dump)[1]}
    if not arguments.no_compile:
        torch._dynamo.reset()
        peers["compile"] = make_trainers(name, dump, compiled=True)[1]
    for trainers in peers.values():
        for _ in range(3):
            for function, trainer in trainers.items():
                trainer.step(inputs[function])
    least = {"sinter": math.inf, "eager": math.inf, "compile": math.inf}
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    for _ in range(arguments.rounds):
        set_priority(usual if arguments.nice is None else arguments.nice)
        printed = run_program(program, arguments, "--time", "--seconds", str(arguments.seconds), "--steps", "2")
        ours = re.findall(r"median, ([\d.]+) ms least", printed)
        least["sinter"] = min(least["sinter"], sum(float(ms) for ms in ours))
        for peer, trainers in peers.items():
            least[peer] = min(least[peer], torch_ms(trainers, inputs, arguments.seconds))
        set_priority(usual)
    return least


def judge(name, arguments):
    """Compares one model and prints its row; returns true if it agrees."""
    program = (arguments.folder / f"zoo_{name}").resolve()
    with tempfile.TemporaryDirectory() as folder:
        run_program(program, arguments, "--dump", folder, "--steps", str(arguments.steps))
        dump = Dump(pathlib.Path(folder))
    worst = compare(name, dump)
    agrees = (worst["loss"][0] <= LOSS_LIMIT and worst["gradient"][0] <= GRADIENT_LIMIT
              and worst["state"][0] <= STATE_LIMIT)
    first, last = dump.run["calls"][0][1], dump.run["calls"][-1][1]
    row = [f"`{name}`", str(len(dump.gradients)), f"{first:.4g}, {last:.4g}", f"{worst['loss'][0]:.1e}",
           f"{worst['gradient'][0]:.1e}", f"{worst['state'][0]:.1e}" if worst["state"][1] else ""]
    if arguments.time:
        ms = measure(name, dump, program, arguments)
        best = min(ms["eager"], ms["compile"])
        row += [f"{ms['sinter']:.3f}", f"{ms['eager']:.3f}",
                f"{ms['compile']:.3f}" if math.isfinite(ms["compile"]) else "", f"**{ms['sinter'] / best:.2f}**"]
    print(f"| {' | '.join(row)} |", flush=True)
    if not agrees:
        print(f"{name} disagrees: " + ", ".join(f"{what} at {place}" for what, (_, place) in worst.items() if place),
              file=sys.stderr)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--nice", type=int)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    for name in arguments.models:
        if name not in MODELS:
            parser.error(f"unknown model {name}; known: {', '.join(MODELS)}")
    columns = ["model", "parameters", "first, last loss", "loss", "gradient", "state"]
    columns += ["Sinter, ms", "PyTorch eager", "torch.compile", "ratio"] if arguments.time else []
    print(f"torch {torch.__version__}, {THREADS} threads")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    agreements = []
    for name in arguments.models or MODELS:
        try:
            agreements.append(judge(name, arguments))
        except (RuntimeError, KeyError, ValueError) as error:
            print(f"{name}: {error!r}", file=sys.stderr)
            agreements.append(False)
    return 0 if all(agreements) else 1


if __name__ == "__main__":
    sys.exit(main())
