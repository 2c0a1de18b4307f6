#!/usr/bin/env python3
"""Runs a Sinter benchmark, then the peers, and prints each result's ratio to the best peer.

usage: compare.py BINARY [--venv VENV] [--workloads NAME ...] [--out FILE]

The script calls `BINARY --json`, and with named workloads `--only` and these. It prints one JSON object a line
with at least `workload`, `mode` and `ms`; other lines are ignored. The script compares median times. A training
result also has `loss`, the loss of the tenth step; if it disagrees with the best peer's loss, the time does not
count. Exit status: 0, or 1 if a loss disagrees or Sinter gave no result.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = ("memcpy.py", "jax_cpu.py", "onnx_cpu.py", "torch_cpu.py")
COPIES = ("memcpy_f32", "copy_f32")  # The limits of memory-bound workloads.
LOSS_TOLERANCE = 1e-3  # Relative; larger than the effect of another summation order on ten float32 steps.


def default_venv():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "sinter-peers"


def results_of(command, **fields):
    """Returns the JSON objects that a command prints; its stderr passes through."""
    completed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if completed.returncode != 0:
        print(f"compare.py: {command[0]} exited with {completed.returncode}", file=sys.stderr)
    results = []
    for line in completed.stdout.splitlines():
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(result, dict) and "workload" in result:
            results.append({**fields, **result})
    return results


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.processor())
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load before the run {load:.2f}"


def losses_agree(a, b):
    return a is not None and abs(a - b) <= LOSS_TOLERANCE * max(abs(a), abs(b))


def contender(result):
    return ", ".join(part for part in (result["peer"], result["mode"]) if part)


def compare(results):
    """Prints the table; returns the workloads on which Sinter's loss disagrees with a peer's.

    "of copy" is the rate divided by the rate of the fastest copy among the results.
    """
    disagreeing = []
    width = max([16, *(len(r["workload"]) for r in results)])
    copy = max((r["GBps"] for r in results if r["workload"] in COPIES and "GBps" in r), default=None)
    print(f"{'workload':<{width}} {'contender':<34} {'ms':>10} {'GB/s':>8} {'of copy':>8} {'ratio':>7}  loss at step 10")
    for workload in dict.fromkeys(r["workload"] for r in results):
        rows = [r for r in results if r["workload"] == workload]
        timed = sorted((r for r in rows if "ms" in r), key=lambda r: r["ms"])
        best = next((r for r in timed if r["peer"] != "sinter"), None)
        expected = best.get("loss") if best else None
        for r in timed:
            ratio = f"{best['ms'] / r['ms']:.2f}" if best else "-"
            rate = f"{r['GBps']:.1f}" if "GBps" in r else "-"
            part = f"{r['GBps'] / copy:.1%}" if copy and "GBps" in r else "-"
            note = f"{r['loss']:.5f}" if "loss" in r else ""
            if r["peer"] == "sinter" and expected is not None and not losses_agree(r.get("loss"), expected):
                note += f"  DISAGREES with {expected:.5f}: the time does not count"
                disagreeing.append(workload)
            print(f"{workload:<{width}} {contender(r):<34} {r['ms']:>10.3f} {rate:>8} {part:>8} {ratio:>7}  {note}")
        for r in rows:
            if "ms" not in r:
                print(f"{workload:<{width}} {contender(r):<34} {r.get('error', 'no time given')}")
    return disagreeing


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--venv", type=pathlib.Path, default=default_venv(),
                        help="as made by setup.sh (default: %(default)s)")
    parser.add_argument("--workloads", nargs="+", default=None, metavar="NAME", help="only these")
    parser.add_argument("--out", type=pathlib.Path, help="also write the results here, one JSON object a line")
    arguments = parser.parse_args()

    python = arguments.venv / "bin" / "python"
    if not python.exists():
        parser.error(f"no Python at {python}: run {HERE / 'setup.sh'} {arguments.venv} first")
    if not os.access(arguments.binary, os.X_OK):
        parser.error(f"{arguments.binary} is not an executable file: build the benchmark first")

    print(machine())
    only = ["--only", ",".join(arguments.workloads)] if arguments.workloads else []
    results = results_of([str(arguments.binary.resolve()), "--json", *only], peer="sinter", mode="")
    sinter_ran = any("ms" in r for r in results)
    for script in SCRIPTS:
        is_copy = script == "memcpy.py"
        names = [n for n in arguments.workloads or [] if (n == "memcpy_f32") == is_copy]
        if arguments.workloads and not names:
            continue
        results += results_of([str(python), str(HERE / script), *names])
    print("; ".join(dict.fromkeys(r["version"] for r in results if "version" in r)))
    disagreeing = compare(results)
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(r) + "\n" for r in results), encoding="utf-8")
    if not sinter_ran:
        print(f"compare.py: {arguments.binary} printed no result", file=sys.stderr)
    return 1 if disagreeing or not sinter_ran else 0


if __name__ == "__main__":
    sys.exit(main())
