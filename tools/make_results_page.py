#!/usr/bin/env python3
"""Writes the tables of docs/results/README.md from the committed records.

    tools/make_results_page.py [--check]

A table stands between the lines `<!-- table LENGTH -->` and `<!-- end -->`: per cent right by method and
task, the mean over tasks and the median of the KV bytes after the prompt, of the methods that have answers at
that length. Records are counted, means summed and rounded as `longhaul report` does (src/report/results.cc,
text.cc), so both say the same of a half. --check writes nothing and fails where the page is not what it would write.
"""

import statistics
import sys

import pages

PAGE = pages.ROOT / "docs/results/README.md"
RUN = pages.ROOT / "docs/results/nano"
BLOCKS = "block=64,n_init=64,n_local=512"  # with topk=16, which is the default
CONTROLS = {"control:no-context": "no context", "control:middle-cut": "middle cut out (a quarter is left)"}


def label(method):
    if method in CONTROLS:
        return CONTROLS[method]
    name, _, options = method.partition(":")
    return name + (":" + options.replace(BLOCKS, "blocks") if options else "")


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
        if not (r.get("error") and method in CONTROLS):
            scores.setdefault(r["id"], []).append(0.0 if r.get("error") else r["score"])
    return mean([mean(scores[i]) for i in sorted(scores)]) if scores else None


def table(length, rows, run):
    answered = {r["task"] for r in rows}
    listed = [t["name"] for t in run["tasks"] if t["name"] in answered]
    tasks = list(dict.fromkeys([*listed, *sorted(answered)]))
    if not tasks:
        sys.exit(f"error: {PAGE.name} has a table for {length} tokens, but no answer is of that length")
    lines = ["| method | " + " | ".join(tasks) + " | mean | KV, MiB |", "|---" * (len(tasks) + 3) + "|"]
    for method in dict.fromkeys([*run["methods"], *(r["method"] for r in rows)]):
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        shares = [share_of(method, [r for r in own if r["task"] == task]) for task in tasks]
        cells = ["" if s is None else percent(s) for s in shares]
        over_tasks = "" if None in shares else percent(mean(shares))
        kept = [r["kv_bytes"] for r in own if not r.get("error") and r["kv_bytes"] > 0]
        kv = f"{statistics.median(kept) / 2**20:.1f}" if kept else ""
        lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {over_tasks} | {kv} |")
    return "\n".join(lines)


def main():
    run, records = pages.read_run(RUN)

    def body(match):
        length = int(match[2])
        return table(length, [r for r in records if r["length"] == length and r["metric"] == "score"], run)

    filled = pages.fill(PAGE.read_text(encoding="utf-8"), r"table (\d+)", body)
    pages.write_or_check(PAGE, filled, "tools/make_results_page.py")


main()
