#!/usr/bin/env python3
"""Writes the tables of docs/tasks.md from `longhaul eval --list --json`. A table for each family of tasks.

  tools/make_tasks_page.py LONGHAUL [--check]
--check writes nothing and fails if the page is out of date.
"""
import collections
import json
import subprocess
import sys

import pages

PAGE = pages.ROOT / "docs/tasks.md"
BEGIN, END = "<!-- tables: tools/make_tasks_page.py -->\n", "<!-- end of tables -->\n"
TITLES = {"ruler": "RULER", "longbench": "LongBench", "infinitebench": "InfiniteBench", "babilong": "BABILong",
          "leval": "L-Eval", "graph-walks": "Walks in a graph", "later-questions": "Questions after the text",
          "multidoc": "Many documents", "multihop": "Many documents, two that answer"}


def family(name):
    return name.split("/")[0] if "/" in name else ""


COLUMNS = {"summary": "question", "rule": "score", "source": "prompt and data"}


def common(tasks, key):
    """The value that a third of a family's tasks or more share in this column, else None. Summaries differ."""
    value, count = collections.Counter(t[key] for t in tasks).most_common(1)[0]
    return value if key != "summary" and 3 * count >= len(tasks) and count > 1 else None


def table(tasks):
    """The table of a family. A value that many tasks share stands once above it, and a column without other values is left out."""
    shared = {key: common(tasks, key) for key in COLUMNS}
    left = [key for key in COLUMNS if any(t[key] != shared[key] for t in tasks)]
    lines = [f"- {name}{', unless given' if key in left else ''}: {shared[key]}\n" for key, name in COLUMNS.items() if shared[key]]
    lengths = {t["any_length"] for t in tasks}
    lines.append(f"- length: {'any; † its own' if len(lengths) == 2 else 'any' if True in lengths else 'its own'}\n")
    lines.append("\n| task | " + " | ".join(COLUMNS[key] for key in left) + " |\n" + "|---" * (len(left) + 1) + "|\n")
    for task in tasks:
        mark = " †" if len(lengths) == 2 and not task["any_length"] else ""
        cells = [f"`{task['name']}`{mark}", *("" if task[key] == shared[key] else task[key].replace("|", "\\|") for key in left)]
        lines.append("| " + " | ".join(cells) + " |\n")
    return "".join(lines)


def tables(tasks):
    families = {}
    for task in tasks:
        families.setdefault(family(task["name"]), []).append(task)
    return "".join(f"\n### {TITLES.get(name, 'Our own, and single ones')}\n\n{table(own)}" for name, own in families.items()) + "\n"


def main():
    listed = subprocess.run([sys.argv[1], "eval", "--list", "--json"], check=True, capture_output=True)
    # Tasks without a family come first, then each family once.
    tasks = json.loads(listed.stdout)
    order = list(dict.fromkeys(family(t["name"]) for t in tasks))
    tasks.sort(key=lambda t: (family(t["name"]) != "", order.index(family(t["name"]))))
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    text = before + BEGIN + tables(tasks) + END + rest.split(END)[1]
    pages.write_or_check(PAGE, text, "tools/make_tasks_page.py")


if __name__ == "__main__":
    main()
