#!/usr/bin/env python3
"""Writes the options and the measured answers into every docs/methods/NAME.md.

    tools/make_method_pages.py LONGHAUL [--check]

The options of `LONGHAUL methods NAME --json` stand between `<!-- options -->` and `<!-- end -->`. The committed records under
docs/results, compared by `LONGHAUL report`, stand between `<!-- measured -->` and `<!-- end -->`. --check writes nothing and
fails if a page is out of date.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import pages

RESULTS = pages.ROOT / "docs/results"
RUNS = ["nano", "needle", "budgets"]
ALL = "all prompts"  # name of the row that compares the answers of all tasks
REFERENCE = "dense"


class Run:
    """A folder of results: its records by (method, length), and their differences from dense attention."""

    def __init__(self, longhaul, name):
        self.info, records = pages.read_run(RESULTS / name)
        self.tasks = [task["name"] for task in self.info["tasks"]]
        self.rows = {}
        for record in records:
            self.rows.setdefault((record["method"], record["length"]), []).append(record)
        self.differences = compare(longhaul, self.info, records + pooled(records, self.tasks))

    def of(self, name):
        """The settings in which the method `name` was measured."""
        return [m for m in self.info["methods"] if m.partition(":")[0] == name]

    def lengths(self, methods):
        return sorted({length for method, length in self.rows if method in methods})


def pooled(records, tasks):
    """The records once more as one task, for methods and lengths where every task weighs as much as the others."""
    groups = {}
    for r in records:
        groups.setdefault((r["method"], r["length"]), []).append(r)
    copies = []
    for rows in groups.values():
        counts = {sum(r["task"] == task for r in rows) for task in tasks}
        if len(tasks) > 1 and len(counts) == 1:
            copies += [{**r, "task": ALL, "id": f"{r['task']}/{r['id']}"} for r in rows]
    return copies


def compare(longhaul, info, records):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "run.json").write_text(json.dumps(info))
        (folder / "samples.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
        command = [longhaul, "report", folder, "--against", REFERENCE, "--json"]
        told = subprocess.run(command, check=True, capture_output=True).stdout
    return {(d["method_b"], d["length"], d["task"]): d for d in json.loads(told)["differences"]}


def points(share, digits):
    """Per cent of a difference, with its sign."""
    text = f"{100 * share:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else "0"


def score(d):
    """The method's per cent and dense attention's; over all prompts also the difference and its interval."""
    if d["task"] != ALL:
        return f"{100 * d['mean_b']:.0f} ({100 * d['mean_a']:.0f})"
    difference, low, high = (points(d[key], 1) for key in ("difference", "low", "high"))
    return f"{100 * d['mean_b']:.1f} ({100 * d['mean_a']:.1f}), {difference} ({low} to {high})"


def mib(rows):
    return f"{statistics.median(r['kv_bytes'] for r in rows) / 2**20:.1f}"


def costs(run, method, length):
    rows, dense = run.rows[method, length], run.rows.get((REFERENCE, length))
    pairs = 100 * statistics.median(r["pairs_share"] for r in rows)
    return mib(rows) + (f" ({mib(dense)})" if dense else ""), f"{pairs:.0f}"


def recall(run, method, length):
    told = [r["recall"] for r in run.rows[method, length] if r.get("recall")]
    if not told:
        return ""
    layers = [100 * statistics.fmean(column) for column in zip(*told)]
    return f"{statistics.fmean(layers):.0f} ({min(layers):.0f} to {max(layers):.0f})"


def lines_of(run, method, lengths, whole):
    """The table's rows for one setting: a name and a text per length, "" where nothing was measured. `whole`: with the rows
    of single tasks where a run has several, and of what was seen."""
    measured = [length if (method, length) in run.rows else None for length in lengths]
    several = len(run.tasks) > 1
    for task in [*(run.tasks if whole or not several else []), ALL]:
        found = [run.differences.get((method, length, task)) for length in lengths]
        yield [task, *(score(d) if d else "" for d in found)]
    if several:
        told = [costs(run, method, length) if length else ("", "") for length in measured]
        yield ["keys and values, MiB", *(kv for kv, _ in told)]
        yield ["pairs computed, %", *(pairs for _, pairs in told)]
    if whole:
        seen = [recall(run, method, length) if length else "" for length in measured]
        yield [f"{'answers' if several else run.tasks[0]} seen, %", *seen]


def command(run, settings, lengths):
    info = run.info
    return (f"longhaul eval {','.join(run.tasks)} -m {info['model']['name']} --lengths {','.join(map(str, lengths))} "
            f"--samples {info['samples']} --seed {info['seed']} --opening {info['openings']} "
            f"--attention {','.join([REFERENCE, *settings])}")


NOTE = "Per cent right, in brackets dense attention's: [how to read this table](README.md#measured-answers)."


def measured(runs, name):
    shown = set()  # (task, setting) pairs that an earlier run shows
    runs = [run for run in runs if run.of(name) and not shown.issuperset((run.tasks[0], s) for s in run.of(name))
            and not shown.update((run.tasks[0], s) for s in run.of(name))]
    if not runs:
        return "Not measured yet."
    settings = list(dict.fromkeys(s for run in runs for s in run.of(name)))
    lengths = sorted({length for run in runs for length in run.lengths(settings)})
    rows = []
    plainest = min(settings, key=len)  # the other settings have their summary only
    for setting in settings:
        rows.append([f"**{setting}**", *("" for _ in lengths)])
        for run in runs:
            rows += [row for row in lines_of(run, setting, lengths, setting == plainest) if any(row[1:])]
    commands = [f"    {command(run, run.of(name), run.lengths(run.of(name)))}" for run in runs]
    head = [runs[0].info["model"]["name"], *(f"{length:,} tokens" for length in lengths)]
    return "\n".join([*commands, "", pages.table(head, rows), "", NOTE])


def options(method):
    rows = []
    for o in method["options"]:
        only = f" (only with {o['only_with']})" if o.get("only_with") else ""
        default = f"`{o['default']}`" if o["default"] else ""
        rows.append([f"`{o['key']}`", default, o["values"].replace("|", ", "), (o["help"] + only).replace("|", "\\|")])
    return pages.table(["option", "default", "values", "meaning"], rows)


def main():
    longhaul = str(pathlib.Path(sys.argv[1]).resolve())
    runs = [Run(longhaul, name) for name in RUNS]
    overview = (pages.ROOT / "docs/methods/README.md").read_text(encoding="utf-8")
    told = subprocess.run([longhaul, "methods", "--json"], check=True, capture_output=True).stdout
    for method in json.loads(told):
        if method["name"] == REFERENCE:
            continue
        path = pages.ROOT / f"docs/methods/{method['name']}.md"
        if not path.exists():
            sys.exit(f"error: {path.relative_to(pages.ROOT)} is missing: every method has a page")
        if f"]({path.name})" not in overview:
            sys.exit(f"error: docs/methods/README.md does not link {path.name}: it names every method")
        text = pages.fill(path.read_text(encoding="utf-8"), "options", lambda _: options(method))
        text = pages.fill(text, "measured", lambda _: measured(runs, method["name"]))
        pages.write_or_check(path, text, "tools/make_method_pages.py")


main()
