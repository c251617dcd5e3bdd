#!/usr/bin/env python3
"""Writes the tables of docs/results/README.md from the committed records.

    tools/make_results_page.py [--check]

A table stands between the lines `<!-- table LENGTH -->` and `<!-- end -->`: per cent right by method and
task, the mean over tasks and the median of the KV bytes after the prompt. --check writes nothing and fails
where the page is not what it would write.
"""

import gzip
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/results/README.md"
RUN = ROOT / "docs/results/nano"
BLOCKS = "block=64,n_init=64,n_local=512"  # with topk=16, which is the default
CONTROLS = {"control:no-context": "no context", "control:middle-cut": "middle cut out (a quarter is left)"}


def label(method):
    if method in CONTROLS:
        return CONTROLS[method]
    name, _, options = method.partition(":")
    return name + (":" + options.replace(BLOCKS, "blocks") if options else "")


def records():
    with gzip.open(RUN / "samples.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def table(length, rows, run):
    tasks = [t["name"] for t in run["tasks"] if any(r["task"] == t["name"] for r in rows)]
    lines = ["| method | " + " | ".join(tasks) + " | mean | KV, MiB |", "|---" * (len(tasks) + 3) + "|"]
    for method in run["methods"]:
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        means = []
        for task in tasks:
            scores = [r["score"] for r in own if r["task"] == task]
            means.append(100 * statistics.fmean(scores) if scores else None)
        cells = ["" if m is None else f"{m:.0f}" for m in means]
        mean = f"{statistics.fmean(means):.0f}" if None not in means else ""
        kv = statistics.median(r["kv_bytes"] for r in own) / 2**20
        lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {mean} | {kv:.1f} |")
    return "\n".join(lines)


def main():
    run = json.loads((RUN / "run.json").read_text())
    all_records = records()
    page = PAGE.read_text()

    def fill(match):
        length = int(match[1])
        rows = [r for r in all_records if r["length"] == length and r["metric"] == "score"]
        return f"<!-- table {length} -->\n{table(length, rows, run)}\n<!-- end -->"

    filled = re.sub(r"<!-- table (\d+) -->\n.*?<!-- end -->", fill, page, flags=re.DOTALL)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(filled)
    elif filled != page:
        sys.exit(f"error: {PAGE.relative_to(ROOT)} is not what tools/make_results_page.py writes")


main()
