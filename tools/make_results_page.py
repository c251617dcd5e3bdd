#!/usr/bin/env python3
"""Writes the tables of docs/results/README.md from the committed records.

    tools/make_results_page.py [--check]

A table stands between the lines `<!-- table LENGTH -->` and `<!-- end -->`: per cent right by method and
task, the mean over tasks and the median of the KV bytes after the prompt. --check writes nothing and fails
where the page is not what it would write.
"""

import statistics

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
    run, records = pages.read_run(RUN)

    def body(match):
        length = int(match[2])
        return table(length, [r for r in records if r["length"] == length and r["metric"] == "score"], run)

    filled = pages.fill(PAGE.read_text(encoding="utf-8"), r"table (\d+)", body)
    pages.write_or_check(PAGE, filled, "tools/make_results_page.py")


main()
