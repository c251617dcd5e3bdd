#!/usr/bin/env python3
"""Writes the tables of docs/tasks.md from `longhaul eval --list --json`.

  tools/make_tasks_page.py LONGHAUL [--check]
--check writes nothing and fails if the page is out of date.
"""
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


def tables(tasks):
    out, last = [], None
    for task in tasks:
        if family(task["name"]) != last or last is None:
            last = family(task["name"])
            out.append(f"\n### {TITLES.get(last, 'Our own, and single ones')}\n\n"
                       "| task | what is asked | score | prompt and data | length |\n|---|---|---|---|---|\n")
        length = "any" if task["any_length"] else "its own"
        cells = [f"`{task['name']}`", task["summary"], task["rule"], task["source"], length]
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(out) + "\n"


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
