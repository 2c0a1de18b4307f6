"""Checks the configurations of torch_mesh.py and jax_mesh.py. Needs neither PyTorch nor JAX."""
import contextlib
import io
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))

import mesh_models  # noqa: E402  (after the path)
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


if __name__ == "__main__":
    unittest.main()
