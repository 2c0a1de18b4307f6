#!/usr/bin/env python3
"""Reads the event files of train::TensorBoard with TensorBoard's own reader, and compares them with the JSON log.

    python3 -m venv /tmp/tensorboard && /tmp/tensorboard/bin/pip install tensorboard
    /tmp/tensorboard/bin/python bench/peers/judge_tensorboard.py build/release/examples/mnist_trainer

Trains twice into one folder, so that the second training resumes and writes a second file. Every number of every row of
the log must be there under its tag and the row's iteration, as the nearest f32, and nothing else. Fails otherwise.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import tempfile

from tensorboard import version
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def nearest_f32(number):
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def train(program, folder, epochs):
    subprocess.run([program, "--epochs", str(epochs), "--out", folder, "--device", "cpu"], check=True,
                   stdout=subprocess.DEVNULL)


def logged(folder):
    """The numbers of the log by (tag, step), without the step itself."""
    with open(pathlib.Path(folder) / "log") as log:
        rows = json.load(log)
    return {(tag, int(row["iteration"])): value for row in rows for tag, value in row.items() if tag != "iteration"}


def read(folder):
    """What TensorBoard reads from all event files of the folder, by (tag, step)."""
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    events = [(tag, event) for tag in accumulator.Tags()["scalars"] for event in accumulator.Scalars(tag)]
    found = {(tag, event.step): event.value for tag, event in events}
    if len(found) != len(events):
        raise SystemExit(f"{len(events) - len(found)} events are there twice")
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="an example with train::TensorBoard and --epochs, --out, --device")
    arguments.add_argument("--epochs", type=int, default=2, help="of each of the two trainings")
    options = arguments.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        train(program, folder, options.epochs)
        train(program, folder, 2 * options.epochs)
        files = sorted(pathlib.Path(folder).glob("events.out.tfevents.*"))
        wanted, found = logged(folder), read(folder)
    wrong = [f"{key}: the log has {wanted.get(key)}, TensorBoard reads {found.get(key)}"
             for key in sorted(wanted.keys() | found.keys())
             if key not in wanted or key not in found
             or (found[key] != nearest_f32(wanted[key])
                 and not (math.isnan(found[key]) and math.isnan(wanted[key])))]
    for line in wrong:
        print(line)
    tags, steps = {tag for tag, _ in found}, {step for _, step in found}
    print(f"TensorBoard {version.VERSION}: {len(files)} files, {len(tags)} tags, {len(steps)} steps; "
          f"{len(wanted) - len(wrong)} of {len(wanted)} numbers agree")
    if wrong or not wanted or len(files) != 2:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
