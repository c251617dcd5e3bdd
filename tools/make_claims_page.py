#!/usr/bin/env python3
"""Writes docs/claims.md: the claims of the five papers, and what the committed records show of each.

    tools/make_claims_page.py [--check]

data/claims.json has a row for each claim: paper, item, claim, shown, verdict (a letter of VERDICTS), and for
rows that are not shown `needs`: what a person with the models needs, and `profile`: the command that finds a method's
settings before. In `shown`, a number comes from a record:

    {RUN|METHOD|LENGTH|TASK+TASK...}         per cent right, with the 95 % interval and the share of dense attention's pairs
    {depth A-B RUN|METHOD|LENGTH|TASK+...}   the same, of prompts whose answer lies at this depth of the text
    {seen right from L RUN|METHOD|LENGTH|TASK+...}  share of the answer's tokens that were visible: mean of the layers from
                                             L on and of the right replies
    {seen wrong from L RUN|...}              the same for wrong replies
    {kv RUN|METHOD|LENGTH}                   keys and values in memory, MiB
    {value RUN|NAME|KEY|UNIT}                a number of RUN/values.json, which is no evaluation: {NAME: {KEY: number}}

RUN is a folder of docs/results/claims or docs/results. METHOD is the name in the records, LENGTH a prompt length. A number
that stands in `shown` by itself is refused, except in code, in names, and before the words "tokens" and "heads". A number
in the text of a link must be in the linked page. A verdict is marked if a method of the paper's own computed more than
MOST_PAIRS of the pairs.
--check writes nothing and fails if the page is out of date.
"""

import json
import math
import re
import sys

import pages
from pages import mean, median_of, percent, share_of

FOLDER = pages.ROOT / "docs/results/claims"
PAGE = pages.ROOT / "docs/claims.md"
VERDICTS = {"H": "holds", "P": "in part", "R": "does not hold here", "N": "not shown"}
NEEDS = "a model of 7B or more and the benchmark's files: "  # the text above the tables says so once
Z = 1.96  # of a 95 % interval
MOST_PAIRS = 0.9
OWN = {"Ltri-LLM": ("ltri", "infllm"), "CItruS": ("citrus",), "TriangleMix": ("trianglemix", "triangle"),
       "ReAttention": ("reattention",), "DuoAttention": ("duo",)}
UNITS = {"MiB": lambda x: f"{x / 2**20:.1f} MiB", "nats": lambda x: f"{x:.3f} nats", "s": lambda x: f"{x:.2f} s",
         "ms": lambda x: f"{1000 * x:.0f} ms", "ratio": lambda x: f"{x:.2f}", "share": lambda x: f"{100 * x:.0f} %"}

runs = {}


def records(run, method, length):
    if run not in runs:
        folder = FOLDER / run if (FOLDER / run).is_dir() else FOLDER.parent / run
        runs[run] = pages.read_run(folder)[1]
    found = [r for r in runs[run] if r["method"] == method and r["length"] == int(length)]
    if not found:
        sys.exit(f"error: no record of {run} has method {method} and length {length}")
    return found


def wilson(right, n):
    centre, spread = right / n + Z * Z / (2 * n), Z * math.sqrt(right / n * (1 - right / n) / n + Z * Z / (4 * n * n))
    return max(0, (centre - spread) / (1 + Z * Z / n)), (centre + spread) / (1 + Z * Z / n)


def interval(scores):
    if all(s in (0, 1) for s in scores):
        return wilson(sum(scores), len(scores))
    deviation = math.sqrt(mean([(s - mean(scores)) ** 2 for s in scores]) / max(1, len(scores) - 1))
    return max(0, mean(scores) - Z * deviation), min(1, mean(scores) + Z * deviation)


def family(method):
    return method.partition(":")[0]


def score(rows, method, tasks, what):
    missing = set(tasks.split("+")) - {r["task"] for r in rows}
    if missing:
        sys.exit(f"error: {what}: no answers for {', '.join(sorted(missing))}")
    rows = [r for r in rows if r["task"] in tasks.split("+")]
    over_tasks = mean([share_of(method, [r for r in rows if r["task"] == t]) for t in tasks.split("+")])
    low, high = interval([0.0 if r.get("error") else r["score"] for r in rows])
    pairs = median_of("pairs_share", rows)
    shown_pairs = "" if family(method) in ("dense", "ntk") or not pairs else f"; pairs {percent(pairs)} %"
    return f"{percent(over_tasks)} % ({100 * low:.0f} to {100 * high:.0f}{shown_pairs})"


