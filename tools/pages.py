"""Functions shared by the tools that write parts of Markdown pages: records of an evaluation, tables, writing or checking."""

import gzip
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_run(folder):
    """What was asked for, and a dictionary per answer, of a folder of `longhaul eval` (samples packed)."""
    with gzip.open(folder / "samples.jsonl.gz", "rt") as lines:
        return json.loads((folder / "run.json").read_text()), [json.loads(line) for line in lines]


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
