"""Times draws of the sweep in PyTorch, at the command of sweep_gpu.py.

usage: torch_worker.py DRAWS [--device cuda] [--seconds 0.1] [--lock FILE]

Reads "compile ID", "prepare ID", "time ID" and "drop ID" from the standard input, and answers each with one JSON
object. A draw is timed in three modes, and the least time counts: its compiled form (torch.compile) in a CUDA graph,
which Python does not launch kernel by kernel; the compiled form as it is; the eager form in a CUDA graph. Its
gradients come from torch.autograd.grad outside of the compiled form, as in users' programs: AOTAutograd compiles both. On
a CPU the modes are the compiled and the eager form.
"""
import argparse
import contextlib
import fcntl
import gc
import json
import os
import pathlib
import sys

import torch

import draws as draw_lists
import torch_updates
from bursts import time_ms
from torch_forms import FORMS

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64, "i1": torch.bool}
NEAR = 1.15  # Modes within this factor of the best one are timed again in later rounds.


def make_operand(operand, device):
    shape, dtype = operand["shape"], TYPES[operand["dtype"]]
    if operand["kind"] == "whole":
        return torch.randint(operand["high"], shape, dtype=dtype, device=device)
    if operand["kind"] == "truth":
        return torch.rand(shape, device=device) < operand["scale"]
    return torch.randn(shape, dtype=dtype, device=device) * operand["scale"]


def forward_of(draw):
    """Returns the form as a function of the operands alone; `dy` is no operand of the form."""
    function, options = FORMS[draw["form"]], draw["options"]
    return lambda operands: function(operands, options)


def with_gradients(draw, forward, operands):
    """Returns a callable for all results of the draw, by name."""
    inputs = {name: tensor for name, tensor in operands.items() if name != "dy"}
    if not draw["wrt"]:
        def call():
            with torch.no_grad():
                return forward(inputs)
        return call
    leaves = [inputs[name].requires_grad_() for name in draw["wrt"]]

    def call_with_gradients():
        results = forward(inputs)
        first = next(iter(results.values()))
        gradients = torch.autograd.grad(first, leaves, operands.get("dy"))
        return results | {"d:" + name: slope for name, slope in zip(draw["wrt"], gradients, strict=True)}
    return call_with_gradients


def callables(draw, operands):
    """Returns the draw's call in eager and in compiled form."""
    if draw["kind"] == "updates":
        eager = torch_updates.make(draw, operands, compiled=False)
        copies = {name: tensor.detach().clone() for name, tensor in operands.items()}
        return eager, torch.compile(torch_updates.make(draw, copies, compiled=True), dynamic=False)
    forward = forward_of(draw)
    return (with_gradients(draw, forward, operands),
            with_gradients(draw, torch.compile(forward, dynamic=False), operands))


def captured(call):
    """Returns a replay of the call as a CUDA graph, after a warm-up on another stream, as PyTorch's manual asks."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = call()

    def replay():
        graph.replay()
        return kept
    return replay


def wait(_=None):
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


class Prepared:
    """A draw whose modes are ready to be timed; a mode that fails keeps its error."""

    def __init__(self, draw, device):
        self.modes, self.errors, self.best = {}, {}, {}
        operands = {operand["name"]: make_operand(operand, device) for operand in draw["operands"]}
        eager, compiled = callables(draw, operands)
        self.add("compiled", lambda: self.warm(compiled))
        if device == "cpu":
            self.add("eager", lambda: self.warm(eager))
            return
        if "compiled" in self.modes:
            self.add("compiled graph", lambda: captured(compiled))
        self.add("eager graph", lambda: captured(eager))
        wait()

    def warm(self, call):
        for _ in range(2):
            call()
        return call

    def add(self, mode, make):
        try:
            self.modes[mode] = make()
        except Exception as error:  # A mode that does not run is a result; an error of the device ends the worker.
            self.errors[mode] = f"{type(error).__name__}: {error}"[:300]

    def time(self, seconds):
        if not self.modes:
            return {"error": "; ".join(f"{mode}: {error}" for mode, error in self.errors.items())}
        least = min(self.best.values(), default=0)
        for mode, call in self.modes.items():
            if mode not in self.best or self.best[mode] <= NEAR * least:
                self.best[mode] = min(time_ms(call, wait, seconds), self.best.get(mode, float("inf")))
        mode = min(self.best, key=self.best.get)
        return {"ms": self.best[mode], "mode": mode, "modes": {m: round(t, 5) for m, t in self.best.items()},
                **({"failed": self.errors} if self.errors else {})}


@contextlib.contextmanager
def locked(path):
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def tune_alone(path):
    """Lets one process at a time measure which launch of a kernel is best, so that they do not disturb each other."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    measure = CachingAutotuner.benchmark_all_configs

    def measure_alone(self, *arguments, **options):
        with locked(path):
            return measure(self, *arguments, **options)
    CachingAutotuner.benchmark_all_configs = measure_alone


def answer(command, draw, prepared, arguments):
    if command in ("compile", "prepare"):
        ready = Prepared(draw, arguments.device)
        if command == "prepare":
            prepared[draw["id"]] = ready
        return {}
    if command == "time":
        if draw["id"] not in prepared:
            return {"error": "is not prepared"}
        return prepared[draw["id"]].time(arguments.seconds)
    prepared.pop(draw["id"], None)
    return {}


def serve(arguments):
    known, prepared = draw_lists.read(arguments.draws), {}
    for line in sys.stdin:
        command, number = line.split()
        draw = known[int(number)]
        try:
            result = answer(command, draw, prepared, arguments)
            wait()
        except Exception as error:  # The answer says so. After an error of the device no later call would work.
            result = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"id": draw["id"], **result}), file=arguments.answers, flush=True)
        if command in ("compile", "drop"):
            torch._dynamo.reset()
            gc.collect()
            if torch.cuda.is_initialized():
                torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draws", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--lock", type=pathlib.Path, help="file that one process at a time locks to tune kernels")
    arguments = parser.parse_args()
    # Libraries print to the standard output, which must have the answers alone.
    arguments.answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    torch._dynamo.config.cache_size_limit = 64
    if arguments.device != "cpu":
        if arguments.lock:
            tune_alone(arguments.lock)
        torch.cuda.init()
    print(json.dumps({"version": f"PyTorch {torch.__version__}"}), file=arguments.answers, flush=True)
    serve(arguments)


if __name__ == "__main__":
    main()