def seen(rows, words):
    right, _, first = words.partition(" from ")
    chosen = [mean(r["recall"][int(first or 0):]) for r in rows
              if r.get("recall") and (r["score"] >= 0.5) == (right == "right")]
    return f"{100 * mean(chosen):.0f} % ({len(chosen)} replies)" if chosen else sys.exit("error: no record has a recall")


def stored_value(run, name, key, unit):
    return UNITS[unit](json.loads((FOLDER / run / "values.json").read_text(encoding="utf-8"))[name][key])


def value(match):
    words, _, name = match[1].partition("|")
    kind, _, run = words.rpartition(" ")
    parts = name.split("|")
    if kind == "value":
        return stored_value(run, *parts)
    method, length = parts[0], parts[1]
    rows = records(run, method, length)
    if kind == "kv":
        return f"{median_of('kv_bytes', rows) / 2**20:.1f} MiB"
    if kind.startswith("seen "):
        return seen([r for r in rows if r["task"] in parts[2].split("+")], kind.removeprefix("seen "))
    if kind.startswith("depth "):
        low, high = map(float, kind.removeprefix("depth ").split("-"))
        rows = [r for r in rows if r.get("depth") is not None and low <= r["depth"] <= high]
    return score(rows, method, parts[2], match[1])


def reads_almost_all(row):
    """Whether a score of the row belongs to a method of the paper's own that computed almost all pairs."""
    for cell in re.findall(r"\{([^}]*)\}", row["shown"]):
        run, *parts = cell.split("|")
        if run.startswith(("value ", "kv ", "seen ")) or family(parts[0]) not in OWN[row["paper"]]:
            continue
        rows = [r for r in records(run.rpartition(" ")[2], parts[0], parts[1]) if r["task"] in parts[2].split("+")]
        if median_of("pairs_share", rows) > MOST_PAIRS:
            return True
    return False


def check_link(row, match):
    """Fails unless the numbers in a link's text are in the linked page. Returns the text to check further: none."""
    page = (PAGE.parent / match[2].partition("#")[0]).read_text(encoding="utf-8")
    for number in re.findall(r"\d[\d,.]*\d|\d", match[1]):
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", page):
            sys.exit(f"error: {row['paper']}, {row['item']}: {match[2]} has no number {number}")
    return ""


def shown(row):
    own = re.sub(r"\{[^}]*\}|`[^`]*`", "", row["shown"])
    bare = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", lambda m: check_link(row, m), own)
    bare = re.sub(r"[\d,]+ (visible )?(tokens|heads)|smollm2-32k|H100|H2O|h2o", "", bare)
    if re.search(r"\d", bare):
        sys.exit(f"error: {row['paper']}, {row['item']}: a number in `shown` is of no record: {bare}")
    needs = row.get("needs", "").removeprefix(NEEDS)
    if needs and row.get("profile"):
        needs = f"{row['profile']}, then {needs}"
    return re.sub(r"\{([^}]*)\}", value, row["shown"]) + (": " + needs if needs else "")


def main():
    document = json.loads((pages.ROOT / "data/claims.json").read_text(encoding="utf-8"))
    rows = document["rows"]
    lines = [document["text"], ""]
    counts = [[paper, *(str(sum(r["paper"] == paper and r["verdict"] == v for r in rows)) for v in VERDICTS)]
              for paper in document["papers"]]
    lines += [pages.table(["paper", *VERDICTS.values()], counts), ""]
    for paper in document["papers"]:
        table = [[r["item"], r["claim"], shown(r), VERDICTS[r["verdict"]] + (" †" if reads_almost_all(r) else "")]
                 for r in rows if r["paper"] == paper]
        lines += [f"## {paper}", "", pages.table(["item", "claim", "shown", "verdict"], table), ""]
    pages.write_or_check(PAGE, "\n".join(lines), "tools/make_claims_page.py")


main()
