#!/usr/bin/env python3
"""Times forms with shapes drawn from a seed, in Sinter and in PyTorch (and JAX), and prints the distribution of ratios.

usage: sweep_gpu.py BINARY --seed 7 --draws 200 [--jobs 14] [--rounds 2] [--jax] [--out R.jsonl] [--chart R.svg]
       sweep_gpu.py BINARY --device cpu:0 --threads 2 --jobs 6 --largest-elements 16777216 --seed 7 --draws 200
       sweep_gpu.py BINARY --judge --device cpu:0 --largest-elements 65536 --seed 7 --draws 200

BINARY is sinter_bench_sweep. No shape is chosen by hand, so none can be tuned to: a form is drawn from sweep/draw_*.py
and its sizes from a logarithmic distribution. Draws are compiled in parallel, then each is timed alone: Sinter, peers,
Sinter, peers, and the least of its medians counts. A draw that does not compile or run is printed with its error.
With --judge the results are compared with PyTorch's in float64 instead. Exit status: 0, or 1 if a draw of Sinter failed
or differs.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "sweep"))
sys.dont_write_bytecode = True

import chart  # noqa: E402
import draws as draw_lists  # noqa: E402
import report  # noqa: E402
from workers import Worker, each  # noqa: E402

# Draws that are compiled before the first of them is timed: enough to keep every job busy.
CHUNK_PER_JOB = 4
# Draws that are made ready at once, each by its own process; all of them are in the device's memory.
READY = 6


class Contender:
    """Sinter or a peer: processes that compile in parallel, some of which also time."""

    def __init__(self, name, command, jobs, greets, environment):
        self.name = name
        self.workers = [Worker(command, environment, greets) for _ in range(jobs)]
        self.failed = {}  # Errors by draw; such a draw is not prepared again.

    def compile(self, worker, draw):
        answer = worker.ask("compile", draw)
        if "error" in answer:
            self.failed[draw["id"]] = answer

    def version(self):
        return next((w.greeting["version"] for w in self.workers if w.greeting.get("version")), None)


def on_cpu(arguments):
    return arguments.device == "cpu:0"


def peer_device(arguments):
    return "cpu" if on_cpu(arguments) else "cuda"


def contenders(arguments, path, cache):
    seconds = ["--seconds", str(arguments.seconds)]
    threads = {"SINTER_NUM_THREADS": str(arguments.threads)} if on_cpu(arguments) else {}
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": "1",
                                "OMP_NUM_THREADS": str(arguments.threads if on_cpu(arguments) else 1), "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                                "JAX_COMPILATION_CACHE_DIR": str(cache / "jax")}
    python = [arguments.python, "-B"]
    all_of_them = [Contender("sinter", [str(arguments.binary.resolve()), str(path), "--device", arguments.device, "--serve",
                                        *seconds], max(1, min(arguments.jobs // 2, READY)), False, os.environ | threads)]
    all_of_them.append(Contender("PyTorch", [*python, str(HERE / "sweep" / "torch_worker.py"), str(path), "--lock",
                                             str(cache / "tuning.lock"), "--device", peer_device(arguments), *seconds], arguments.jobs, True, environment))
    if arguments.jax:
        all_of_them.append(Contender("JAX", [*python, str(HERE / "sweep" / "jax_worker.py"), str(path), *seconds],
                                     min(arguments.jobs, READY), True, environment))
    return all_of_them


def compile_all(chunk, all_of_them):
    """Compiles the draws with every contender at once, to fill the caches of all processes."""
    threads = [(contender, [(contender.compile, draw) for draw in chunk]) for contender in all_of_them]
    each([(lambda _, work: each(work[1], work[0].workers), item) for item in threads], all_of_them)


def prepare(draws, all_of_them):
    """Makes each draw ready in a process of its own for each contender."""
    def ready(pair, draw):
        contender, place = pair
        if draw["id"] not in contender.failed:
            answer = contender.workers[place].ask("prepare", draw)
            if "error" in answer:
                contender.failed[draw["id"]] = answer
    pairs = [((contender, place), draw) for place, draw in enumerate(draws) for contender in all_of_them]
    # One thread for each pair: the "workers" of these tasks are the pairs themselves.
    each([(lambda _, item: ready(*item), pair) for pair in pairs], range(len(pairs)))


def better(old, new):
    """Returns the answer with the least time; an error only if neither has one."""
    return min((a for a in (old, new) if a is not None), key=lambda a: a.get("ms", float("inf")))


def time_draw(draw, place, all_of_them, rounds):
    answers = {}
    for _ in range(rounds):
        for contender in all_of_them:
            if draw["id"] in contender.failed:
                answers[contender.name] = contender.failed[draw["id"]]
            else:
                answer = contender.workers[place].ask("time", draw)
                answers[contender.name] = better(answers.get(contender.name), answer)
    return {"draw": draw, "sinter": answers.pop("sinter"), "peers": answers}


@contextlib.contextmanager
def alone(command):
    """Holds the machine with the command, if there is one, which prints a line when no other program disturbs."""
    if not command:
        yield
        return
    holder = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if not holder.stdout.readline():
            sys.exit(f"sweep_gpu.py: {command} ended without a line")
        yield
    finally:
        holder.stdin.close()
        holder.wait()


def measure(draws, all_of_them, arguments, keep):
    """Times the draws in chunks, until the time limit, and returns how many were not started."""
    begin, last, chunk_size = time.monotonic(), 0.0, max(READY, CHUNK_PER_JOB * arguments.jobs)
    ready = min(READY, *(len(contender.workers) for contender in all_of_them))
    for first in range(0, len(draws), chunk_size):
        chunk = draws[first:first + chunk_size]
        if time.monotonic() - begin > arguments.time_limit:
            return len(draws) - first
        compile_all(chunk, all_of_them)
        compiled = time.monotonic() - begin
        for start in range(0, len(chunk), ready):
            before = time.monotonic()
            if before - begin + last > arguments.time_limit:
                return len(draws) - first - start
            group = chunk[start:start + ready]
            prepare(group, all_of_them)
            with alone(arguments.alone):
                for place, draw in enumerate(group):
                    keep(time_draw(draw, place, all_of_them, arguments.rounds))
            for place, draw in enumerate(group):
                for contender in all_of_them:
                    contender.workers[place].ask("drop", draw)
            last = time.monotonic() - before
        print(f"{first + len(chunk)} of {len(draws)} draws after {time.monotonic() - begin:.0f} s "
              f"(compiled after {compiled:.0f} s)", file=sys.stderr, flush=True)
    return 0


def cpu_line(threads):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'CPU'} with {threads} threads"


def device_line():
    command = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        sys.exit(f"sweep_gpu.py: nvidia-smi finds no GPU: {error}")


def run(draws, arguments, folder):
    path = folder / "draws.jsonl"
    draw_lists.write(draws, path)
    device, results = cpu_line(arguments.threads) if on_cpu(arguments) else device_line(), []
    cache = arguments.cache or folder
    cache.mkdir(parents=True, exist_ok=True)
    all_of_them = contenders(arguments, path, cache)
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(arguments.out, "a", encoding="utf-8")) if arguments.out else None
        for contender in all_of_them:
            for worker in contender.workers:
                stack.callback(worker.end)

        def keep(result):
            results.append(result)
            if out:
                print(json.dumps(result), file=out, flush=True)

        not_started = measure(draws, all_of_them, arguments, keep)
    versions = "; ".join(filter(None, (contender.version() for contender in all_of_them)))
    title = f"{device}; {versions}; seed {arguments.seed}, {len(results)} of {len(draws)} draws"
    print(f"{title}\n\n{report.text(results)}")
    if not_started:
        print(f"{not_started} draws were not started within the time limit")
    if arguments.chart:
        name = f"Sinter's time over the best peer's, {len(results)} draws of seed {arguments.seed}, {device.split(',')[0]}"
        arguments.chart.write_text(chart.svg(results, name), encoding="utf-8")
    return 1 if any("ms" not in r["sinter"] for r in results) else 0


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--device", default="gpu:0", help="Sinter's; the peers take their first GPU, or with cpu:0 "
                        "the CPU")
    parser.add_argument("--threads", type=int, default=2, help="of each contender on a CPU")
    parser.add_argument("--cache", type=pathlib.Path, help="folder that keeps what the peers compile for the next run")
    parser.add_argument("--alone", metavar="COMMAND", help="runs while draws are timed, and keeps other programs off the "
                        "machine: it prints a line when that is so, and ends when its input does")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--forms", nargs="+", metavar="NAME", help="draw only these forms")
    parser.add_argument("--only", nargs="+", type=int, metavar="ID", help="only these draws of the seed")
    parser.add_argument("--jobs", type=int, default=14, help="processes that compile with PyTorch")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.1, help="to measure each draw, contender and round")
    parser.add_argument("--largest-elements", type=int, default=draw_lists.MOST, help="of all operands of a draw")
    parser.add_argument("--time-limit", type=float, default=1e9, help="seconds after which no new draw is started")
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=pathlib.Path, help="append the results here, one JSON object a line")
    parser.add_argument("--chart", type=pathlib.Path)
    parser.add_argument("--judge", action="store_true", help="compare results with PyTorch in float64, time nothing")
    parser.add_argument("--judge-device", default="cpu", help="PyTorch's device for --judge")
    arguments = parser.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        parser.error(f"{arguments.binary} is not an executable file: build it first")
    return arguments


def main():
    arguments = parsed()
    draws = draw_lists.make(arguments.seed, arguments.draws, arguments.forms, arguments.largest_elements)
    draws = [draw for draw in draws if not arguments.only or draw["id"] in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.judge:
            import judge
            return judge.judge_all(draws, arguments, pathlib.Path(folder))
        return run(draws, arguments, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
