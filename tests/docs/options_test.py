"""Checks that the documents list all options, presets and environment variables, and no others.

docs/building.md lists the options of cmake/SinterOptions.cmake and the presets; docs/environment.md lists the
variables that the sources read.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTION = re.compile(r"^(?:option\((?=SINTER)|set\((?=SINTER\w+ .* CACHE ))(\w+)", re.MULTILINE)

options = set(OPTION.findall((ROOT / "cmake/SinterOptions.cmake").read_text()))
presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
there = options | {preset["name"] for preset in presets if not preset.get("hidden")}
rows = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/building.md").read_text(), re.MULTILINE))
problems = [f"docs/building.md: {name} is missing" for name in sorted(there - rows)]
problems += [f"docs/building.md: there is no {name}" for name in sorted(rows - there)]

# In sources, a quoted name of this form is an environment variable.
VARIABLE = re.compile(r'"(SINTER_[A-Z0-9_]+)"')
sources = [path for folder in ("runtime", "codegen", "frontend", "tools", "examples") for path in (ROOT / folder).rglob("*")
           if path.suffix in (".cc", ".h", ".py")]
read = {name for path in sources for name in VARIABLE.findall(path.read_text())}
table = [line.split("|")[1] for line in (ROOT / "docs/environment.md").read_text().splitlines() if line.startswith("| `")]
rows = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
problems += [f"docs/environment.md: {name} is missing" for name in sorted(read - rows)]
problems += [f"docs/environment.md: no source reads {name}" for name in sorted(rows - read)]
print("\n".join(problems))
sys.exit(1 if problems or not options or not read else 0)
