"""Checks that a portable Sinter needs only the C library, GCC's libraries and zlib; it installs all others.

    check_portable.py PREFIX PROGRAM     PROGRAM squares four numbers; the test runs it with the libraries under PREFIX
"""
import os
import pathlib
import subprocess
import sys

EVERYWHERE = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
              "libgomp.so.1", "libz.so.1"}


def loaded(file):
    """Maps each library that the file needs, directly or indirectly, to the path where the loader finds it."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    lines = subprocess.run(["ldd", file], check=True, capture_output=True, text=True, env=environment).stdout
    found = [line.split(" => ") for line in lines.splitlines() if " => " in line]
    return {name.strip(): place.split(" (")[0] for name, place in found}


def main(prefix, program):
    prefix = pathlib.Path(prefix).resolve()
    library = next(prefix.glob("lib*/**/libsinter.so"), None)
    if library is None:
        sys.exit(f"libsinter.so is not installed under {prefix}")
    others = ("libsinter_runtime.so", "libsinter_c.so", "libsinter_compiler_c.so")
    files = [library, *map(library.with_name, others), *(prefix / "bin").iterdir()]
    problems = [f"{file.name} needs {name}, found in {place}"
                for file in files for name, place in loaded(file).items()
                if name not in EVERYWHERE and not pathlib.Path(place).is_relative_to(prefix)]
    for problem in problems:
        print(problem)
    ran = subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)}, check=False)
    if ran.returncode != 0:
        problems.append(program)
        print(f"{program} ended with {ran.returncode}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
