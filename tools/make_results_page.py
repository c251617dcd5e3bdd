#!/usr/bin/env python3
"""Writes the tables of docs/results/README.md from the committed records, and the means that the server shows for each method
(src/serve/api/measured_table.cc).

    tools/make_results_page.py [--check]

A table stands between a line that names it and `<!-- end -->`:

    <!-- table LENGTH [RUN] -->    one length of nano, or of that run: per cent right by method and task, the mean over tasks, KV bytes,
                                   pairs of query and key computed
    <!-- means RUN -->             per cent right over all tasks by method and length; KV bytes and pairs at the method's longest length
    <!-- lengths FOLDER -->        one task: per cent right by method and length (cases of their own length: "right"), and
                                   KV bytes at the longest
    <!-- positions FOLDER -->      a perplexity: nats a token by method and stretch of the text
    <!-- later FOLDER -->          questions after the prefill: right replies by method, length and task, without and with opening
                                   words; the best first. Options are left out, except a form

Tables have only methods with answers, and KV bytes are medians after the prompt. A cell of `means` has a mark where the method
kept all keys and attended to almost all pairs. Records are counted and means rounded as
`longhaul report` does (src/report/results.cc, text.cc). --check writes nothing and fails if the page is out of date.
"""

import re
import statistics
import sys

import pages
from pages import mean, median_of, percent, share_of

RESULTS = pages.ROOT / "docs/results"
PAGE = RESULTS / "README.md"
SOURCE = pages.ROOT / "src/serve/api/measured_table.cc"
BLOCKS = "block=64,n_init=64,n_local=512"  # with topk=16, which is the default
MARK = " †"
FEW = 5  # answers of a cell, or more, make a column of its length
CONTROLS = {"control:no-context": "no context", "control:middle-cut": "middle cut out (a quarter is left)"}


def label(method):
    if method in CONTROLS:
        return CONTROLS[method]
    name, _, options = method.partition(":")
    return name + (":" + options.replace(BLOCKS, "blocks") if options else "")


def kv(rows):
    kept = [r["kv_bytes"] for r in rows if not r.get("error") and r["kv_bytes"] > 0]
    return f"{statistics.median(kept) / 2**20:.1f}" if kept else ""


def pairs(method, rows, dense):
    """Median share of the pairs that dense attention computes, in per cent. The mark says that the method kept all keys
    and attended to almost all of them, so its score says nothing about what it leaves out."""
    share = 100 * median_of("pairs_share", rows)
    if not share:
        return ""
    selects = method not in CONTROLS and method.partition(":")[0] not in ("dense", "ntk")
    keeps_all = median_of("kv_bytes", rows) > 0.8 * median_of("kv_bytes", dense)
    return f"{share:.0f}{MARK if selects and keeps_all and share > 90 else ''}"


def methods(run, rows):
    return dict.fromkeys([*run["methods"], *(r["method"] for r in rows)])


def head(cells):
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def table(length, run, records):
    rows = [r for r in records if r["length"] == length and r["metric"] == "score"]
    answered = {r["task"] for r in rows}
    listed = [t["name"] for t in run["tasks"] if t["name"] in answered]
    tasks = list(dict.fromkeys([*listed, *sorted(answered)]))
    if not tasks:
        sys.exit(f"error: {PAGE.name} has a table for {length} tokens, but no answer is of that length")
    lines = head(["method", *tasks, "mean", "KV, MiB", "pairs, %"])
    dense = [r for r in rows if r["method"] == "dense"]
    for method in methods(run, rows):
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        shares = [share_of(method, [r for r in own if r["task"] == task]) for task in tasks]
        cells = ["" if s is None else percent(s) for s in shares]
        over_tasks = "" if None in shares else percent(mean(shares))
        lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {over_tasks} | {kv(own)} | {pairs(method, own, dense)} |")
    return "\n".join(lines)


def means(run, records):
    """Methods with two lengths or more. A cell is empty where the method lacks a task that dense attention has there."""
    records = [r for r in records if r["metric"] == "score"]
    lengths = sorted({r["length"] for r in records})
    lines = head(["method", *(f"{length:,}" for length in lengths), "KV, MiB", "pairs, %"])
    for method in methods(run, records):
        cells, last, last_dense = [], [], []
        for length in lengths:
            dense = [r for r in records if r["method"] == "dense" and r["length"] == length]
            own = [r for r in records if r["method"] == method and r["length"] == length]
            tasks = dict.fromkeys([*(t["name"] for t in run["tasks"]), *sorted({r["task"] for r in dense})])
            answered = {r["task"] for r in dense}
            shares = [share_of(method, [r for r in own if r["task"] == task]) for task in tasks if task in answered]
            cells.append("" if not shares or None in shares else percent(mean(shares)))
            if cells[-1]:
                last, last_dense = own, dense
                cells[-1] += MARK if pairs(method, own, dense).endswith(MARK) else ""
        if len(list(filter(None, cells))) > 1:
            lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {kv(last)} | {pairs(method, last, last_dense)} |")
    return "\n".join(lines)


def by_length(run, records):
    lengths = sorted({r["length"] for r in records})
    lines = head(["method", *(f"{length:,}" if length else "right" for length in lengths), "KV, MiB"])
    for method in methods(run, records):
        own = [[r for r in records if r["method"] == method and r["length"] == length] for length in lengths]
        shares = [share_of(method, rows) for rows in own]
        cells = ["" if s is None else percent(s) for s in shares]
        lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {kv(own[-1])} |")
    return "\n".join(lines)


