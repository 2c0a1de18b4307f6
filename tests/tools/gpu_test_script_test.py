"""Tests scripts/gpu_test.sh, and that a build's gpu_tests.txt names the program of every test with the label gpu.

The tests cover the programs that the script runs from a copied folder, its messages for missing ones, and its use of
compute-sanitizer.

  gpu_test_script_test.py GPU_TEST_SH BUILD_FOLDER CTEST
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then
  echo 'Families/OpTest.'
  echo '  AgreesWithTheReference/shape  # GetParam() = x'
  echo '  AgreesWithTheReference/attention  # GetParam() = x'
  exit 0
fi
echo "ran $(basename $0) [$SINTER_TEST_DEVICE] $*"
exit {code}
"""
SANITIZER = """#!/bin/sh
echo "sanitized by $*"
{more}
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(script, *arguments, path=None):
    environment = dict(os.environ, SINTER_CUDA_LIBRARY_PATH="none")
    environment.pop("SINTER_TEST_DEVICE", None)
    if path is not None:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    done = subprocess.run([script, *arguments], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


def expect(condition, what, output):
    if not condition:
        sys.exit(f"expected {what}:\n{output}")


def carried(script):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, output = run(script, name)
        expect(code == 1 and "has no gpu_tests.txt: bring it too" in output, "the list to be asked for", output)
        (folder / "gpu_tests.txt").write_text("a_test|tests/x/a_test|||\n"
                                              "gpu.b_test|tests/y/b_test|SINTER_TEST_DEVICE=gpu:0|--gtest_filter=B.*|\n"
                                              "c_test|tests/z/c_test|||\n")
        code, output = run(script, name)
        expect(code == 1 and "holds none of the programs" in output, "an error without programs", output)
        program(folder / "tests/x/a_test", PROGRAM.format(code=0))
        program(folder / "b_test", PROGRAM.format(code=0))
        code, output = run(script, name, "--gtest_shuffle")
        for line in ("ran a_test [] --gtest_brief=0 --gtest_shuffle\n",
                     "ran b_test [gpu:0] --gtest_filter=B.* --gtest_brief=0 --gtest_shuffle\n", "not there: c_test\n",
                     "2 passed, 0 failed\n"):
            expect(code == 0 and line in output, line, output)
        code, output = run(script, "--list", name)
        expect(code == 0 and "ran " not in output and "2 to run" in output, "a list", output)
        program(folder / "tests/z/c_test", PROGRAM.format(code=1))
        code, output = run(script, name)
        expect(code == 1 and "c_test failed" in output and "2 passed, 1 failed" in output, "a failure", output)


def sanitized(script):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program(folder / "op_test", PROGRAM.format(code=0))
        tools = folder / "bin"
        program(tools / "compute-sanitizer", SANITIZER.format(more=""))
        code, output = run(script, "--sanitize", "60", name, path=tools)
        expect(code == 0 and "3 passed, 0 failed, no time for 0" in output, "three runs", output)
        for tool, family, is_run in (("memcheck", "shape", True), ("racecheck", "shape", True),
                                     ("memcheck", "attention", True), ("racecheck", "attention", False)):
            has_run = f"== {tool}: AgreesWithTheReference/{family}\n" in output
            expect(has_run == is_run, f"{tool} of {family}: {is_run}", output)
        program(tools / "compute-sanitizer", SANITIZER.format(more="exit 99"))
        code, output = run(script, "--sanitize", "60", name, path=tools)
        expect(code == 1 and "0 passed, 3 failed" in output, "errors that are found", output)
        program(tools / "compute-sanitizer", SANITIZER.format(more='case "$*" in *shape*) ;; *) exec sleep 30 ;; esac'))
        code, output = run(script, "--sanitize", "2", name, path=tools)
        expect(code == 0 and "2 passed, 0 failed, no time for 1" in output and
               "AgreesWithTheReference/attention with memcheck" in output, "what there was no time for", output)


def labels(build, ctest):
    listed = {}
    for line in (pathlib.Path(build) / "gpu_tests.txt").read_text().splitlines():
        name, path = line.split("|")[:2]
        listed[str(pathlib.Path(build) / path)] = name
    shown = subprocess.run([ctest, "--show-only=json-v1", "-L", "^gpu$"], cwd=build, text=True,
                           stdout=subprocess.PIPE, check=True)
    programs = {test["command"][0] for test in json.loads(shown.stdout)["tests"] if "command" in test}
    expect(programs, "tests with the label gpu", shown.stdout[:1000])
    expect(programs <= set(listed), "each of them in gpu_tests.txt", "\n".join(sorted(programs - set(listed))))


def main():
    script, build, ctest = sys.argv[1:]
    carried(script)
    sanitized(script)
    labels(build, ctest)


if __name__ == "__main__":
    main()
