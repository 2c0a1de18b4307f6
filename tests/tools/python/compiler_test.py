"""Tests of compilation from Python: plans from text, their reports, and errors with the text's lines."""
import array
import os
import unittest

import sinter

PROGRAM = """
func.func @scale(%x: tensor<4xf32> {sinter.input = "x"}, %k: tensor<f32> {sinter.input = "k"})
    -> (tensor<4xf32> {sinter.output = "y"}) {
  %0 = sinter.broadcast %k [] : tensor<f32> -> tensor<4xf32>
  %1 = sinter.mul %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


class CompilerTest(unittest.TestCase):

    def test_a_program_runs(self):
        plan = sinter.compile(PROGRAM, name="models/scale.mlir", target_cpus=["x86-64-v3", "x86-64-v4"])
        self.assertEqual(plan.name, "scale")
        y = plan.session(threads=1).run("scale", x=array.array("f", [1, 2, 3, 4]), k=2)["y"]
        self.assertEqual(y.tolist(), [2, 4, 6, 8])

    def test_whole_numbers_of_64_bits_are_exact(self):
        plan = sinter.compile("""
func.func @next(%n: tensor<i64> {sinter.input = "n"}) -> (tensor<i64> {sinter.output = "n"}) {
  %0 = sinter.add %n, %n : tensor<i64>
  return %0 : tensor<i64>
}
""")
        session = plan.session(threads=1)
        for number in (1, -1, 2**53, 2**61 + 1, -(2**62)):
            self.assertEqual(session.run("next", n=number)["n"].item(), 2 * number)
            self.assertEqual(session.bind("next").run(n=number)["n"].item(), 2 * number)
        with self.assertRaisesRegex(ValueError, "does not fit 64 bits"):
            session.run("next", n=2**63)

    def test_the_same_text_gives_the_same_plan(self):
        same = [sinter.compile(PROGRAM, target_cpus="x86-64-v3", threads=threads).hash for threads in (1, 2)]
        self.assertEqual(same[0], same[1])

    def test_reports_say_what_was_decided(self):
        report = sinter.Report()
        with self.assertRaisesRegex(ValueError, "the report is empty"):
            report.text()
        sinter.compile(PROGRAM, report=report)
        self.assertIn("ms", report.text("times"))
        self.assertIn(report.text("fusion"), report.text("all"))
        with self.assertRaisesRegex(KeyError, "fusion, kernels, memory, times"):
            report.text("speed")

    def test_mistakes_are_errors_with_their_line(self):
        with self.assertRaisesRegex(ValueError, "bad.mlir:5"):
            sinter.compile(PROGRAM.replace("sinter.mul", "sinter.mull"), name="bad.mlir")
        with self.assertRaisesRegex(ValueError, "tpu"):
            sinter.compile(PROGRAM, device="tpu:0")
        with self.assertRaisesRegex(ValueError, "no-such-cpu"):
            sinter.compile(PROGRAM, target_cpus="no-such-cpu")
        with self.assertRaisesRegex(ValueError, "threads is -1"):
            sinter.compile(PROGRAM, threads=-1)

    def test_plans_for_devices_that_are_not_here(self):
        plan = sinter.compile(PROGRAM, device="cpu:1")
        self.assertEqual(plan.devices, ["cpu:1"])
        os.environ.pop("SINTER_CPU_DEVICES", None)
        with self.assertRaisesRegex(sinter.FailedPrecondition, "SINTER_CPU_DEVICES"):
            plan.session()


if __name__ == "__main__":
    unittest.main()
