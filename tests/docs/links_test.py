"""Checks that all files exist that documents of this repository link to or name as `path/like/this.h`, and that all decisions
are listed."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cmake", "codegen", "docs", "examples", "frontend", "ir", "kernels", "passes", "runtime", "scripts", "tests",
           "tools")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NAMED = re.compile(r"`((?:" + "|".join(FOLDERS) + r")/[\w./-]*\w/?)`")


def documents():
    yield ROOT / "README.md"
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*.md") if "generated" not in path.parts)


def missing(document):
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if "://" not in link and not (document.parent / link).exists():
            yield link
    for name in NAMED.findall(text):
        if not (ROOT / name).exists():
            yield name


def unlisted():
    """Yields the decisions that their list leaves out or gives another title."""
    listed = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("0*.md"):
        number, title = page.read_text().splitlines()[0].removeprefix("# ").split(". ", 1)
        line = f"- {number}: [{title}]({page.name})"
        if f"{line}\n" not in listed:
            yield f"docs/decisions/README.md: there is no line \"{line}\""


problems = [*unlisted()]
problems += [f"{document.relative_to(ROOT)}: there is no {name}" for document in documents() for name in missing(document)]
print("\n".join(problems))
sys.exit(1 if problems else 0)
