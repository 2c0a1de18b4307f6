"""Makes the wheels of a portable installation and runs the package's tests from them, without any other library.

    wheel_test.py PREFIX FOLDER TESTS      TESTS holds runtime_test.py and compiler_test.py
"""
import base64
import csv
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 60_000_000  # Of the wheel without the compiler.


def unpack(wheel, to):
    """Unpacks a wheel as pip does, and checks the hash of each file."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(to)
        names = set(archive.namelist())
    record = next(pathlib.Path(to).glob(f"{wheel.name.split('-')[0]}-*.dist-info/RECORD"))
    rows = list(csv.reader(record.read_text().splitlines()))
    assert {row[0] for row in rows} == names, f"{wheel}: RECORD lists other files"
    for path, digest, size in rows:
        if path.endswith("/RECORD"):
            continue
        data = pathlib.Path(to, path).read_bytes()
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={found}", str(len(data))), f"{wheel}: {path} differs from RECORD"


def loaded_from_elsewhere(site):
    """Returns the libraries that the package has loaded from outside of it, of those that are not the system's."""
    program = ("import sinter; from sinter import library; library.compiler(); "
               "print(*sorted({l.split()[-1] for l in open('/proc/self/maps') if '.so' in l}), sep='\\n')")
    lines = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(site)}).stdout.splitlines()
    foreign = ("absl", "dnnl", "OpenCL", "gomp", "sinter", "re2", "png", "jpeg", "sentencepiece", "protobuf")
    return [line for line in lines if any(name in pathlib.Path(line).name for name in foreign) and not line.startswith(str(site))]


def main(prefix, folder, tests):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop("SINTER_LIBRARY_FOLDER", None)
    subprocess.run([sys.executable, ROOT / "scripts/make_wheel.py", prefix, folder / "wheels"], check=True)
    wheels = sorted((folder / "wheels").glob("*.whl"))
    assert len(wheels) == 2, wheels
    for wheel in wheels:
        unpack(wheel, folder / "site")
        if wheel.name.startswith("sinter-"):
            assert wheel.stat().st_size <= MOST_BYTES, f"{wheel} has {wheel.stat().st_size} bytes"
    elsewhere = loaded_from_elsewhere(folder / "site")
    assert not elsewhere, f"the package loads {elsewhere}"
    environment = {**os.environ, "PYTHONPATH": str(folder / "site"), "SINTER_GOLDEN_PLANS": str(ROOT / "tests/plans")}
    for test in ("runtime_test.py", "compiler_test.py"):
        subprocess.run([sys.executable, pathlib.Path(tests, test)], check=True, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
