#!/usr/bin/env python3
"""Compares the models of examples/zoo with the same models in PyTorch: losses, gradients, times.

usage: judge_zoo.py FOLDER [--device cpu|gpu] [--steps 20] [--large] [--seed 3] [--time] [--rounds 3] [--seconds 1.5]
                    [--no-compile] [--realtime] [MODEL ...]

FOLDER has the programs zoo_vae, zoo_llama, ... (build/release/examples). Each writes its initial weights, the inputs
of each call, its losses and its first gradients (--dump). The model of zoo_models.py trains from these weights on
these inputs, in f32. Every loss must agree within 1e-5, every first gradient within 1e-4 of its norm, and the running
statistics after the last step within 1e-4 of theirs; `loss` is the largest relative difference of a loss, `gradient`
and `state` are the largest distances.

--time also prints the least times of a step: of the program, of PyTorch and of PyTorch with torch.compile (of the loss
and its gradients; the optimizers are fused). The three alternate for --rounds rounds of --seconds each, so that other
programs on the machine disturb all of them. --realtime gives all three real-time priority while they are measured, for
a busy machine; it needs root. A step is a call of each of a program's functions. `ratio` is the
program's time divided by the better of PyTorch's.

With --device gpu both run on the first GPU, all in f32 without TF32. A step then ends when the GPU is idle.
torch.compile records CUDA graphs (mode reduce-overhead) where that works, else not, which a line says.

Exit status: 0, or 1 if a model disagrees or failed.
"""
import argparse
import dataclasses
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

LIMITS = {"loss": 1e-5, "gradient": 1e-4, "state": 1e-4}
# The rounding of PyTorch's weights in the runs that show how much rounding counts, and their number.
NOISE, NOISY_RUNS = 3e-7, 8
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
    command = [str(program), "--device", arguments.device, "--seed", str(arguments.seed), *options]
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
        tensors = {}
        for name, array in self.inputs.items():
            owner, name = name.split("/", 1)
            if owner in (str(call), "data"):
                tensors[name] = torch.tensor(array)
        return {n: t.long() if t.dtype == torch.int32 else t for n, t in tensors.items()}


class Trainer:
    """A training function of a model with its optimizer."""
    def __init__(self, model, function, mode=None):
        self.function = function
        self.loss = torch.compile(function.loss, mode=mode) if mode else function.loss
        self.parameters = list((function.parameters or model).parameters())
        self.optimizer = function.optimizer(self.parameters)
        self.schedule = (torch.optim.lr_scheduler.LambdaLR(self.optimizer, function.schedule)
                         if function.schedule else None)

    def step(self, inputs, watch=None):
        """Makes one step; returns the loss as a tensor. `watch` is called when the gradients are there."""
        torch.compiler.cudagraph_mark_step_begin()
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


def make_trainers(name, dump, mode=None, noise=0):
    """Returns the model with the dump's weights, each times 1 + NOISE * a normal number of seed `noise`, and the
    trainers of its functions, compiled in this mode unless it is None."""
    model, weights = MODELS[name](dump.run["large"]), dump.weights
    if noise:
        normal = np.random.default_rng(noise).standard_normal
        weights = {n: w * (1 + NOISE * normal(w.shape)).astype(w.dtype) for n, w in weights.items()}
    load(model, weights)
    return model, {n: Trainer(model, f, mode) for n, f in model.functions().items()}


@dataclasses.dataclass
class Results:
    """The losses of the calls, the first gradients and the last running statistics, by Sinter's names."""
    losses: list
    gradients: dict
    state: dict


def of_program(dump):
    return Results([loss for _, loss in dump.run["calls"]], dump.gradients,
                   {n: t for n, t in dump.final.items() if "running_" in n})


def of_torch(name, dump, noise=0):
    model, trainers = make_trainers(name, dump, noise=noise)
    tensors, results, seen = named_tensors(model), Results([], {}, {}), set()

    def in_sinter(tensor, transposed):
        return (tensor.t() if transposed else tensor).detach().cpu().numpy().copy()

    def watch(function):
        for full in dump.gradients:
            if full.startswith(function + "/"):
                tensor, transposed = tensors[full.partition("/")[2]]
                results.gradients[full] = in_sinter(tensor.grad, transposed)

    for call, (function, _) in enumerate(dump.run["calls"]):
        first = None if function in seen else lambda f=function: watch(f)
        seen.add(function)
        results.losses.append(trainers[function].step(dump.arguments(call), first).item())
    trained = sum(p.requires_grad for p in model.parameters())
    if trained != len(dump.gradients):
        raise RuntimeError(f"the program has {len(dump.gradients)} gradients, PyTorch {trained} parameters")
    results.state = {n: in_sinter(*t) for n, t in tensors.items() if "running_" in n}
    return results


def differences(a, b):
    """Returns the largest differences of losses, gradients and running statistics from those of b, and where."""
    worst = {"loss": (0, ""), "gradient": (0, ""), "state": (0, "")}

    def note(what, value, place):
        if not value <= worst[what][0]:  # Also for NaN.
            worst[what] = (value if math.isfinite(value) else math.inf, place)

    for call, (x, y) in enumerate(zip(a.losses, b.losses, strict=True)):
        note("loss", relative(x, y), f"call {call}")
    for full, y in b.gradients.items():
        function = full.partition("/")[0]
        own = [g for n, g in b.gradients.items() if n.startswith(function + "/")]
        least = 1e-3 * math.sqrt(sum(np.linalg.norm(g) ** 2 for g in own))
        note("gradient", apart(a.gradients[full], y) / max(np.linalg.norm(y), least), full)
    for variable, y in b.state.items():
        is_mean = variable.endswith("running_mean")
        spread = np.sqrt(b.state[variable[:-len("mean")] + "variance"]) if is_mean else y
        note("state", apart(a.state[variable], y) / np.linalg.norm(spread), variable)
    return worst