def by_position(run, records):
    starts = sorted({r["position"] for r in records})
    ends = [*starts[1:], max(r["length"] for r in records)]
    lines = head(["tokens", *(f"{a // 1024}-{b // 1024}K" for a, b in zip(starts, ends))])
    for method in methods(run, records):
        found = {r["position"]: r["score"] for r in records if r["method"] == method}
        if found:
            lines.append(f"| {label(method)} | " + " | ".join(f"{found[at]:.3f}" for at in starts) + " |")
    return "\n".join(lines)


def without_sizes(method):
    """The method's name, and its form where it is another than the profile's."""
    form = re.search(r"form=paper", method)
    return method.partition(":")[0] + (f":{form[0]}" if form else "")


def without_and_with_opening(run, records):
    """A table with a column for each length and task, and in each cell the right replies without and with opening words, of
    run["samples"] unless the cell says of how many. Lengths at which the run was stopped early have one column for all their
    answers. Methods with the most right replies come first."""
    lengths = sorted({r["length"] for r in records})
    tasks = sorted({r["task"] for r in records}, key=lambda task: (task.partition("/")[0], task.partition("/")[2] == "chat", task))
    names = list(dict.fromkeys(without_sizes(m) for m in methods(run, records)))

    def answers(method, length, task, opening):
        return [r for r in records if without_sizes(r["method"]) == method
                and (r["length"], r["task"], r["opening"]) == (length, task, opening)]

    done = [n for n in lengths if all(answers(method, n, tasks[0], opening)[FEW - 1:] for method in names for opening in (False, True))]
    stopped = [n for n in lengths if n not in done]
    rows = []
    for method in names:
        cells = [", ".join(filter(None, (right(answers(method, n, task, opening), run["samples"]) for opening in (False, True))))
                 for n in done for task in tasks]
        if stopped:
            rest = [r for r in records if r["length"] in stopped and without_sizes(r["method"]) == method]
            cells.append(right(rest, 0))
        own = [r for r in records if r["length"] in done and without_sizes(r["method"]) == method]
        rows.append((-mean([r.get("score") or 0 for r in own]), [method, *cells]))
    rows.sort(key=lambda row: row[0])
    columns = [f"{n:,}: {task.removeprefix('later-questions/')}" for n in done for task in tasks]
    if stopped:
        columns.append(" and ".join(f"{n:,}" for n in stopped))
    return "\n".join([*head(["method", *columns]), *("| " + " | ".join(cells) + " |" for _, cells in rows)])


def right(rows, samples):
    if not rows:
        return ""
    count = f"{sum(r.get('score') or 0 for r in rows):.0f}"
    return count if len(rows) == samples else f"{count} of {len(rows)}"


def means_of(model, run, records):
    """Lines of C++: the mean score over the tasks that dense attention answered, by length and method."""
    lines = []
    for length in sorted({r["length"] for r in records if r["metric"] == "score" and r["length"]}):
        rows = [r for r in records if r["length"] == length and r["metric"] == "score"]
        tasks = sorted({r["task"] for r in rows if r["method"] == "dense"})
        for method in methods(run, rows):
            shares = [share_of(method, [r for r in rows if r["method"] == method and r["task"] == task]) for task in tasks]
            if method not in CONTROLS and tasks and None not in shares:
                lines.append(f'    {{"{model}", {length}, {len(tasks)}, "{method}", {mean(shares):.4f}}},')
    return lines


def source_of_means(runs):
    rows = [line for name, model in (("nano", "nano"), ("smollm2", "smollm2-32k")) for line in means_of(model, *runs[name])]
    return "\n".join(["// Written by tools/make_results_page.py from the records of docs/results.", "",
                      '#include "serve/api/measured_scores.h"', "", "namespace longhaul::serve {", "namespace {", "",
                      "// clang-format off", "constexpr MeasuredRow kMeasuredMeans[] = {", *rows, "};", "// clang-format on", "",
                      "}  // namespace", "", "std::span<const MeasuredRow> measured_rows() { return kMeasuredMeans; }", "",
                      "}  // namespace longhaul::serve", ""])


def main():
    runs = {name: pages.read_run(RESULTS / name) for name in ("nano", "budgets", "smollm2", "smollm2-no-opening")}
    text = pages.fill(PAGE.read_text(encoding="utf-8"), r"table (\d+)(?: ([\w-]+))?",
                      lambda m: table(int(m[2]), *runs[m[3] or "nano"]))
    text = pages.fill(text, r"means (\S+)", lambda m: means(*runs[m[2]]))
    text = pages.fill(text, r"lengths (\S+)", lambda m: by_length(*pages.read_run(RESULTS / m[2])))
    text = pages.fill(text, r"later (\S+)", lambda m: without_and_with_opening(*pages.read_run(RESULTS / m[2])))
    text = pages.fill(text, r"positions (\S+)", lambda m: by_position(*pages.read_run(RESULTS / m[2])))
    pages.write_or_check(PAGE, text, "tools/make_results_page.py")
    pages.write_or_check(SOURCE, source_of_means(runs), "tools/make_results_page.py")


main()
