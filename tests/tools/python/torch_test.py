"""Tests of the package with PyTorch as judge: tensors both ways, and training that agrees step by step."""
import gc
import os
import pathlib
import sys
import unittest

import sinter

try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no PyTorch; configure with -D Python3_EXECUTABLE=<a Python with torch>")
    sys.exit(0)

PLANS = pathlib.Path(os.environ["SINTER_GOLDEN_PLANS"])
TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
         "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "i1": torch.bool}


class TensorTest(unittest.TestCase):

    def test_every_type_goes_both_ways_without_a_copy(self):
        for dtype, kind in TYPES.items():
            values = torch.arange(12).reshape(3, 4).to(kind)
            taken = sinter.array(values)
            self.assertEqual((taken.dtype, taken.shape), (dtype, (3, 4)))
            back = torch.from_dlpack(taken)
            self.assertEqual((back.data_ptr(), back.dtype), (values.data_ptr(), kind))
            self.assertTrue(torch.equal(back, values))

    def test_memory_lives_as_long_as_one_of_its_users(self):
        taken = sinter.array(torch.arange(1000, dtype=torch.float32))
        gc.collect()
        _ = [torch.zeros(1000) for _ in range(10)]
        self.assertEqual(taken.tolist()[999], 999)
        back = torch.from_dlpack(sinter.array(torch.full((1000,), 7.0)))
        gc.collect()
        _ = [torch.zeros(1000) for _ in range(10)]
        self.assertEqual(back.min().item(), 7)

    def test_refuses_strides_and_tensors_with_gradients(self):
        with self.assertRaisesRegex(ValueError, "contiguous"):
            sinter.array(torch.zeros(4, 4).T)
        with self.assertRaisesRegex((BufferError, RuntimeError), "gradient|detach"):
            sinter.array(torch.zeros(4, requires_grad=True))


class TrainingTest(unittest.TestCase):
    """The golden program trains a linear layer with gelu and cross entropy by gradient descent."""

    def test_agrees_with_pytorch_for_twenty_steps(self):
        session = sinter.load(PLANS / "v4/replica.plan").session(threads=1)
        w = torch.from_dlpack(session.variables["w"]).clone().requires_grad_()
        b = torch.from_dlpack(session.variables["b"]).clone().requires_grad_()
        torch.manual_seed(1)
        x, y = torch.randn(5, 8), torch.tensor([0, 3, 7, 1, 2], dtype=torch.int32)
        train = session.bind("train")
        train.set(x=x, y=y, lr=0.1)
        for step in range(20):
            out = torch.nn.functional.gelu(x @ w + b, approximate="tanh")
            loss = torch.nn.functional.cross_entropy(out, y.long())
            gradients = torch.autograd.grad(loss, (w, b))
            with torch.no_grad():
                w -= 0.1 * gradients[0]
                b -= 0.1 * gradients[1]
            found = train.run()
            self.assertLess(abs(found["loss"].item() - loss.item()), 1e-5, step)
        torch.testing.assert_close(torch.from_dlpack(session.variables["w"]), w.detach(), rtol=0, atol=1e-5)
        torch.testing.assert_close(torch.from_dlpack(session.variables["b"]), b.detach(), rtol=0, atol=1e-5)

    def test_weights_of_pytorch_are_written(self):
        session = sinter.load(PLANS / "v4/replica.plan").session(threads=1)
        w, x = torch.randn(8, 8), torch.randn(5, 8)
        session.variables["w"] = w
        found = torch.from_dlpack(session.run("predict", x=x)["p"])
        expected = torch.softmax((x.bfloat16() @ w.bfloat16()).float(), dim=1)
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-2)


if __name__ == "__main__":
    print("PyTorch", torch.__version__)
    unittest.main()
