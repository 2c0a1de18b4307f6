"""Checks that documents show the programs of examples/ word for word; other tests build and run these programs."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = {"README.md": "examples/quickstart/quickstart.cc", "docs/user-kernels.md": "examples/user_kernel/user_kernel.cc",
         "docs/training.md": "examples/mnist/mnist_trainer.cc"}
SHOWN_IN_C_AND_PYTHON = {"c": "examples/c_interface/line.c", "python": "examples/python/line.py"}

wrong = [f"{document} does not show {program} as it is: copy it there, between ```cpp and ```."
         for document, program in SHOWN.items()
         if f"```cpp\n{(ROOT / program).read_text()}```" not in (ROOT / document).read_text()]
wrong += [f"docs/c-and-python.md does not show {program} as it is: copy it there, between ```{language} and ```."
          for language, program in SHOWN_IN_C_AND_PYTHON.items()
          if f"```{language}\n{(ROOT / program).read_text()}```" not in (ROOT / "docs/c-and-python.md").read_text()]
sys.exit("\n".join(wrong) or 0)
