"""Installs the same files as the preset portable, without compiling.

Only the linking differs: the script links the object files of an existing build as a build with SINTER_PORTABLE does.

    install_portable.py NINJA CMAKE BUILD PORTABLE_BUILD PREFIX
"""
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARIES = ("libsinter.so", "libsinter_runtime.so", "libsinter_c.so", "libsinter_compiler_c.so")
# Only a build with SINTER_PORTABLE has this library.
FOREIGN_TARGETS = "libsinter_foreign_targets.a"


def main(ninja, cmake, build, portable, prefix):
    run = lambda command, folder=portable: subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run([ninja, FOREIGN_TARGETS])
    installed = pathlib.Path(portable, "cmake_install.cmake").read_text()
    tools = tuple(sorted(set(re.findall(f'"{re.escape(portable)}/(tools/[a-z-]+)"', installed))))
    assert "tools/sinter" in tools, f"the installation has the tools {tools}"
    for name in LIBRARIES + tools:
        lines = subprocess.run([ninja, "-t", "commands", name], cwd=portable, check=True, capture_output=True,
                               text=True).stdout.splitlines()
        links = [line for line in lines if f" -o {name}" in line]
        assert len(links) == 1, f"{name} is linked by {links}"
        pathlib.Path(portable, name).parent.mkdir(exist_ok=True)
        command = links[0].replace(f" -o {name}", f" -o {portable}/{name}")
        command = command.replace(f" {FOREIGN_TARGETS}", f" {portable}/{FOREIGN_TARGETS}")
        run(["sh", "-c", command], build)
        if name in LIBRARIES:
            run(["sh", "-c", lines[-1]])  # Makes its links, such as libsinter.so.
    shutil.rmtree(prefix, ignore_errors=True)
    run([cmake, "--install", portable, "--prefix", prefix])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
