"""Checks that an installed Sinter exports only names of namespace sinter, or sn_ in C, and no compiler in the runtime.

    check_symbols.py NM PREFIX
"""
import pathlib
import subprocess
import sys


def symbols(nm, library, *options):
    lines = subprocess.run([nm, "--dynamic", *options, library], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1].split("@")[0] for line in lines.splitlines()]


def main(nm, prefix):
    libraries = {path.name: path for path in pathlib.Path(prefix).glob("lib/**/libsinter*.so")}
    problems = []
    for name in ("libsinter.so", "libsinter_runtime.so"):
        if name not in libraries:
            sys.exit(f"{name} is not installed under {prefix}")
        shown = symbols(nm, libraries[name], "--defined-only")
        if not any("Session" in symbol for symbol in shown):
            problems.append(f"{name} does not show sinter::Session")
        problems += [f"{name} shows {symbol}" for symbol in shown if "6sinter" not in symbol]
    for name in ("libsinter_c.so", "libsinter_compiler_c.so"):
        shown = [symbol for symbol in symbols(nm, libraries[name], "--defined-only") if not symbol.startswith("SINTER_")]
        problems += [f"{name} shows {symbol}" for symbol in shown if not symbol.startswith("sn_")]
    runtime = libraries["libsinter_runtime.so"]
    needed = symbols(nm, runtime, "--undefined-only")
    problems += [f"the runtime needs {symbol}" for symbol in needed if "llvm" in symbol.lower() or "mlir" in symbol.lower()]
    size = runtime.stat().st_size
    print(f"libsinter_runtime.so: {size} bytes")
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
