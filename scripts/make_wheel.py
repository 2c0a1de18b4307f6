#!/usr/bin/env python3
"""Makes the Python wheels `sinter` and `sinter-compiler` from an installation of the preset portable.

    scripts/make_wheel.py PREFIX OUTPUT_FOLDER

Prints each wheel with its size. One wheel serves all Python 3 versions, for the package calls the libraries by
ctypes. A wheel contains the libraries that not every Linux system has, and renames them, so that the loader does
not take another package's library of the same name: libdnnl.so.2 becomes sn_dnnl.so.2. Names of the same length
need no change of the files but these bytes. libgomp keeps its name, so that a process has one pool of threads.
The platform tag names this machine's C library. Needs readelf (binutils).
"""
import base64
import hashlib
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Libraries of every Linux system, in the sense of Python's manylinux tags.
EVERYWHERE = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
              "ld-linux-x86-64.so.2"}
SUMMARY = {"sinter": "Runs and trains compiled models: plans of Sinter",
           "sinter-compiler": "The compiler of Sinter: makes plans from the text of programs"}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "--dynamic", "--wide", library))


def gomp():
    """Returns GCC's libgomp of this machine: it is no part of manylinux systems, and no installation has it."""
    return pathlib.Path(output_of("gcc", "-print-file-name=libgomp.so.1").strip()).resolve()


def closure(libraries, folders):
    """Maps the names of libraries, and of all that they need and not every system has, to their files."""
    found = {}
    waiting = list(libraries)
    while waiting:
        name = waiting.pop()
        if name in found or name in EVERYWHERE:
            continue
        file = gomp() if name == "libgomp.so.1" else next((f / name for f in folders if (f / name).exists()), None)
        if file is None:
            sys.exit(f"make_wheel: {name} is in none of {', '.join(map(str, folders))}: is the installation that of the preset portable?")
        found[name] = file
        waiting += needed(file)
    return found


def own_name(name):
    """Returns the name in a wheel, which has the same length."""
    return name if name.startswith("libsinter") or name == "libgomp.so.1" else re.sub("^lib", "sn_", name)


def renamed(data, names):
    """Returns a library's bytes with other names of libraries: its own, and those that it needs."""
    for name in names:
        data = data.replace(b"\0" + name.encode() + b"\0", b"\0" + own_name(name).encode() + b"\0")
    return data


def copy_libraries(found, left_out, to):
    """Copies the libraries to a folder, with names of their own; those `left_out` are in another wheel.

    They find each other, for the installed libsinter_c and libsinter_compiler_c search their own folder, also for
    what their libraries need.
    """
    for name in found.keys() - left_out.keys():
        copy = to / own_name(name)
        copy.write_bytes(renamed(found[name].read_bytes(), found))
        wrong = [other for other in needed(copy) if other in found and other != own_name(other)]
        if wrong:
            sys.exit(f"make_wheel: {name} still needs {', '.join(wrong)}, whose name is a part of another text")


def write_wheel(name, version, folder, output):
    """Zips a folder as a wheel: with its metadata, and the hash of each file."""
    package = name.replace("-", "_")
    tag = f"py3-none-manylinux_{platform.libc_ver()[1].replace('.', '_')}_x86_64"
    info = f"{package}-{version}.dist-info"
    requires = "" if name == "sinter" else f"Requires-Dist: sinter=={version}\n"
    files = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {SUMMARY[name]}\n"
                                 f"Requires-Python: >=3.8\n{requires}").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = output / f"{package}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # The same bytes at any time.
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {sum(map(len, files.values())) / 1e6:.1f} MB unpacked")


def main(prefix, output):
    library = next(pathlib.Path(prefix).resolve().glob("lib*/**/libsinter_c.so.1"), None)
    if library is None:
        sys.exit(f"make_wheel: no libsinter_c.so.1 under {prefix}")
    folder, output = library.parent, pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    version = re.search(r'PACKAGE_VERSION "([^"]+)"', next(folder.glob("cmake/Sinter/SinterConfigVersion.cmake")).read_text())[1]
    folders = [folder, folder / "sinter"]
    runtime = closure(["libsinter_c.so.1"], folders)
    for name, libraries, others in (("sinter", runtime, {}), ("sinter-compiler", closure(["libsinter_compiler_c.so.1"], folders), runtime)):
        with tempfile.TemporaryDirectory() as temporary:
            package = pathlib.Path(temporary, "sinter")
            (package / "lib").mkdir(parents=True)
            copy_libraries(libraries, others, package / "lib")
            if name == "sinter":
                for source in (ROOT / "tools/python/sinter").glob("*.py"):
                    shutil.copyfile(source, package / source.name)
            write_wheel(name, version, pathlib.Path(temporary), output)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
