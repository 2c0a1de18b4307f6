#!/usr/bin/env python3
"""Runs Sinter and the peers on several devices of one host, and prints each result's ratio to the best peer.

usage: compare_mesh.py BINARY --model gpt2,resnet50 --strategy ddp,zero3,tp --with-single
       compare_mesh.py BINARY --model gpt2-xl --batch 8 --heads 20 --strategy zero3,tp --peers torch,jax

BINARY is sinter_bench_models. The other options are those of torch_mesh.py and jax_mesh.py, which run in turn
(--peers: torch, jax, both or none). Sinter measures a mesh with an axis tensor twice, also with --rows, and every
configuration once more with --memory GiB, within which it recomputes values rather than keep them. Every
contender draws its own weights; the losses of a model in training show that the work is alike, and
judge_torch.py that the numbers agree. Exit status: 0; 1 if Sinter or a peer gave no result for a
configuration; 2 if the options are wrong.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import mesh_models as models
import mesh_options
import mesh_runs
from compare import HERE, machine, results_of

PEERS = {"torch": "torch_mesh.py", "jax": "jax_mesh.py"}


def sinter_modes(run, memory_gib=None):
    """Returns the name and the flags of each way in which Sinter trains on this mesh."""
    modes = {"": []}
    if run.mesh["tensor"] > 1:
        modes["rows"] = ["--rows"]
    if memory_gib is not None:
        modes[f"{memory_gib:g} GiB"] = ["--memory-limit", str(int(memory_gib * 2**30))]
    return modes


def sinter_command(binary, run, seconds):
    """Returns the command that trains a configuration with Sinter."""
    workload = "gpt2" if models.is_text(run.model) else run.model
    # Every rank has the batch of a device, which the program multiplies by the ranks.
    batch, rest = divmod(run.batch, run.devices)
    if rest:
        raise ValueError(f"{run.model}, mesh {run.mesh_text}: Sinter's benchmark gives each of {run.devices} "
                         f"devices the same batch, and {run.batch} examples do not divide")
    sizes = run.sizes | {"batch": batch}
    if workload == "lenet":
        if batch != models.SIZES["lenet"]["batch"]:
            raise ValueError(f"lenet: Sinter's benchmark has {models.SIZES['lenet']['batch']} images a device")
        sizes = {}
    device = "gpu:0" if run.device == "cuda" else "cpu:0"
    command = [str(binary), "--json", "--only", workload, "--device", device, "--seconds", f"{seconds:g}",
               "--precision", run.precision]
    command += [part for name, size in sizes.items() for part in (f"--{workload}-{name}", str(size))]
    if run.devices > 1:
        command += ["--mesh", run.mesh_text]
    if run.zero:
        command += ["--zero", str(run.zero)]
    return command + (["--tf32"] if run.tf32 else [])


def measure_sinter(arguments, run):
    """Returns the results of a configuration, an error in those that failed."""
    found = []
    for mode, flags in sinter_modes(run, arguments.memory).items():
        command = sinter_command(arguments.binary, run, arguments.seconds) + flags
        own = {**mesh_runs.describe(run), "peer": "Sinter", "mode": mode}
        results = [{**r, **own} for r in results_of(command)] or [{**own, "error": "no result"}]
        found += [r | ({"images_per_s": r["examples_per_s"]} if "examples_per_s" in r else {}) for r in results]
    return found


def measure_peer(arguments, name, options):
    """Returns the results of a peer's script for all configurations."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results"
        subprocess.run([arguments.python, str(HERE / PEERS[name]), *options, "--json", str(path)], check=False)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [{"mode": "", **json.loads(line)} for line in lines]


def rate(result):
    return result.get("tokens_per_s") or result.get("images_per_s")


