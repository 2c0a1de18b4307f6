"""README.md shows examples/quickstart/quickstart.cc, which is built and run, word for word."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
program = (root / "examples/quickstart/quickstart.cc").read_text()
if f"```cpp\n{program}```" not in (root / "README.md").read_text():
    sys.exit("README.md does not show examples/quickstart/quickstart.cc as it is: copy it there, between ```cpp and ```.")
