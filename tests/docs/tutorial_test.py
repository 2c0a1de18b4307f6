"""Checks the tutorial: its C++ is that of examples/tutorial, and its commands run in their order with the results that it describes.

usage: tutorial_test.py FOLDER_OF_BUILD
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/tutorial").glob("[1-9]-*.md"))
PROGRAMS = [path.read_text() for path in sorted((ROOT / "examples/tutorial").glob("*.cc"))]
# What the output of a command has, by a part of the command.
EXPECTED = {
    "tutorial_points": r"",
    "head -3": r"^x,y,arm\n(-?[0-9.e-]+,-?[0-9.e-]+,(red|blue)\n){2}$",
    "tutorial_train": r"with 1600 points\n(?s:.*)\n60 .*\b(1|0\.9[5-9]\d*) *\n$",
    "sinter check": r"spirals\.plan: runs here",
    "sinter inspect": r"function serve(?s:.*)train\.cc:\d+ 0 Linear\(64\), train\.cc:\d+ 1 Relu(?s:.*)Softmax",
    "sinter profile": r"function train of plan spirals",
    "sinter report": r"^$",
    "tutorial_serve": r"^0\.5 0\.1 blue 0\.\d+\n-0\.5 -0\.1 red 0\.\d+\n0\.1 0\.8 red (0\.9\d+|1)\n$",
}


def fail(message):
    sys.exit(f"the tutorial: {message}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = []
    for page in PAGES:
        text = page.read_text()
        for block in re.findall(r"```cpp\n(.*?)```", text, re.DOTALL):
            if not any(block in program for program in PROGRAMS):
                fail(f"{page.name} shows what no program of examples/tutorial has:\n{block}")
        commands += re.findall(r"^    ((?:head|echo|build/release/)[^\n]*)$", text, re.MULTILINE)
    unknown = [c for c in commands if sum(part in c for part in EXPECTED) != 1]
    missing = [part for part in EXPECTED if not any(part in c for c in commands)]
    if len(PAGES) != 5 or unknown or missing:
        fail(f"{len(PAGES)} pages; commands that this test does not know: {unknown}; commands that no page has: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            done = subprocess.run(command.replace("build/release/", f"{build}/"), shell=True, cwd=folder, capture_output=True,
                                  text=True, check=False)
            expected = next(pattern for part, pattern in EXPECTED.items() if part in command)
            if done.returncode != 0 or not re.search(expected, done.stdout):
                fail(f"{command}\nends with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
