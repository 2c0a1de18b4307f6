"""Tables of a sweep's results. Needs the standard library alone.

A result is a dictionary: the draw, "sinter" (an answer of sinter_bench_sweep), and "peers", the answers by peer.
"""
import statistics

import draws as draw_lists

WORST = 25
SIZES = [2 ** exponent for exponent in (0, 14, 17, 20, 23, 26, 29)]


def best_peer(result):
    """Returns the name and the time of the fastest peer, or None."""
    times = {peer: answer["ms"] for peer, answer in result["peers"].items() if "ms" in answer}
    return min(times.items(), key=lambda item: item[1]) if times else None


def ratio(result):
    """Returns the time of Sinter over that of the fastest peer, or None."""
    best = best_peer(result)
    return result["sinter"]["ms"] / best[1] if best and "ms" in result["sinter"] else None


def why_none(result):
    if "ms" not in result["sinter"]:
        return "Sinter: " + result["sinter"].get("error", "not timed")
    return "; ".join(f"{peer}: {answer.get('error', 'not timed')}" for peer, answer in result["peers"].items())


def quantile(ordered, share):
    """Returns the number that `share` of the ordered numbers do not exceed, between two of them by their distance."""
    place = share * (len(ordered) - 1)
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def mode(result):
    peer, _ = best_peer(result)
    return f"{peer}, {result['peers'][peer]['mode']}" if result["peers"][peer].get("mode") else peer


def distribution(results):
    """Returns lines on all ratios."""
    ratios = sorted(filter(None, map(ratio, results)))
    if not ratios:
        return ["no draw has a ratio"]
    named = [(f"{round(100 * share)}th percentile", quantile(ratios, share)) for share in (0.75, 0.9, 0.95, 0.99)]
    lines = [f"{len(ratios)} draws with a ratio (Sinter / best peer, below 1: Sinter is faster)"]
    lines += [f"  {name:18} {value:.3f}" for name, value in
              [("least", ratios[0]), ("median", statistics.median(ratios)), *named, ("worst", ratios[-1])]]
    for limit in (1.0, 1.1):
        above = sum(r > limit for r in ratios)
        lines.append(f"  above {limit:.2f}: {above} of {len(ratios)} ({100 * above / len(ratios):.1f} %)")
    return lines


def by_form(results):
    groups = {}
    for result in results:
        if ratio(result) is not None:
            groups.setdefault(result["draw"]["name"], []).append(result)
    lines = [f"{'form':28} {'draws':>5} {'median':>7} {'worst':>7}  worst draw"]
    for name, members in sorted(groups.items(), key=lambda item: -statistics.median(map(ratio, item[1]))):
        worst = max(members, key=ratio)
        lines.append(f"{name:28} {len(members):5} {statistics.median(map(ratio, members)):7.3f} {ratio(worst):7.3f}  "
                     f"#{worst['draw']['id']} {draw_lists.sizes(worst['draw'])}")
    return lines


def by_size(results):
    """Returns lines on draws of few and of many elements: launches decide the time of the first, memory of the others."""
    lines = [f"{'elements of operands':22} {'draws':>5} {'median':>7} {'worst':>7}"]
    for low, high in zip(SIZES, SIZES[1:], strict=False):
        ratios = [ratio(r) for r in results if ratio(r) is not None and low <= draw_lists.elements_of(r["draw"]) < high]
        if ratios:
            lines.append(f"{f'{low:,} to {high - 1:,}':22} {len(ratios):5} {statistics.median(ratios):7.3f} {max(ratios):7.3f}")
    return lines


def by_mode(results):
    fastest = [mode(r) for r in results if ratio(r) is not None]
    return ["fastest peer: " + ", ".join(f"{name} in {fastest.count(name)}" for name in sorted(set(fastest)))]


def worst(results, most=WORST):
    lines = [f"{'ratio':>7} {'Sinter ms':>10} {'peer ms':>10} {'kernels':>7}  draw"]
    for result in sorted((r for r in results if ratio(r) is not None), key=ratio, reverse=True)[:most]:
        lines.append(f"{ratio(result):7.3f} {result['sinter']['ms']:10.5f} {best_peer(result)[1]:10.5f} "
                     f"{result['sinter'].get('kernels', 0):7}  #{result['draw']['id']} {result['draw']['name']} "
                     f"{draw_lists.sizes(result['draw'])} ({mode(result)})")
    return lines


def without_ratio(results):
    missing = [r for r in results if ratio(r) is None]
    lines = [f"{len(missing)} draws without a ratio"]
    return lines + [f"  #{r['draw']['id']} {r['draw']['name']} {draw_lists.sizes(r['draw'])}: {why_none(r)}" for r in missing]


def text(results):
    parts = [distribution(results), by_mode(results), by_size(results), by_form(results), worst(results), without_ratio(results)]
    return "\n\n".join("\n".join(lines) for lines in parts)
