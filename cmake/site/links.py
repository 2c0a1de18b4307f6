"""MkDocs hooks. In the site, pages link to pages: a link to a folder leads to its README or first file, and one to a source
file of the repository becomes the file's name. The menu gets the reference of headers, which Doxygen makes afterwards."""
import pathlib
import re

from mkdocs.structure.nav import Link

LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.DOTALL | re.MULTILINE)


def target_of(docs, page, link):
    """Returns the link as it is in the site, or None if what it names is not there."""
    path = (page.parent / link).resolve()
    if path.is_dir() and path.is_relative_to(docs):
        first = path / "README.md" if (path / "README.md").exists() else min(path.glob("*.md"))
        return f"{link.rstrip('/')}/{first.name}"
    return link if path.is_relative_to(docs) else None


def on_page_markdown(markdown, page, config, files):
    docs, source = pathlib.Path(config["docs_dir"]).resolve(), pathlib.Path(page.file.abs_src_path)

    def replace(match):
        text, link, anchor = match.group(1), match.group(2), match.group(3) or ""
        target = target_of(docs, source, link)
        return f"[{text}]({target}{anchor})" if target else text

    parts = FENCE.split(markdown)
    return "".join(part if i % 2 else LINK.sub(replace, part) for i, part in enumerate(parts))


def on_nav(nav, config, files):
    reference = next(item for item in nav.items if item.title == "Reference")
    headers = Link("Headers", "reference/index.html")
    headers.parent = reference
    reference.children.insert(1, headers)
    return nav
