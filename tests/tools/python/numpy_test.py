"""Tests of the package with NumPy: the same bits as the golden results, and memory without copies."""
import gc
import os
import pathlib
import sys
import unittest
import weakref

import sinter

try:
    import numpy
except ImportError:
    print(f"skipped: {sys.executable} has no NumPy (package python3-numpy)")
    sys.exit(0)

PLANS = pathlib.Path(os.environ["SINTER_GOLDEN_PLANS"])
TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
         "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "i1": "bool"}


def address(values):
    return values.__array_interface__["data"][0]


class GoldenTest(unittest.TestCase):

    def check(self, name, function):
        plan = sinter.load(PLANS / f"{name}.plan")
        given, expected = (numpy.load(PLANS / f"{name}.{function}.{end}.npz") for end in ("in", "out"))
        results = plan.session(threads=1).run(function, {info.name: given[info.name] for info in plan.functions[function].inputs})
        self.assertEqual(sorted(results), sorted(expected.files))
        for output in results:
            numpy.testing.assert_array_equal(results[output].numpy(), expected[output])
            self.assertEqual(results[output].numpy().dtype, expected[output].dtype)

    def test_runs_have_the_golden_bits(self):
        self.check("v4/replica", "train")
        self.check("v4/replica", "predict")
        self.check("v9/integers", "product")
        self.check("v9/integers", "odd")


class MemoryTest(unittest.TestCase):

    def test_every_type_goes_both_ways_without_a_copy(self):
        for dtype, name in TYPES.items():
            values = numpy.arange(12).reshape(3, 4).astype(name)
            taken = sinter.array(values)
            self.assertEqual((taken.dtype, taken.shape, taken.was_copied), (dtype, (3, 4), False))
            self.assertEqual(address(taken), address(values))
            back = numpy.asarray(taken)
            self.assertEqual((address(back), back.dtype.name), (address(values), name))
            numpy.testing.assert_array_equal(back, values)
            self.assertEqual(taken.tolist(), values.tolist())
            if dtype != "i1" or not numpy.__version__.startswith("1."):  # NumPy 1 has no booleans in DLPack.
                again = numpy.from_dlpack(sinter.array(values.copy()))
                numpy.testing.assert_array_equal(again, values)

    def test_memory_lives_as_long_as_one_of_its_users(self):
        values = numpy.arange(4, dtype="float32")
        died = weakref.ref(values)
        taken = sinter.array(values)
        del values
        gc.collect()
        self.assertEqual(taken.tolist(), [0, 1, 2, 3])
        self.assertIsNotNone(died())
        del taken
        gc.collect()
        self.assertIsNone(died())
        view = numpy.asarray(sinter.array(numpy.arange(4, dtype="float32") + 1))
        gc.collect()
        self.assertEqual(view.tolist(), [1, 2, 3, 4])

    def test_read_only_arrays_go_in_and_views_come_out_read_only(self):
        values = numpy.arange(8, dtype="float32")
        values.flags.writeable = False
        session = sinter.load(PLANS / "v4/replica.plan").session(threads=1)
        session.variables["b"] = values
        numpy.testing.assert_array_equal(session.variables["b"], values)
        view = numpy.asarray(session.variables.view("b"))
        self.assertFalse(view.flags.writeable)
        self.assertTrue(numpy.asarray(session.variables["b"]).flags.writeable)

    def test_refuses_strides_other_bytes_and_other_types(self):
        with self.assertRaisesRegex(ValueError, "contiguous"):
            sinter.array(numpy.zeros((4, 4), "float32").T[1:])
        with self.assertRaisesRegex(ValueError, "'>f'"):
            sinter.array(numpy.zeros(4, ">f4"))
        with self.assertRaises(ValueError):
            sinter.array(numpy.zeros(4, "complex64"))
        with self.assertRaises(ValueError):
            sinter.array(numpy.array(["text"]))

    def test_copies_memory_that_is_not_aligned(self):
        values = numpy.frombuffer(bytearray(range(17)), dtype="float32", count=4, offset=1)
        taken = sinter.array(values)
        self.assertTrue(taken.was_copied)
        numpy.testing.assert_array_equal(numpy.asarray(taken), values)

    def test_scalars_are_numbers(self):
        train = sinter.load(PLANS / "v4/replica.plan").session(threads=1).bind("train")
        inputs = {"x": numpy.ones((5, 8), "float32"), "y": numpy.arange(5, dtype="int32")}
        for rate in (numpy.float32(0.5), numpy.float64(0.5), numpy.int64(1), numpy.array(0.5, "float32"), 1):
            self.assertTrue(numpy.isfinite(float(train.run(inputs, lr=rate)["loss"])))

    def test_types_of_ml_dtypes(self):
        values = sinter.empty((2, 2), "bf16")
        values.memoryview()[:] = b"\xc0\x3f" * 4
        try:
            import ml_dtypes
        except ImportError:
            with self.assertRaisesRegex(NotImplementedError, "ml_dtypes"):
                values.numpy()
            with self.assertRaisesRegex(NotImplementedError, "ml_dtypes"):
                _ = values.__array_interface__
            return
        found = values.numpy()
        self.assertEqual(found.dtype, ml_dtypes.bfloat16)
        self.assertEqual(found.tolist(), [[1.5, 1.5], [1.5, 1.5]])
        self.assertEqual(sinter.array(found).dtype, "bf16")


if __name__ == "__main__":
    print("NumPy", numpy.__version__)
    unittest.main()
