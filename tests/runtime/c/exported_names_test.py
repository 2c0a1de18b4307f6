"""Checks that a library of the C interface shows the functions of its header, and that none was removed.

    exported_names_test.py NM LIBRARY HEADER NAMES

NAMES lists each name with its version, sorted. A new function is added to the list; no line of it ever goes.
"""
import pathlib
import re
import subprocess
import sys


def main(nm, library, header, names):
    lines = subprocess.run([nm, "--dynamic", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shown = sorted(line.split()[-1].replace("@@", "@") for line in lines.splitlines() if " A " not in line)
    listed = pathlib.Path(names).read_text().split()
    declared = sorted(set(re.findall(r"^SN_API [^(]*?\b(sn_\w+)\(", pathlib.Path(header).read_text(), re.MULTILINE)))
    problems = [f"{name} is shown, and not listed in {names}" for name in sorted(set(shown) - set(listed))]
    problems += [f"{name} is listed in {names}, and the library lacks it" for name in sorted(set(listed) - set(shown))]
    if declared != [name.split("@")[0] for name in listed]:
        difference = set(declared) ^ {name.split("@")[0] for name in listed}
        problems.append(f"{header} and {names} differ in {', '.join(sorted(difference))}")
    print("\n".join(problems))
    return 1 if problems or not listed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
