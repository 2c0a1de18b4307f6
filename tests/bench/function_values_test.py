"""Checks the file of sinter_function_values, and that each of its calls has a counterpart in bench/peers.

usage: function_values_test.py SINTER_FUNCTION_VALUES
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
PROGRAM = sys.argv.pop()


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def read(path):
    """Returns the tensors of f32 as lists, and the names of all."""
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in entries.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return tensors, set(entries)


class FunctionValuesTest(unittest.TestCase):
    def values(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "v.safetensors"
            done = run(*arguments, "--values", str(path))
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            return read(path)

    def test_each_call_has_a_counterpart(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = done.stdout.splitlines()
        self.assertGreater(len(names), 400)
        self.assertEqual(len(names), len(set(names)))
        text = "".join((PEERS / "functions" / script).read_text(encoding="utf-8") for script in ("torch_functions.py", "torch_layers.py"))
        for name in names:
            family, _, member = name.rpartition(".")
            listed = family in ("dist", "dist.KlDivergence") and f'"{member}"' in text  # Of a loop over families.
            self.assertTrue(f'"{name}"' in text or listed, name)

    def test_gradients_are_of_the_weighted_sum(self):
        tensors, _ = self.values("Square", "operator*")
        for x, w, y, d in zip(*(tensors["Square/" + n] for n in ("in0", "w0", "out0", "d0")), strict=True):
            self.assertAlmostEqual(y, x * x, delta=1e-6)
            self.assertAlmostEqual(d, 2 * x * w, delta=1e-6)
        self.assertTrue(all(-2 <= x < 2 for x in tensors["Square/in0"]))
        self.assertEqual(len(tensors["operator*/d1"]), 3)  # Of an operand that broadcasts.

    def test_layers_have_parameters_and_optimisers_no_gradients(self):
        _, names = self.values("nn.Linear", "optim.Sgd")
        for name in ("in0", "p:weight", "p:bias", "out0", "w0", "d0", "d:weight", "d:bias"):
            self.assertIn("nn.Linear/" + name, names)
        self.assertEqual({n for n in names if n.startswith("optim.Sgd/")}, {"optim.Sgd/" + n for n in ("in0", "out0", "p:p")})

    def test_the_seed_decides_the_inputs(self):
        first, again, other = (self.values("Exp", "--seed", seed)[0] for seed in ("4", "4", "5"))
        self.assertEqual(first, again)
        self.assertNotEqual(first["Exp/in0"], other["Exp/in0"])
        # Other calls in the file change nothing.
        self.assertEqual(self.values("Exp", "Log", "--seed", "4")[0]["Exp/in0"], first["Exp/in0"])

    def test_wrong_use_is_refused(self):
        for arguments, message in (
                (["Exq", "--list"], 'no function "Exq"; see --list'),
                (["Exp"], "give --values FILE or --list"),
                (["Exp", "--values", "v", "--device", "tpu:0"], "tpu:0"),
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
