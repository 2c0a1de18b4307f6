"""Checks the configurations of torch_mesh.py and jax_mesh.py, and compare_mesh.py. Needs no PyTorch or JAX.

usage: mesh_peers_test.py SINTER_BENCH_MODELS
"""
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
PROGRAM = sys.argv.pop()
sys.path.insert(0, str(PEERS))

import compare_mesh  # noqa: E402  (after the path)
import mesh_models  # noqa: E402
import mesh_options  # noqa: E402
import mesh_runs  # noqa: E402
import torch_modes  # noqa: E402


def runs(options, available=4, **keywords):
    parser = mesh_options.make_parser("")
    mesh_options.add_options(parser)
    arguments = parser.parse_args(options.split())
    arguments.compile, arguments.async_tp = "auto", True
    return mesh_options.runs_of(arguments, available, **keywords)


def parameter_count(model):
    parameters = mesh_models.parameters_of(model, mesh_models.SIZES[model])
    return sum(math.prod(p.shape) for p in parameters)


class MeshPeersTest(unittest.TestCase):
    def assert_refused(self, options, words, **keywords):
        with self.assertRaisesRegex(ValueError, words):
            runs(options, **keywords)

    def test_models_have_the_parameters_of_the_examples(self):
        self.assertEqual(parameter_count("gpt2"), 124475904)
        self.assertEqual(parameter_count("resnet50"), 25557032)
        self.assertEqual(parameter_count("lenet"), 129068)

    def test_strategies_name_meshes(self):
        found = runs("--strategy ddp,zero3,hsdp,tp,dp_tp --with-single")
        self.assertEqual([(r.strategy, r.mesh_text, r.zero, r.batch) for r in found],
                         [("single", "none", 0, 32), ("ddp", "data=4", 0, 128), ("zero3", "data=4", 3, 128),
                          ("hsdp", "replica=2,data=2", 3, 128), ("tp", "tensor=4", 0, 128),
                          ("dp_tp", "data=2,tensor=2", 0, 128)])

    def test_batches_and_types(self):
        run, = runs("--mesh data=2 --zero 2 --batch 3")
        self.assertEqual((run.batch, run.precision, run.strategy), (6, "bf16", "zero2"))
        run, = runs("--model lenet --mesh data=2 --global-batch 10")
        self.assertEqual((run.batch, run.precision, run.data_parts), (10, "f32", 2))
        run, = runs("--device cpu --mesh data=2")
        self.assertEqual(run.precision, "f32")

    def test_what_is_compiled(self):
        modes = [torch_modes.compile_mode(r) for r in runs("--strategy single,ddp,zero1,zero2,zero3,tp")]
        self.assertEqual(modes, ["whole"] * 3 + ["blocks"] * 3)
        run, = runs("--model gpt2-xl --strategy ddp")
        self.assertEqual(torch_modes.compile_mode(run), "blocks")
        overlapped, apart = runs("--strategy tp,tp_sync")
        self.assertTrue(torch_modes.is_overlapped(overlapped))
        self.assertFalse(torch_modes.is_overlapped(apart))

    def test_wrong_options_say_why(self):
        self.assert_refused("--mesh pipe=2", "no axis 'pipe'; known: replica, data, tensor")
        self.assert_refused("--mesh data=2,data=2", "occurs twice")
        self.assert_refused("--mesh data=x", "needs a size")
        self.assert_refused("--mesh data=8", "has 8 devices, but there are 4")
        self.assert_refused("--mesh tensor=2 --zero 3", "needs an axis data")
        self.assert_refused("--mesh data=2,replica=2 --zero 1", "--zero 3 only")
        self.assert_refused("--mesh data=2,tensor=2 --zero 1", "no ZeRO-1", with_zero1_tensor=False)
        self.assert_refused("--mesh data=2 --global-batch 3", "does not divide into 2")
        self.assert_refused("--mesh data=2 --batch 0", "at least one example")
        self.assert_refused("--mesh data=2 --strategy ddp", "exclude each other")
        self.assert_refused("--zero 2", "belongs to --mesh")
        self.assert_refused("--strategy hsdp", "at least 4 devices", available=2)
        self.assert_refused("--strategy all", "no strategy 'all'")
        self.assert_refused("--model alexnet", "no model 'alexnet'")
        self.assert_refused("--model resnet50 --strategy tp", "only gpt2")
        self.assert_refused("--model gpt2-xl --strategy tp", "25 heads; --heads may be 4, 8, 20")
        self.assert_refused("--mesh tensor=4 --vocabulary 50257", "does not divide the vocabulary")

    def test_report_compares_with_one_device(self):
        parser = mesh_options.make_parser("")
        mesh_options.add_options(parser)
        report, text = mesh_runs.Report(parser.parse_args([]), "peer"), io.StringIO()
        with contextlib.redirect_stdout(text):
            for run, ms, loss in zip(runs("--strategy single,ddp", available=2), (10, 12.5), (4.0, 4.004)):
                run.batch = 64
                figures = mesh_runs.figures(run, [ms, ms + 1, ms - 1], [5.0, loss])
                report.add({**mesh_runs.describe(run), **figures, "peak_GiB": 1, "reserved_GiB": 1})
            report.print_table()
        self.assertAlmostEqual(report.results[1]["of_linear"], 0.4)
        self.assertAlmostEqual(report.results[1]["loss_gap"], 1e-3)
        self.assertIn("40.0%", text.getvalue())

    def test_sinter_gets_the_same_work(self):
        run, = runs("--model gpt2-xl --heads 20 --strategy zero3 --batch 8", available=2)
        command = " ".join(compare_mesh.sinter_command("bench", run, 2))
        self.assertEqual(command, "bench --json --only gpt2 --device gpu:0 --seconds 2 --precision bf16 --gpt2-layers 48 "
                         "--gpt2-heads 20 --gpt2-width 1600 --gpt2-context 1024 --gpt2-vocabulary 50304 "
                         "--gpt2-batch 8 --mesh data=2 --zero 3")
        run, = runs("--model lenet --tf32 --strategy single")
        self.assertEqual(" ".join(compare_mesh.sinter_command("bench", run, 1)),
                         "bench --json --only lenet --device gpu:0 --seconds 1 --precision f32 --tf32")
        for options, words in (("--model lenet --batch 8", "256 images a device"),
                               ("--mesh tensor=2 --global-batch 3", "do not divide")):
            run, = runs(options)
            with self.assertRaisesRegex(ValueError, words):
                compare_mesh.sinter_command("bench", run, 1)

    def test_sinter_may_have_a_limit_of_memory(self):
        run, = runs("--model gpt2 --mesh tensor=2")
        self.assertEqual(compare_mesh.sinter_modes(run), {"": [], "rows": ["--rows"]})
        self.assertEqual(compare_mesh.sinter_modes(run, 1.5)["1.5 GiB"], ["--memory-limit", "1610612736"])

    def test_ratios_are_to_the_best_peer(self):
        def result(peer, mesh, devices, ms, memory):
            return {"workload": "gpt2", "strategy": "ddp" if devices > 1 else "single", "mesh": mesh, "devices": devices,
                    "peer": peer, "mode": "", "ms": ms, "min_ms": ms, "tokens_per_s": 1e3 * devices / ms,
                    "peak_GiB": memory}
        lines = compare_mesh.comparison([result("Sinter", "none", 1, 8, 2), result("Sinter", "data=2", 2, 10, 3),
                                         result("PyTorch", "data=2", 2, 20, 4), result("JAX", "data=2", 2, 40, 1)])
        rows = {tuple(line.split()[2:4]): line.split() for line in lines[1:-1]}
        self.assertEqual(rows["data=2", "Sinter"][-4:], ["80.0%", "3.000", "0.50", "0.75"])
        self.assertEqual(rows["data=2", "JAX"][-2:], ["2.00", "0.25"])
        self.assertEqual(rows["none", "Sinter"][-1], "2.000")

    def test_sinter_trains_on_meshes(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "results"
            done = subprocess.run(
                [PEERS / "compare_mesh.py", PROGRAM, "--tiny", "--device", "cpu", "--devices", "2", "--batch", "2",
                 "--strategy", "single,ddp,zero3,tp", "--peers", "none", "--seconds", "0.01", "--out", out],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            results = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(r["strategy"], r["mode"]) for r in results], [("single", ""), ("ddp", ""), ("zero3", ""), ("tp", ""), ("tp", "rows")])
        # The same batch: the order of sums alone differs.
        losses = [r["loss"] for r in results if r["devices"] == 2]
        self.assertLess(max(losses) - min(losses), 1e-5 * losses[0])

    def test_a_mesh_takes_its_devices_from_the_first(self):
        done = subprocess.run([PROGRAM, "--only", "gpt2", "--device", "cpu:0,cpu:1", "--mesh", "data=2"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--mesh takes the devices from that of --device on; name the first one", done.stderr)

    def test_wrong_options_of_the_comparison_say_why(self):
        for options, words in ((["--mesh", "data=x"], "needs a size"), (["--peers", "mxnet"], "no peer 'mxnet'"),
                               (["--json", "x"], "use --out")):
            done = subprocess.run([PEERS / "compare_mesh.py", PROGRAM, "--device", "cpu", *options],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
