"""Checks that sinter_bench_ops runs the rows of torch_gpu.py and jax_gpu.py and prints the input of compare_gpu.py.

usage: ops_bench_test.py SINTER_BENCH_OPS
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
PROGRAM = sys.argv.pop()
SMALL = ["--scale", "4096", "--seconds", "0.01"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def rows_of(script):
    """Returns the row names of a script in bench/peers."""
    text = (PEERS / script).read_text(encoding="utf-8")
    if script == "judge_ops.py":
        return set(re.findall(r'"(\w+_\w*(?:f32|bf16)\w*)": ', text))
    return set(re.findall(r'\bop\(\s*"(\w+)"', text)) | set(re.findall(r'workload="(adamw\w+)"', text))


class OpsBenchTest(unittest.TestCase):
    def test_every_row_has_a_rate(self):
        done = run("--json", *SMALL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(results), 12)
        for r in results:
            self.assertEqual((r["peer"], r["mode"]), ("sinter", ""))
            for field in ("ms", "min_ms", "GBps", "of_copy", "steps_ms", "kernels"):
                self.assertTrue(math.isfinite(r[field]) and r[field] > 0, r)
        self.assertEqual(results[0]["workload"], "copy_f32")
        self.assertEqual(results[0]["of_copy"], 1)
        # GB/s is the least number of bytes to move over the time: 28 bytes for each element of a parameter.
        adamw = results[-1]
        self.assertAlmostEqual(adamw["GBps"], 28 * adamw["shape"][0] / adamw["ms"] / 1e6, delta=1e-6 * adamw["GBps"])
        for script in ("torch_gpu.py", "jax_gpu.py", "judge_ops.py"):
            self.assertEqual({r["workload"] for r in results}, rows_of(script), script)

    def test_the_table_has_the_chosen_rows(self):
        done = run("--only", "rowsum_bf16,colsum_bf16", *SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("of copy", done.stdout)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["workload", "rowsum_bf16", "colsum_bf16"])

    def test_plan_and_values_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            plan, values = pathlib.Path(folder) / "p.plan", pathlib.Path(folder) / "v.safetensors"
            done = run("--only", "add_layernorm_bf16", *SMALL, "--plan", str(plan), "--values", str(values))
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertIn(b"SNTR", plan.read_bytes()[:16])
            for name in (b"before/h", b"output/sum", b"output/y"):
                self.assertIn(name, values.read_bytes()[:4096])

    def test_wrong_use_is_refused(self):
        for arguments, message in (
                (["--only", "copy"], 'no workload "copy"; there are copy_f32 chain_f32'),
                (["--plan", "p"], "need --only with exactly one workload"),
                (["--cuda", "c", "--only", "copy_f32"], "--cuda needs --device gpu:0: there is no CUDA for cpu:0"),
                (["--device", "tpu:0"], "tpu:0"),
                (["--scale", "0"], "--scale"),
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
