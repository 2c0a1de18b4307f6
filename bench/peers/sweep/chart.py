"""Draws the ratios of a sweep, sorted, as an SVG that reads in light and in dark. Needs the standard library alone."""
import math

from report import quantile, ratio

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 420, 60, 16, 64, 40
# Colours that differ in hue and lightness, on white as on near-black.
COLOURS = {"attention": "#d1495b", "elements": "#2a9d8f", "images": "#8f6bd6", "layouts": "#3b82c4", "lookups": "#c77d1e",
           "losses": "#6a8f2f", "norms": "#c0559a", "products": "#7d6a5d", "reductions": "#1f9fb8", "scans": "#b8962e",
           "softmax": "#6478a8", "updates": "#5f9e6e"}
STYLE = """<style>
text { font: 13px sans-serif; fill: #24292f; }
.small { font-size: 12px; }
.grid { stroke: #8c959f; stroke-opacity: 0.3; }
.even { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .even { stroke: #e6edf3; } }
</style>"""
TICKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def svg(results, title):
    """Returns the picture: a point for each draw with a ratio, from the least to the worst, on a logarithmic axis."""
    shown = sorted((r for r in results if ratio(r) is not None), key=ratio)
    if not shown:
        raise ValueError("no draw has a ratio, so there is nothing to draw")
    ratios = [ratio(r) for r in shown]
    low, high = math.log(min(ratios[0], 0.7) / 1.05), math.log(max(ratios[-1], 1.3) * 1.05)

    def at_x(place):
        return LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / len(shown)

    def at_y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log(value)) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">', STYLE,
             f"<title>{escaped(title)}</title>", f'<text x="{LEFT}" y="18">{escaped(title)}</text>', *legend(shown)]
    for tick in (t for t in TICKS if low <= math.log(t) <= high):
        name = "even" if tick == 1 else "grid"
        parts.append(f'<line class="{name}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at_y(tick):.1f}" y2="{at_y(tick):.1f}"/>')
        parts.append(f'<text class="small" x="{LEFT - 8}" y="{at_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for share, name in ((0.5, "median"), (0.9, "90 %"), (0.99, "99 %")):
        x, value = at_x(share * (len(shown) - 1)), quantile(ratios, share)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="small" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{name}: {value:.2f}</text>')
    for place, result in enumerate(shown):
        parts.append(f'<circle cx="{at_x(place):.1f}" cy="{at_y(ratios[place]):.1f}" r="3.2" '
                     f'fill="{COLOURS[result["draw"]["kind"]]}"><title>{escaped(result["draw"]["name"])}: '
                     f"{ratios[place]:.3f}</title></circle>")
    return "\n".join([*parts, "</svg>", ""])


def legend(shown):
    parts, x = [], LEFT
    for kind in sorted({r["draw"]["kind"] for r in shown}):
        parts.append(f'<circle cx="{x + 4}" cy="38" r="4" fill="{COLOURS[kind]}"/>')
        parts.append(f'<text class="small" x="{x + 11}" y="42">{kind}</text>')
        x += 22 + 6.6 * len(kind)
    return parts
