"""docs/building.md has every option of cmake/SinterOptions.cmake and every preset, and no others."""
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
print("\n".join(problems))
sys.exit(1 if problems or not options else 0)
