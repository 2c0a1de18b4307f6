"""Starts the processes of torch_mesh.py and jax_mesh.py, collects their results and prints them."""
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import mesh_models as models

TAIL = 15  # Lines of a failed process that are shown.


def print_machine(environment):
    """Prints the GPUs and what switches NVLink multicast off."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        names = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = []
    gpus = "; ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    print(f"{gpus or 'no GPU'}; {environment}", flush=True)


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _start(script, run, folder, processes, environment):
    """Starts the processes of a configuration, each in its own process group."""
    (folder / "run.json").write_text(json.dumps(dataclasses.asdict(run)), encoding="utf-8")
    world = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    started = []
    for rank in range(processes):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        log = open(folder / f"log{rank}", "w", encoding="utf-8")
        started.append(subprocess.Popen(
            [sys.executable, str(script), "--worker", str(folder)], stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, **environment, **world, **own}, start_new_session=True))
        log.close()
    return started


def _wait(started, seconds):
    """Returns None when all have ended well, else the rank of the first that failed, or "time"."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        codes = [p.poll() for p in started]
        failed = [rank for rank, code in enumerate(codes) if code]
        if failed:
            return failed[0]
        if all(code == 0 for code in codes):
            return None
        time.sleep(0.1)
    return "time"


def _stop(started):
    for p in started:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def _reason(folder, rank, verbose_to=sys.stderr):
    """Returns the line of a failed process that says why, and prints the end of its output."""
    lines = (folder / f"log{rank}").read_text(encoding="utf-8", errors="replace").splitlines()
    print("\n".join(f"  [{rank}] {line}" for line in lines[-TAIL:]), file=verbose_to)
    errors = [line for line in lines if "Error" in line or "error:" in line]
    return (errors or lines or ["no output"])[-1].strip()[:400]


def run_apart(script, run, processes=1, environment=None):
    """Runs a configuration in its own processes. Returns the result, with `error` in it if it failed.

    New processes give each configuration an empty GPU, and a failure ends only its own configuration.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        started = _start(script, run, folder, processes, environment or {})
        try:
            failed = _wait(started, run.limit)
        finally:
            _stop(started)
        if failed is None:
            return json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if failed == "time":
            _reason(folder, 0)
            error = f"did not end within {run.limit:g} seconds"
        else:
            error = _reason(folder, failed)
        return {**describe(run), "error": error}


def read_run(folder, run_class):
    return run_class(**json.loads((pathlib.Path(folder) / "run.json").read_text(encoding="utf-8")))


def write_result(folder, result):
    (pathlib.Path(folder) / "result.json").write_text(json.dumps(result), encoding="utf-8")


def describe(run):
    """Returns what a result says of its configuration."""
    return {"workload": run.model, "strategy": run.strategy, "mesh": run.mesh_text, "zero": run.zero,
            "devices": run.devices, "data_parts": run.data_parts, "batch": run.batch,
            "precision": run.precision,
            "sizes": {k: v for k, v in run.sizes.items() if k != "batch"}}


def figures(run, milliseconds, losses):
    """Returns the figures of a result, from the time of each measured step and from all losses."""
    ordered = sorted(milliseconds)
    middle = len(ordered) // 2
    ms = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    unit, count = models.units_of(run.model, run.sizes)
    return {"ms": ms, "min_ms": ordered[0], f"{unit}_per_s": run.batch * count / ms * 1e3,
            "loss_first": losses[0], "loss_last": losses[-1], "losses": losses}


def _rate(result):
    return result.get("tokens_per_s") or result.get("images_per_s")


def _gap(result, others):
    """Returns the largest relative difference from the losses of the first result with the same work."""
    def work(r):
        # The norms of resnet50 see the images of one part of the batch.
        parts = r["data_parts"] if r["workload"] == "resnet50" else None
        return r["workload"], r["batch"], r["sizes"], r["precision"], parts

    for other in others:
        if "losses" in other and work(other) == work(result):
            pairs = list(zip(result["losses"], other["losses"]))
            return max(abs(a - b) / max(abs(b), 1e-30) for a, b in pairs)
    return None


class Report:
    """Prints each result as a line of JSON, and all as a table. Writes the files --json and --losses."""

    def __init__(self, arguments, peer):
        self.arguments, self.peer, self.results = arguments, peer, []
        for path in (arguments.json, arguments.losses):
            if path:
                pathlib.Path(path).write_text("", encoding="utf-8")

    def add(self, result):
        result = {"peer": self.peer, **result}
        if "error" not in result:
            single = next((r for r in self.results if r["workload"] == result["workload"]
                           and r["devices"] == 1 and "error" not in r), None)
            if single and result["devices"] > 1:
                result["of_linear"] = _rate(result) / result["devices"] / _rate(single)
            gap = _gap(result, self.results)
            if gap is not None:
                result["loss_gap"] = gap
        self.results.append(result)
        self.print_line({k: v for k, v in result.items() if k != "losses"})
        if "losses" in result:
            keys = ("peer", "workload", "strategy", "mesh", "zero", "batch", "precision", "losses")
            self._append(self.arguments.losses, {k: result[k] for k in keys})

    def print_line(self, result):
        shown = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in result.items()}
        shown = {"peer": self.peer, **shown}
        print(json.dumps(shown), flush=True)
        self._append(self.arguments.json, shown)

    def _append(self, path, value):
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(value) + "\n")

    def print_table(self):
        if not self.results:
            return
        print(f"\n{'model':9} {'strategy':9} {'mesh':26} {'ms':>9} {'least':>9} {'units/s':>11} "
              f"{'of linear':>9} {'peak GiB':>9} {'reserved':>9} {'last loss':>10} {'loss gap':>9}")
        for r in self.results:
            text = f"{r['workload']:9} {r['strategy']:9} {r['mesh']:26} "
            if "error" in r:
                print(text + r["error"][:110])
                continue
            share = f"{r['of_linear'] * 100:8.1f}%" if "of_linear" in r else f"{'':9}"
            gap = f"{r['loss_gap']:9.1e}" if "loss_gap" in r else f"{'':9}"
            print(text + f"{r['ms']:9.3f} {r['min_ms']:9.3f} {_rate(r):11.1f} {share} {r['peak_GiB']:9.3f} "
                  f"{r['reserved_GiB']:9.3f} {r['loss_last']:10.5f} {gap}")
        print("of linear: units/s of one device in this run, times the devices, is 100%. loss gap: the "
              "largest\nrelative difference of a step's loss from the first line with the same work.")

    def failed(self):
        return any("error" in r for r in self.results)