def comparison(results):
    """Returns lines of text: each result with its share of linear and its ratio to the best peer."""
    lines = [f"{'model':9} {'strategy':9} {'mesh':20} {'contender':16} {'ms':>9} {'least':>9} {'units/s':>11} "
             f"{'of linear':>9} {'peak GiB':>9} {'time/peer':>9} {'GiB/peer':>9}"]
    keys = list(dict.fromkeys((r["workload"], r["strategy"], r["mesh"]) for r in results))
    for key in keys:
        rows = [r for r in results if (r["workload"], r["strategy"], r["mesh"]) == key]
        peers = [r for r in rows if r["peer"] != "Sinter" and "ms" in r]
        best = min(peers, key=lambda r: r["ms"], default=None)
        for r in rows:
            who = " ".join(part for part in (r["peer"], r["mode"]) if part)
            text = f"{key[0]:9} {key[1]:9} {key[2]:20} {who:16} "
            if "ms" not in r:
                lines.append(text + str(r.get("error", "no time"))[:110])
                continue
            single = next((s for s in results if s["workload"] == key[0] and s["devices"] == 1 and "ms" in s
                           and s["peer"] == r["peer"]), None)
            linear = rate(r) / r["devices"] / rate(single) if single and r["devices"] > 1 else None
            ratios = (r["ms"] / best["ms"], r["peak_GiB"] / max(best["peak_GiB"], 1e-9)) if best else (None, None)
            text += f"{r['ms']:9.3f} {r['min_ms']:9.3f} {rate(r):11.1f} "
            text += f"{linear * 100:8.1f}% " if linear else f"{'':9} "
            text += f"{r['peak_GiB']:9.3f} " + " ".join(f"{x:9.2f}" if x else f"{'':9}" for x in ratios)
            lines.append(text.rstrip())
    lines.append("time/peer, GiB/peer: the figure divided by that of the peer that takes the least time.")
    return lines


def parse(words):
    """Returns the parser, the options, and those that the peers' scripts get."""
    parser = mesh_options.make_parser(__doc__)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--peers", default="torch", help="torch, jax, both separated by a comma, or none")
    parser.add_argument("--seconds", type=float, default=2, help="seconds of each measurement of Sinter")
    parser.add_argument("--memory", type=float, help="GiB of a device: measures Sinter also within this limit")
    parser.add_argument("--out", type=pathlib.Path, help="file for all results, one JSON object a line")
    own, rest = parser.parse_known_args(words)
    shared = mesh_options.make_parser(__doc__)
    mesh_options.add_options(shared)
    arguments = shared.parse_args(rest)
    if arguments.json or arguments.losses:
        parser.error("--json and --losses are options of the peers' scripts; use --out")
    unknown = [name for name in own.peers.split(",") if name not in (*PEERS, "none")]
    if unknown:
        parser.error(f"there is no peer {unknown[0]!r}; known: {', '.join(PEERS)}, none")
    return parser, own, arguments, rest


def available_devices(device):
    if device == "cpu":
        return 64
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return len(listed.splitlines())


def main():
    mesh_options.set_multicast()
    parser, own, arguments, rest = parse(sys.argv[1:])
    own.binary = own.binary.resolve()
    if not os.access(own.binary, os.X_OK):
        parser.error(f"{own.binary} is not an executable file: build it first")
    try:
        runs = mesh_options.runs_of(arguments, available_devices(arguments.device))
        for run in runs:
            sinter_command(own.binary, run, own.seconds)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    mesh_runs.print_machine(f"{machine()}; {mesh_options.multicast_text()}")
    results = [r for run in runs for r in measure_sinter(own, run)]
    for result in results:
        print(json.dumps(result), flush=True)
    for name in own.peers.split(","):
        if name in PEERS:
            results += measure_peer(own, name, rest)
    print("\n" + "\n".join(comparison(results)), flush=True)
    if own.out:
        own.out.write_text("".join(json.dumps(r) + "\n" for r in results), encoding="utf-8")
    expected = len([name for name in own.peers.split(",") if name in PEERS]) * len(runs)
    complete = all("ms" in r for r in results) and len([r for r in results if r["peer"] != "Sinter"]) == expected
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
