"""Tests of the package without NumPy: plans, sessions, variables, checkpoints and errors.

Needs SINTER_LIBRARY_FOLDER, or an installed wheel, and the golden plan in SINTER_GOLDEN_PLANS.
"""
import array
import gc
import os
import pathlib
import tempfile
import threading
import unittest

import sinter
from sinter import capsules

PLANS = pathlib.Path(os.environ["SINTER_GOLDEN_PLANS"])
PLAN = PLANS / "v4/replica.plan"


def floats(*values):
    return array.array("f", values)


def f32(values, *shape):
    return memoryview(floats(*values)).cast("B").cast("f", shape)


def train_inputs():
    return {"x": f32([0.25 * (i % 7) for i in range(40)], 5, 8), "y": array.array("i", [0, 1, 2, 3, 4])}


class PlanTest(unittest.TestCase):

    def setUp(self):
        self.plan = sinter.load(PLAN)

    def test_describes_itself(self):
        self.assertEqual(self.plan.name, "replica")
        self.assertEqual(len(self.plan.hash), 64)
        self.assertEqual(self.plan.devices, ["cpu:0"])
        self.assertEqual(list(self.plan.functions), ["train", "predict"])
        self.assertEqual(self.plan.functions["train"].inputs,
                         (("x", "f32", (5, 8)), ("y", "i32", (5,)), ("lr", "f32", ())))
        self.assertEqual(self.plan.functions["train"].outputs, (("loss", "f32", ()), ("new_w", "f32", (8, 8))))
        self.assertEqual(self.plan.variables["w"], ("w", "f32", (8, 8), True))
        self.assertIn("predict", repr(self.plan))

    def test_comes_back_from_bytes_and_files(self):
        again = sinter.Plan.from_bytes(self.plan.to_bytes())
        self.assertEqual(again.hash, self.plan.hash)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "größe.plan")
            again.save(path)
            self.assertEqual(sinter.load(str(path)).hash, self.plan.hash)

    def test_wrong_files_are_errors_by_their_kind(self):
        with self.assertRaisesRegex(sinter.NotFound, "none.plan") as caught:
            sinter.load("none.plan")
        self.assertIsInstance(caught.exception, KeyError)
        self.assertEqual((caught.exception.code, caught.exception.name), (5, "NOT_FOUND"))
        with self.assertRaises(ValueError):
            sinter.Plan.from_bytes(b"no plan " * 20)
        data = bytearray(self.plan.to_bytes())
        data[len(data) // 2] ^= 1
        with self.assertRaises(sinter.DataLoss):
            sinter.Plan.from_bytes(data)
        with self.assertRaisesRegex(ValueError, "zero character"):
            sinter.load("a\0b")

    def test_options_of_sessions_are_checked(self):
        with self.assertRaisesRegex(TypeError, "no option 'thread'.*threads"):
            self.plan.session(thread=2)
        with self.assertRaisesRegex(sinter.FailedPrecondition, "hash"):
            self.plan.session(expected_hash="0" * 64)
        with self.assertRaises(MemoryError):
            self.plan.session(memory_limit=1)
        self.assertGreater(self.plan.session(expected_hash=self.plan.hash).memory(), 0)


class SessionTest(unittest.TestCase):

    def setUp(self):
        self.session = sinter.load(PLAN).session(threads=1)

    def test_a_bound_function_keeps_its_inputs_and_trains(self):
        train = self.session.bind("train")
        train.set(train_inputs(), lr=0.5)
        gc.collect()
        losses = [train.run()["loss"].item() for _ in range(20)]
        self.assertLess(losses[-1], losses[0])
        self.session.reset()
        self.assertEqual(train.run()["loss"].item(), losses[0])
        self.assertEqual(train.run(lr=0)["loss"].item(), losses[1])

    def test_one_run_equals_a_bound_one(self):
        loss = self.session.run("train", train_inputs(), lr=0.5)["loss"]
        self.session.reset()
        bound = self.session.bind("train").run(train_inputs(), lr=0.5)["loss"]
        self.assertEqual((loss.item(), loss.shape, loss.dtype), (bound.item(), (), "f32"))

    def test_results_are_copies_and_views_change(self):
        train = self.session.bind("train")
        first = train.run(train_inputs(), lr=0.5)
        kept, view = first["new_w"], first.view("new_w")
        before = kept.tolist()
        self.assertTrue(view.read_only)
        self.assertEqual(view.tolist(), before)
        second = train.run()
        self.assertEqual(kept.tolist(), before)
        self.assertEqual(view.tolist(), second["new_w"].tolist())
        self.assertEqual(first["new_w"].tolist(), before)
        with self.assertRaisesRegex(sinter.FailedPrecondition, "'loss' was not read before the session's next run"):
            _ = first["loss"]
        self.assertEqual(list(second), ["loss", "new_w"])
        with self.assertRaisesRegex(KeyError, "no output 'los': it has loss, new_w"):
            _ = second["los"]
        self.assertEqual(view.memoryview().readonly, True)
        self.assertEqual(kept.memoryview().readonly, False)

    def test_results_outlive_their_session(self):
        view = self.session.run("train", train_inputs(), lr=0.5).view("new_w")
        values = view.tolist()
        self.session = None
        gc.collect()
        self.assertEqual(view.tolist(), values)

    def test_variables_are_a_mapping(self):
        variables = self.session.variables
        self.assertEqual(sorted(variables), ["b", "w"])
        self.assertEqual(len(variables), 2)
        view = variables.view("b")
        variables["b"] = floats(*range(8))
        self.assertEqual(variables["b"].tolist(), [float(i) for i in range(8)])
        self.assertEqual(view.tolist(), variables["b"].tolist())
        with self.assertRaisesRegex(KeyError, "bias"):
            _ = variables["bias"]
        with self.assertRaisesRegex(ValueError, r"f32\[8\]"):
            variables["b"] = floats(1, 2)
        with self.assertRaises(TypeError):
            del variables["b"]

    def test_checkpoints_hold_variables_and_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.safetensors")
            self.session.run("train", train_inputs(), lr=0.5)
            saved = self.session.variables["w"].tolist()
            self.session.save(path, {"epoch": "3", "author": "Müller"})
            self.session.reset()
            self.assertEqual(self.session.load(path, only=["b"]), {"author": "Müller", "epoch": "3"})
            self.assertNotEqual(self.session.variables["w"].tolist(), saved)
            self.session.load(path)
            self.assertEqual(self.session.variables["w"].tolist(), saved)
            with self.assertRaisesRegex(ValueError, "v"):
                self.session.load(path, only=["v*"])
            path.write_bytes(path.read_bytes()[:-1])
            with self.assertRaises(sinter.DataLoss):
                self.session.load(path)

    def test_wrong_inputs_say_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, r'input "x" is f32\[5,8\], and f32\[2\] is given'):
            self.session.run("predict", x=floats(1, 2))
        with self.assertRaisesRegex(ValueError, "x"):
            self.session.run("predict")
        with self.assertRaisesRegex(KeyError, "train, predict"):
            self.session.bind("trian")
        train = self.session.bind("train")
        with self.assertRaisesRegex(KeyError, "rate"):
            train.set(rate=1)
        with self.assertRaisesRegex(ValueError, "a list is no array"):
            train.set(x=[1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "does not fit 64 bits"):
            train.set(lr=2**64)
        with self.assertRaisesRegex(ValueError, "no element type is like the buffer's format 'd'|f64"):
            train.set(x=array.array("d", [1.0]))
        with self.assertRaises(KeyError):
            self.session.read_log("loss")

    def test_sessions_share_variables_between_threads(self):
        other = self.session.share(threads=1)
        with self.assertRaises(sinter.FailedPrecondition):
            other.run("train", train_inputs(), lr=0.5)
        x = train_inputs()["x"]
        found = []
        thread = threading.Thread(target=lambda: found.append(other.run("predict", x=x)["p"].tolist()))
        thread.start()
        thread.join()
        self.assertEqual(found, [self.session.run("predict", x=x)["p"].tolist()])
        self.session.synchronize()


class ArrayTest(unittest.TestCase):

    def test_takes_buffers_without_a_copy(self):
        values = floats(1, 2, 3)
        taken = sinter.array(values)
        self.assertEqual((taken.shape, taken.dtype, taken.size, taken.nbytes, len(taken)), ((3,), "f32", 3, 12, 3))
        values[0] = 9
        self.assertEqual(taken.tolist(), [9, 2, 3])
        with self.assertRaises(BufferError):  # The array holds the buffer.
            values.append(4)
        del taken
        gc.collect()
        values.append(4)
        self.assertEqual(sinter.array(b"\1\2").tolist(), [1, 2])
        self.assertEqual(sinter.array(f32(range(6), 2, 3)).tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_refuses_what_is_no_dense_array(self):
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            sinter.array(memoryview(floats(1, 2, 3))[::2])
        with self.assertRaisesRegex(ValueError, "format 'c'"):
            sinter.array(memoryview(b"ab").cast("c"))
        with self.assertRaisesRegex(ValueError, "not aligned"):
            sinter.array(memoryview(bytearray(9))[1:9].cast("f"))
        with self.assertRaisesRegex(ValueError, "neither __dlpack__ nor a buffer"):
            sinter.array("text")

    def test_has_numbers_of_every_type(self):
        for dtype in ("f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u8", "i1", "i16", "u16", "u32", "u64"):
            made = sinter.empty((2, 2), dtype)
            memory = made.memoryview()
            memory[:] = bytes(len(memory))
            self.assertEqual(made.tolist(), [[0, 0], [0, 0]], dtype)
        made = sinter.empty((), "bf16")
        made.memoryview()[:] = b"\xc0\x3f"
        self.assertEqual((made.item(), made.tolist(), float(made), made.ndim), (1.5, 1.5, 1.5, 0))
        self.assertEqual(sinter.empty((2, 0)).tolist(), [[], []])
        self.assertEqual(sinter.empty((0, 2)).tolist(), [])
        with self.assertRaisesRegex(ValueError, "2 elements, not one"):
            sinter.empty((2,)).item()
        with self.assertRaisesRegex(NotImplementedError, "f8e4m3"):
            sinter.empty((2,), "f8e4m3").tolist()
        with self.assertRaisesRegex(ValueError, "no element type 'f33'"):
            sinter.empty((2,), "f33")
        with self.assertRaisesRegex(ValueError, "-1"):
            sinter.empty((-1,))

    def test_passes_through_capsules(self):
        values = sinter.empty((2, 2))
        values.memoryview()[:] = bytes(range(16))
        for capsule in (values.__dlpack__(), values.__dlpack__(max_version=(1, 0)), values.__dlpack__(copy=True)):
            taken = sinter.array(Lender(capsule))
            self.assertEqual(bytes(taken.memoryview()), bytes(range(16)))
            with self.assertRaisesRegex(ValueError, "taken already"):
                sinter.array(Lender(capsule))
        unused = values.__dlpack__()
        self.assertEqual(capsules.unused(), 1)
        del unused
        self.assertEqual(capsules.unused(), 0)  # Freed, for nobody can take it any more.

    def test_a_buffer_that_was_taken_is_given_as_a_copy(self):
        values = floats(1, 2)
        taken = sinter.array(values)
        given = sinter.array(Lender(taken.__dlpack__(max_version=(1, 1))))
        values[0] = 9
        self.assertEqual((taken.tolist(), given.tolist()), ([9, 2], [1, 2]))
        with self.assertRaisesRegex(BufferError, "leave `copy` out"):
            taken.__dlpack__(copy=False)

    def test_refuses_other_devices_and_streams(self):
        values = sinter.empty((2,))
        self.assertEqual(values.__dlpack_device__(), (1, 0))
        with self.assertRaisesRegex(BufferError, "stream"):
            values.__dlpack__(stream=1)
        with self.assertRaisesRegex(BufferError, "main memory"):
            values.__dlpack__(dl_device=(2, 0))
        with self.assertRaisesRegex(NotImplementedError, r"device \(2, 1\).*\.cpu\(\)"):
            sinter.array(Lender(None, (2, 1)))


class Lender:
    """Has a capsule of another array."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **unused):
        return self.capsule


class MachineTest(unittest.TestCase):

    def test_lists_the_devices(self):
        devices = sinter.devices()
        self.assertEqual(devices[0].device, "cpu:0")
        self.assertEqual(len(devices), 1 + sinter.num_gpus())
        self.assertGreater(devices[0].total_bytes, 0)
        self.assertEqual(sinter.__version__, sinter.release())


if __name__ == "__main__":
    unittest.main()
