"""Compares the CUDA kernels of drawn forms, run by the emulator, with the same forms on the CPU.

usage: sweep_test.py SINTER_BENCH_SWEEP EMULATED_SWEEP

The emulator stops at each access outside of a buffer. bench/peers/sweep_gpu.py EMULATED_SWEEP --device emulated:0 --judge
compares as many draws of any seed and size with PyTorch.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SWEEP = pathlib.Path(__file__).resolve().parents[3] / "bench" / "peers" / "sweep"
EMULATED, ON_CPU = sys.argv.pop(), sys.argv.pop()
sys.path.insert(0, str(SWEEP))
sys.dont_write_bytecode = True

import draws  # noqa: E402

SEED = 4
LARGEST = 2 ** 13
WIDTHS = {"F32": "f", "I8": "b", "I32": "i", "I64": "q", "BOOL": "b"}
LIMITS = {"F32": 3e-3, "BF16": 2e-2}  # Of norms; products of f32 are those of tf32.


def drawn(index, name, operands, dtype="bf16", options=None):
    """Returns a draw of one form with the shapes that once went wrong."""
    return draws.draw_one(SEED, index, [name], LARGEST) | {
        "dtype": dtype, "options": options or {},
        "operands": [{"name": n, "dtype": dtype, "shape": shape, "kind": "normal", "scale": 1.0, "high": 0}
                     for n, shape in operands.items()]}


def floats_of(data, dtype):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return [float(x) for x in struct.unpack(f"<{len(data) // struct.calcsize(WIDTHS[dtype])}{WIDTHS[dtype]}", data)]


def values_of(program, device, made, folder):
    """Returns the results by name, each with its type, and the errors."""
    path, values = folder / "draws.jsonl", folder / "values.safetensors"
    draws.write(made, path)
    done = subprocess.run([program, str(path), "--device", device, "--values", str(values)], capture_output=True, text=True,
                          check=True)
    data = values.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    results = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            results[name] = (entry["dtype"], floats_of(data[begin:end], entry["dtype"]))
    return results, [line for line in done.stdout.splitlines() if "error" in json.loads(line)]


def distance(ours, theirs):
    """Returns the norm of the difference by that of the CPU's values; infinity if other elements are not finite."""
    if [math.isfinite(x) for x in ours] != [math.isfinite(x) for x in theirs]:
        return math.inf
    pairs = [(x, y) for x, y in zip(ours, theirs, strict=True) if math.isfinite(y)]
    difference = math.sqrt(sum((x - y) ** 2 for x, y in pairs))
    return difference / max(math.sqrt(sum(y * y for _, y in pairs)), 1e-30) if difference else 0.0


class EmulatedSweepTest(unittest.TestCase):
    def compare(self, made):
        with tempfile.TemporaryDirectory() as folder:
            theirs, errors = values_of(ON_CPU, "cpu:0", made, pathlib.Path(folder))
            self.assertEqual(errors, [])
            ours, errors = values_of(EMULATED, "emulated:0", made, pathlib.Path(folder))
        self.assertEqual(errors, [])
        self.assertEqual(ours.keys(), theirs.keys())
        self.assertTrue(ours)
        names = {str(draw["id"]): draw["name"] for draw in made}
        for name, (dtype, values) in ours.items():
            number = name.split("/")[0]
            with self.subTest(form=names[number], result=name):
                # A quotient between two whole numbers may round to either.
                limit = 2e-2 if names[number] == "quantize_rows" else LIMITS.get(dtype, 0)
                self.assertLessEqual(distance(values, theirs[name][1]), limit)

    def test_forms_agree(self):
        self.compare([draws.draw_one(SEED, index, [name], LARGEST) for index, name in enumerate(sorted(draws.FORMS))])

    def test_halves_of_a_row_of_no_whole_vectors(self):
        self.compare([drawn(0, "geglu", {"x": [1, 1206]})])


if __name__ == "__main__":
    unittest.main()
