"""Functions shared by the tools that write parts of Markdown pages: records of an evaluation, tables, writing or checking."""

import gzip
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_run(folder):
    """What was asked for, and a dictionary per answer, of a folder of `longhaul eval` (samples packed)."""
    with gzip.open(folder / "samples.jsonl.gz", "rt") as lines:
        return json.loads((folder / "run.json").read_text()), [json.loads(line) for line in lines]


def mean(values):
    """The values one by one, not the exact sum: what doubles in that order give."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def percent(share):
    """Whole numbers; a decimal near the ends, where 0 or 100 would claim too much."""
    value = 100 * share
    rounded = f"{value:.0f}"
    near_end = (rounded == "0" and value > 0.05) or (rounded == "100" and value < 99.95)
    return f"{value:.1f}" if near_end else rounded


def share_of(method, rows):
    """Mean over samples, of records with one id their mean; an answer that was never given is 0, and left out of
    controls. None: no answer."""
    scores = {}
    for r in rows:
        if not (r.get("error") and method.startswith("control:")):
            scores.setdefault(r["id"], []).append(0.0 if r.get("error") else r["score"])
    return mean([mean(scores[i]) for i in sorted(scores)]) if scores else None


def median_of(key, rows):
    values = [r[key] for r in rows if not r.get("error") and r.get(key)]
    return statistics.median(values) if values else 0


def fill(page, name, body):
    """`page` with the text between `<!-- NAME -->` and the next `<!-- end -->` replaced: every time by what
    body(match) says, where NAME is a pattern. Fails where the page has no such place."""
    pattern = rf"(<!-- {name} -->)\n.*?<!-- end -->"
    filled, count = re.subn(pattern, lambda m: f"{m[1]}\n{body(m)}\n<!-- end -->", page, flags=re.DOTALL)
    if count == 0:
        sys.exit(f"error: a page has no place for it: lines `<!-- {name} -->` and `<!-- end -->`")
    return filled


def table(header, rows):
    """A Markdown table whose columns, but for the last one, stand under each other in the source too."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header) - 1)]

    def line(cells):
        return "| " + " | ".join([c.ljust(w) for c, w in zip(cells, widths)] + [cells[-1]]) + " |"

    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|---|"
    return "\n".join([line(header), rule, *map(line, rows)])


def write_or_check(path, text, tool):
    """Writes the page, or with --check only says (and exits) that it is not what the tool writes."""
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
    elif text != path.read_text(encoding="utf-8"):
        sys.exit(f"error: {path.relative_to(ROOT)} is not what {tool} writes: run it")