def compare(name, dump):
    """Returns the differences of the program from PyTorch, and the limits."""
    theirs = of_torch(name, dump)
    worst, limits = differences(of_program(dump), theirs), dict(LIMITS)
    if any(worst[what][0] > limit for what, limit in LIMITS.items()):
        for noise in range(1, NOISY_RUNS + 1):
            for what, (value, _) in differences(of_torch(name, dump, noise), theirs).items():
                limits[what] = max(limits[what], value)
    return worst, limits


def set_realtime(is_realtime):
    """Sets the priority of all threads of this process, and so of the programs that it starts."""
    policy, priority = (os.SCHED_FIFO, 10) if is_realtime else (os.SCHED_OTHER, 0)
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), policy, os.sched_param(priority))


def synchronize():
    """Waits for the GPU, if there is one in use."""
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()


def warm_up(trainers, inputs):
    for _ in range(3):
        for function, trainer in trainers.items():
            trainer.step(inputs[function])
    synchronize()


def compiled_trainers(name, dump, inputs, modes):
    """Returns trainers that have run, compiled in the first of the modes that works."""
    for mode in modes:
        torch._dynamo.reset()
        trainers = make_trainers(name, dump, mode)[1]
        try:
            warm_up(trainers, inputs)
            return trainers
        except RuntimeError as error:
            if mode == modes[-1]:
                raise
            print(f"{name}: not in mode {mode}: {str(error).splitlines()[0][:200]}", file=sys.stderr)


def torch_ms(trainers, inputs, seconds):
    """Returns the least time of a step: the sum over the functions."""
    total = 0.0
    for function, trainer in trainers.items():
        times, start = [], time.perf_counter()
        while len(times) < 10 or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            trainer.step(inputs[function])
            synchronize()
            times.append((time.perf_counter() - begin) * 1e3)
        total += min(times)
    return total


def measure(name, dump, program, arguments):
    """Returns the least times of a step in ms: of the program, of PyTorch, and compiled, or None."""
    inputs = {function: dump.arguments(call) for call, (function, _) in enumerate(dump.run["calls"])}
    peers = {"eager": make_trainers(name, dump)[1]}
    warm_up(peers["eager"], inputs)
    if not arguments.no_compile:
        modes = ["default"] if arguments.device == "cpu" else ["reduce-overhead", "default"]
        peers["compile"] = compiled_trainers(name, dump, inputs, modes)
    least = {"sinter": math.inf, "eager": math.inf, "compile": math.inf}
    for _ in range(arguments.rounds):
        set_realtime(arguments.realtime)
        printed = run_program(program, arguments, "--time", "--seconds", str(arguments.seconds), "--steps", "2")
        ours = re.findall(r"median, ([\d.]+) ms least", printed)
        least["sinter"] = min(least["sinter"], sum(float(ms) for ms in ours))
        for peer, trainers in peers.items():
            least[peer] = min(least[peer], torch_ms(trainers, inputs, arguments.seconds))
        set_realtime(False)
    return least


def judge(name, arguments):
    """Compares one model and prints its row; returns true if it agrees."""
    program = (arguments.folder / f"zoo_{name}").resolve()
    with tempfile.TemporaryDirectory() as folder:
        run_program(program, arguments, "--dump", folder, "--steps", str(arguments.steps))
        dump = Dump(pathlib.Path(folder))
    worst, limits = compare(name, dump)
    agrees = all(worst[what][0] <= limits[what] for what in LIMITS)
    first, last = dump.run["calls"][0][1], dump.run["calls"][-1][1]
    row = [f"`{name}`", str(len(dump.gradients)), f"{first:.4g}, {last:.4g}", f"{worst['loss'][0]:.1e}",
           f"{worst['gradient'][0]:.1e}", f"{worst['state'][0]:.1e}" if worst["state"][1] else ""]
    if arguments.time:
        ms = measure(name, dump, program, arguments)
        best = min(ms["eager"], ms["compile"])
        row += [f"{ms['sinter']:.3f}", f"{ms['eager']:.3f}",
                f"{ms['compile']:.3f}" if math.isfinite(ms["compile"]) else "", f"**{ms['sinter'] / best:.2f}**"]
    print(f"| {' | '.join(row)} |", flush=True)
    for what, (value, place) in worst.items():
        if value > LIMITS[what]:
            print(f"{name}: the {what} at {place} differs by {value:.1e}, PyTorch with noise by up to {limits[what]:.1e}",
                  file=sys.stderr)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_intermixed_args()
    for name in arguments.models:
        if name not in MODELS:
            parser.error(f"unknown model {name}; known: {', '.join(MODELS)}")
    columns = ["model", "parameters", "first, last loss", "loss", "gradient", "state"]
    columns += ["Sinter, ms", "PyTorch eager", "torch.compile", "ratio"] if arguments.time else []
    where = f"{THREADS} threads"
    if arguments.device == "gpu":
        torch.set_default_device("cuda")
        where = torch.cuda.get_device_name()
    print(f"torch {torch.__version__}, {where}")
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
