"""Checks the draws of bench/peers/sweep, and that sinter_bench_sweep runs every form at sizes that take no time.

usage: sweep_test.py SINTER_BENCH_SWEEP
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

SWEEP = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers" / "sweep"
PROGRAM = sys.argv.pop()
sys.path.insert(0, str(SWEEP))
sys.dont_write_bytecode = True

import chart  # noqa: E402
import draws  # noqa: E402
import report  # noqa: E402

TINY = 2 ** 13


def run(made, *arguments, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "draws.jsonl"
        draws.write(made, path)
        return subprocess.run([PROGRAM, str(path), *arguments], capture_output=True, text=True, check=False, **options)


def answers(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class DrawsTest(unittest.TestCase):
    def test_a_draw_depends_on_seed_and_index_alone(self):
        self.assertEqual(draws.make(3, 40), draws.make(3, 60)[:40])
        self.assertNotEqual(draws.make(3, 40), draws.make(4, 40))
        text = json.dumps(draws.make(1, 1000))
        self.assertEqual(text, json.dumps(draws.make(1, 1000)))

    def test_each_form_has_valid_shapes(self):
        for name, (kind, _, wrt, dtypes) in draws.FORMS.items():
            self.assertIn(kind, chart.COLOURS)
            for largest in (TINY, draws.MOST):
                for draw in draws.make(5, 50, [name], largest):
                    self.assertTrue(draws.FEWEST <= draws.elements_of(draw) <= largest, draw)
                    operands = {operand["name"]: operand for operand in draw["operands"]}
                    self.assertTrue(set(wrt) <= set(operands), draw)
                    self.assertIn(draw["dtype"], dtypes)
                    for operand in operands.values():
                        self.assertTrue(all(isinstance(size, int) and size >= 1 for size in operand["shape"]), draw)
                        self.assertLessEqual(len(operand["shape"]), 4)

    def test_sizes_are_of_every_style(self):
        sizes = [size for draw in draws.make(1, 1000) for operand in draw["operands"] for size in operand["shape"]]
        self.assertTrue(any(size > 200_000 for size in sizes) and any(size == 1 for size in sizes))
        large = [size for size in sizes if size > 100]
        for is_one in (draws.is_prime, lambda n: n & (n - 1) == 0, lambda n: n % 64 == 0, lambda n: n % 2 == 1):
            self.assertGreater(sum(map(is_one, large)), len(large) / 20)

    def test_each_form_is_written_in_pytorch(self):
        written = re.findall(r"^@form\ndef (\w+)", (SWEEP / "torch_forms.py").read_text(encoding="utf-8"), re.M)
        drawn = {function.__name__ for kind, function, *_ in draws.FORMS.values() if kind != "updates"}
        self.assertEqual(drawn, set(written))
        in_jax = re.findall(r"^@form\ndef (\w+)", (SWEEP / "jax_forms.py").read_text(encoding="utf-8"), re.M)
        self.assertTrue(set(in_jax) <= drawn)


class ProgramTest(unittest.TestCase):
    def test_every_form_runs(self):
        made = [draws.draw_one(seed, index, [name], TINY)
                for seed in (1, 2) for index, name in enumerate(sorted(draws.FORMS), len(draws.FORMS) * (seed - 1))]
        done = run(made, "--seconds", "0.001")
        self.assertEqual(done.returncode, 0, done.stderr)
        results = answers(done)
        self.assertEqual([r["id"] for r in results], [draw["id"] for draw in made])
        for r in results:
            self.assertTrue(r.get("ms", 0) > 0 and r["kernels"] > 0, r)

    def test_a_draw_that_fails_is_a_result(self):
        draw = draws.draw_one(1, 0, ["softmax"], TINY)
        for change in ({"form": "no_such_form"}, {"form": "topk"}, {"form": "linear"}):
            result, = answers(run([draw | change], "--seconds", "0.001"))
            self.assertEqual(result["id"], 0)
            self.assertIn("error", result)
            self.assertNotIn("ms", result)
        self.assertEqual(run([{"id": 1}]).returncode, 2)

    def test_shards_and_forms_choose_draws(self):
        made = [draws.draw_one(1, index, [name], TINY) for index, name in enumerate(["softmax", "chain", "roll"])]
        ids = [r["id"] for shard in ("0/2", "1/2") for r in answers(run(made, "--compile-only", "--shard", shard))]
        self.assertEqual(sorted(ids), [0, 1, 2])
        self.assertEqual([r["form"] for r in answers(run(made, "--compile-only", "--forms", "chain"))], ["chain"])
        self.assertEqual(run(made, "--shard", "2/2").returncode, 2)

    def test_values_have_operands_and_results(self):
        made = [draws.draw_one(1, 7, ["layer_norm_grad"], TINY), draws.draw_one(1, 8, ["adamw"], TINY)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "v.safetensors"
            done = run(made, "--values", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            data = path.read_bytes()
            names = set(json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]))
        self.assertTrue({"7/in/x", "7/in/dy", "7/out/y", "7/out/d:scale", "8/in/g0", "8/after/p0"} <= names, names)

    def test_it_answers_commands(self):
        made = [draws.draw_one(1, 0, ["softmax"], TINY)]
        done = run(made, "--serve", "--seconds", "0.001",
                   input="time 0\ncompile 0\nprepare 0\ntime 0\ndrop 0\ntime 0\nsing 0\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(["error" in answer for answer in answers(done)], [True, False, False, False, False, True, True])
        self.assertGreater(answers(done)[3]["ms"], 0)
        self.assertEqual(run(made, "--serve", input="time 5\n").returncode, 2)


class ReportTest(unittest.TestCase):
    def results(self):
        made = draws.make(1, 4)
        times = [({"ms": 1.0, "kernels": 1}, {"PyTorch": {"ms": 2.0, "mode": "compiled"}, "JAX": {"ms": 4.0}}),
                 ({"ms": 3.0, "kernels": 1}, {"PyTorch": {"ms": 2.0, "mode": "eager graph"}, "JAX": {"error": "none"}}),
                 ({"error": "does not compile"}, {"PyTorch": {"ms": 2.0}}), ({"ms": 1.0}, {"PyTorch": {"error": "fails"}})]
        return [{"draw": draw, "sinter": ours, "peers": peers} for draw, (ours, peers) in zip(made, times, strict=True)]

    def test_the_best_peer_counts_and_no_draw_is_lost(self):
        results = self.results()
        self.assertEqual([report.ratio(r) for r in results], [0.5, 1.5, None, None])
        text = report.text(results)
        for words in ("PyTorch, compiled in 1", "elements of operands", "2 draws with a ratio", "above 1.10: 1 of 2", "2 draws without a ratio", "does not compile", "fails"):
            self.assertIn(words, text)

    def test_the_chart_has_a_point_for_each_ratio(self):
        picture = chart.svg(self.results(), "a < b")
        self.assertEqual(picture.count('r="3.2"'), 2)
        self.assertIn("a &lt; b", picture)
        with self.assertRaises(ValueError):
            chart.svg(self.results()[2:], "none")


if __name__ == "__main__":
    unittest.main()
