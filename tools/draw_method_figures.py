#!/usr/bin/env python3
"""Draws docs/methods/pictures/NAME.svg: which keys each query row sees, as tools/method_rows.py says."""

import argparse
import html
import pathlib
import sys

from method_rows import ALL, CHOSEN, DOCUMENT, METHODS, MOVED, PROMPT, SEEN, STORED

PICTURES = pathlib.Path(__file__).parents[1] / "docs/methods/pictures"

WORDS = {
    SEEN: "seen",
    CHOSEN: "seen, because of what the tokens say",
    MOVED: "seen at another position than its own",
    STORED: "in memory, not seen",
}

STYLE = """:root{--paper:#fff;--ink:#1a1f26;--muted:#5a6472;--grid:#e3e8ee;--seen:#0067a8;--chosen:#c04a00;--moved:#007a5a;--stored:#cfd6de}
@media(prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#e6eaef;--muted:#9ba6b4;--grid:#222a33;--seen:#58b0f0;--chosen:#ff9557;--moved:#3ecf9e;--stored:#3d4957}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--muted)}
.head{fill:var(--ink);font-weight:600}.paper{fill:var(--paper)}.past{fill:var(--grid)}.line{stroke:var(--muted);stroke-width:1}
.seen{fill:var(--seen)}.chosen{fill:var(--chosen)}.moved{fill:var(--moved)}.stored{fill:var(--stored)}"""

CELL, LEFT, TOP, GAP = 6, 84, 44, 28


def draw_panel(out, x, title, row, used):
    side = CELL * ALL
    out.append(f'<text class="head" x="{x}" y="16">{html.escape(title)}</text>')
    out.append(f'<text x="{x}" y="{TOP - 8}">keys</text>')
    steps = "".join(f"H{x + CELL * (i + 1)}V{TOP + CELL * (i + 1)}" for i in range(ALL))
    out.append(f'<path class="past" d="M{x} {TOP}{steps}H{x}Z"/>')
    for i in range(ALL):
        seen = row(i)  # a row never sees keys after i because attention is causal
        j = 0
        while j <= i:
            kind, start = seen.get(j), j
            while j <= i and seen.get(j) == kind:
                j += 1
            if kind:
                used.add(kind)
                out.append(f'<rect class="{kind}" x="{x + CELL * start}" y="{TOP + CELL * i}" '
                           f'width="{CELL * (j - start) - 0.8:g}" height="{CELL - 0.8:g}"/>')
    for place in (DOCUMENT, PROMPT):
        y = TOP + CELL * place - 0.4
        out.append(f'<line class="line" x1="{x - 6}" y1="{y}" x2="{x + CELL * place}" y2="{y}" stroke-dasharray="2 2"/>')
    return x + side


def draw(name, panels):
    out, used, x = [], set(), LEFT
    for title, row in panels:
        x = draw_panel(out, x, title, row, used) + GAP
    for label, first, last in (("document", 0, DOCUMENT), ("question", DOCUMENT, PROMPT), ("reply", PROMPT, ALL)):
        middle = TOP + CELL * (first + last) / 2 + 4
        out.append(f'<text x="{LEFT - 12}" y="{middle:g}" text-anchor="end">{label}</text>')
    y, width = TOP + CELL * ALL + 24, max(x, 420)
    legend = [(kind, WORDS[kind]) for kind in (SEEN, CHOSEN, MOVED, STORED) if kind in used]
    if name == "ntk":
        legend = [(SEEN, "seen"), (MOVED, "seen, with a base that fits the longer context")]
    if any(set(row(i)) != set(range(i + 1)) for _, row in panels for i in range(ALL)):
        legend.append(("past", "forgotten" if STORED not in used else "not seen"))
    for kind, words in legend:
        out.append(f'<rect class="{kind}" x="{LEFT}" y="{y - 9}" width="11" height="11"/>')
        out.append(f'<text x="{LEFT + 18}" y="{y}">{words}</text>')
        y += 18
    label = html.escape(f"{name}: which keys each query row sees")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" role="img" '
            f'aria-label="{label}">\n<style>\n{STYLE}\n</style>\n<rect class="paper" width="100%" height="100%"/>\n'
            + "\n".join(out) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="methods; all when none is given")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a picture is not as drawn")
    options = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    for name in options.names or METHODS:
        picture, path = draw(name, METHODS[name]), PICTURES / f"{name}.svg"
        if not options.check:
            path.write_text(picture)
        elif not path.exists() or path.read_text() != picture:
            sys.exit(f"error: {path} is not what tools/draw_method_figures.py draws: run it")
    if options.check:
        for page in PICTURES.parent.glob("*.md"):
            if page.stem in METHODS and f"pictures/{page.stem}.svg" not in page.read_text():
                sys.exit(f"error: {page} does not show pictures/{page.stem}.svg")


if __name__ == "__main__":
    main()
