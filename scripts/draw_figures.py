#!/usr/bin/env python3
"""Draws the charts of measured figures, and writes their tables, from docs/figures.json.

  scripts/draw_figures.py            writes docs/figures.svg, docs/headline.svg and the tables in README.md and docs/benchmarks.md
  scripts/draw_figures.py --check    fails if one of them is not what would be written

A figure has the time or memory of Sinter and of the best peer, or their ratio alone;
`section` is the part of docs/benchmarks.md that describes the run. README.md shows the figures with `headline`.
"""
import argparse
import html
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- Written by scripts/draw_figures.py from docs/figures.json. -->", "<!-- End of the written part. -->"
FIELDS = {"group", "what", "by", "device", "date", "section"}

# Measures of the chart, in its own units.
LEFT, RIGHT, ROW, TOP, TITLE = 400, 60, 26, 60, 34
WIDTH = 920
LEAST, MOST = 0.04, 8.0
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8)
FASTER, SLOWER, TEXT, LINE = "#2f6b3b", "#b4541a", "#1c2d44", "#c8d2df"


def ends(value):
    """The least and the largest of a figure: a number, or a pair of numbers."""
    return tuple(value) if isinstance(value, list) else (value, value)


def ratios(figure):
    if "ratio" in figure:
        return ends(figure["ratio"])
    low, high = ends(figure["sinter"])
    return low / figure["peer"], high / figure["peer"]


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def span(pair, text):
    low, high = (text(value) for value in pair)
    return low if low == high else f"{low} to {high}"


def load():
    figures = json.loads((ROOT / "docs/figures.json").read_text(encoding="utf-8"))["figures"]
    headings = [line for line in (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    sections = {anchor(line) for line in headings}
    for figure in figures:
        missing = FIELDS - figure.keys()
        if missing or ("ratio" not in figure and not {"sinter", "peer", "unit"} <= figure.keys()):
            sys.exit(f"docs/figures.json: {figure.get('what')!r} lacks {sorted(missing) or 'sinter, peer and unit, or ratio'}")
        if figure["section"] not in sections:
            sys.exit(f"docs/figures.json: docs/benchmarks.md has no section {figure['section']!r} for {figure['what']!r}")
    return figures


def anchor(heading):
    words = heading.lstrip("#").strip().lower()
    return "".join(c for c in words if c.isalnum() or c in " -_").replace(" ", "-")


def x_of(ratio):
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def chart(figures, title):
    groups = {}
    for figure in figures:
        groups.setdefault(figure["group"], []).append(figure)
    height = TOP + len(groups) * TITLE + len(figures) * ROW + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" '
           f'font-size="13" role="img">', f"  <title>{html.escape(title)}</title>",
           f'  <rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'  <text x="16" y="24" font-size="15" font-weight="bold" fill="{TEXT}">{html.escape(title)}</text>']
    for tick in TICKS:
        x = x_of(tick)
        out.append(f'  <line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 14}" stroke="{TEXT if tick == 1 else LINE}"/>')
        out.append(f'  <text x="{x:.1f}" y="{TOP - 14}" text-anchor="middle" fill="{TEXT}" font-size="11">{tick:g}</text>')
    y = TOP
    for group, rows in groups.items():
        out.append(f'  <text x="16" y="{y + 22}" font-weight="bold" fill="{TEXT}">{html.escape(group)}</text>')
        y += TITLE
        for figure in rows:
            low, high = ratios(figure)
            color = FASTER if high <= 1 else SLOWER
            start, end = sorted((x_of(1), x_of(math.sqrt(low * high))))
            label = x_of(high) + 6 if high > 1 else x_of(1) + 6
            out.append(f'  <text x="{LEFT - 10}" y="{y + 15}" text-anchor="end" fill="{TEXT}">{html.escape(figure["what"])}</text>')
            out.append(f'  <rect x="{start:.1f}" y="{y + 4}" width="{max(end - start, 1):.1f}" height="15" fill="{color}"/>')
            out.append(f'  <text x="{label:.1f}" y="{y + 15}" fill="{color}">{span((low, high), lambda r: f"{r:.2f}")}</text>')
            y += ROW
    return "\n".join([*out, "</svg>", ""])


def table(figures, pages):
    lines = ["| what | Sinter | best peer | Sinter over peer | device, date |", "|---|---|---|---|---|"]
    for figure in figures:
        mine, theirs = "", figure["by"]
        if "sinter" in figure:
            mine = f'{span(ends(figure["sinter"]), number)} {figure["unit"]}'
            theirs = f'{number(figure["peer"])} {figure["unit"]}, {figure["by"]}'
        ratio = span(ratios(figure), lambda value: f"{value:.2f}")
        lines.append(f'| {figure["what"]} | {mine} | {theirs} | [{ratio}]({pages}#{figure["section"]}) | '
                     f'{figure["device"]}, {figure["date"]} |')
    return "\n".join(lines)


def grouped(figures):
    parts = []
    for group in dict.fromkeys(figure["group"] for figure in figures):
        parts.append(f"**{group}**\n\n" + table([f for f in figures if f["group"] == group], ""))
    return "\n\n".join(parts)


def between(path, body):
    text = (ROOT / path).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path} needs the line {BEGIN!r} once, and {END!r} behind it")
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n\n" + body + "\n\n" + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    figures = load()
    headline = [figure for figure in figures if figure.get("headline")]
    files = {
        "docs/figures.svg": chart(figures, "Sinter over its best peer: left of 1 is better"),
        "docs/headline.svg": chart(headline, "Sinter over its best peer: left of 1 is better"),
        "docs/benchmarks.md": between("docs/benchmarks.md", grouped(figures)),
        "README.md": between("README.md", table(headline, "docs/benchmarks.md")),
    }
    for path, text in files.items():
        there = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else None
        if there == text:
            continue
        if check:
            sys.exit(f"{path} is out of date: run scripts/draw_figures.py")
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
