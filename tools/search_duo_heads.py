#!/usr/bin/env python3
"""Searches the KV heads that DuoAttention (docs/methods/duo.md) should keep full in a model.

    tools/search_duo_heads.py build/release/src/cli/longhaul --start models/nano/retrieval_scores.tsv --heads 9 \\
        --out search --seed 7

A set of heads is scored by the answers of `longhaul eval`, as the weighted mean over --tasks. Beginning with the best
heads of the starting gates, the search adds the head that helps most and drops the one that is missed least, until both
are the same. A comparison begins with few prompts for every candidate and continues with more for the best.

With --leave-out the tool instead compares all sets of --heads heads that remain when some of the named heads are left
out, on more prompts of another seed. This decides between sets that are close.

--out holds every answer (a stopped search continues there; run.json and samples.jsonl are those of eval). At the end it
holds found.tsv: gates above 0.9 for the heads found, the one that is missed most first, 0.5 and more for others that
improved a set, and the starting gates of the rest.

Report another --seed than the one of the search: the found set looks better on the searched prompts than it is.
"""

import argparse
import itertools
import json
import pathlib
import subprocess


def read_gates(path):
    return [[float(x) for x in line.split()] for line in path.read_text().splitlines() if line.strip()]


def name(heads):
    return "_".join(f"{layer}.{head}" for layer, head in sorted(heads))


class Judge:
    """Scores of head sets, by running `longhaul eval` for the answers that are not there yet."""

    def __init__(self, options, shape):
        self.options = options
        self.shape = shape  # KV heads of each layer
        self.tasks = {task: float(weight) for task, weight in (t.split("=") for t in options.tasks.split(","))}
        self.answers = {}  # (method, task, sample) -> score
        self.gains = {}  # head -> most points that it added to the first task in any set
        self.left = {}  # head -> score (per cent) without it when it was last dropped
        self.folder = options.out.resolve() / f"seed{options.seed}-{options.length}"
        self.gates = options.out.resolve() / "gates"
        self.gates.mkdir(parents=True, exist_ok=True)
        self.read()

    def read(self):
        records = self.folder / "samples.jsonl"
        if not records.exists():
            return
        for line in records.read_text().splitlines():
            r = json.loads(line)
            self.answers[r["method"], r["task"], int(r["id"])] = r["score"]

    def method(self, heads):
        """Whatever the model's profile says, the heads whose gate is 1 are full."""
        return f"duo:gates={self.gates / name(heads)}.tsv,threshold=0.5"

    def write(self, heads):
        rows = ("\t".join(str(int((layer, head) in heads)) for head in range(count))
                for layer, count in enumerate(self.shape))
        (self.gates / f"{name(heads)}.tsv").write_text("\n".join(rows) + "\n")

    def missing(self, method, task, samples):
        return any((method, task, i) not in self.answers for i in range(samples))

    def scores(self, sets, samples, tasks=None):
        """The weighted mean of each set, per cent."""
        tasks = tasks or list(self.tasks)
        for task in tasks:
            new = [s for s in sets if self.missing(self.method(s), task, samples)]
            for heads in new:
                self.write(heads)
            if new:
                self.ask(task, [self.method(s) for s in new], samples)
        return [self.score(s, samples, tasks) for s in sets]

    def ask(self, task, methods, samples):
        o = self.options
        subprocess.run(
            [o.binary, "eval", task, "-m", o.model, "--data", o.data, "--attention", ",".join(methods), "--lengths",
             str(o.length), "--samples", str(samples), "--seed", str(o.seed), "--opening", "on",
             "--parallel", str(o.parallel), "--out", self.folder, "--quiet"],
            check=True, stdout=subprocess.DEVNULL)
        self.read()

    def score(self, heads, samples, tasks):
        total = 0
        for task in tasks:
            total += self.tasks[task] * self.task_score(heads, task, samples)
        return total / sum(self.tasks[task] for task in tasks)

    def task_score(self, heads, task, samples):
        return 100 * sum(self.answers[self.method(heads), task, i] for i in range(samples)) / samples


def best_of(judge, candidates, tasks, label):
    """(head, score) of the best of {head: set}: all of them on few prompts of some tasks, then the best ones on
    more of all tasks."""
    options = judge.options
    heads = list(candidates)
    first = judge.scores([candidates[h] for h in heads], options.first, tasks)
    ranked = sorted(zip(first, heads), key=lambda pair: -pair[0])
    print(f"  {label}, {' '.join(tasks)}:", "  ".join(f"{name([h])} {s:.0f}" for s, h in ranked), flush=True)
    kept = [h for _, h in ranked[:options.finalists]]
    final = judge.scores([candidates[h] for h in kept], options.samples)
    ranked = sorted(zip(final, kept), key=lambda pair: -pair[0])
    print(f"  {label}, all tasks:", "  ".join(f"{name([h])} {s:.1f}" for s, h in ranked), flush=True)
    return ranked[0][1], ranked[0][0]


def grow(judge, heads, everything):
    """One more head can only help where something is lost: the first look is at the task of most weight."""
    candidates = {h: heads | {h} for h in everything if h not in heads}
    first, few = list(judge.tasks)[:1], judge.options.first
    best = best_of(judge, candidates, first, "add")
    base = judge.scores([heads], few, first)[0]
    for head, grown in candidates.items():
        judge.gains[head] = max(judge.gains.get(head, 0), judge.score(grown, few, first) - base)
    return best


def shrink(judge, heads):
    """One head less may lose what another task needs: the first look is at the first two tasks."""
    candidates = {h: heads - {h} for h in heads}
    tasks = list(judge.tasks)[:2]
    best = best_of(judge, candidates, tasks, "drop")
    for head, rest in candidates.items():
        judge.left[head] = judge.score(rest, judge.options.first, tasks)
    return best


def show(judge, heads, label):
    score = judge.scores([heads], judge.options.samples)[0]
    tasks = "  ".join(f"{t} {judge.task_score(heads, t, judge.options.samples):.1f}" for t in judge.tasks)
    print(f"{label}: {score:.2f}  ({tasks})  {' '.join(name([h]) for h in sorted(heads))}", flush=True)
    return score


def search(judge, heads, everything):
    score = show(judge, heads, f"start, {len(heads)} heads")
    while True:
        added, _ = grow(judge, heads, everything)
        show(judge, heads | {added}, f"with {name([added])}")
        dropped, new_score = shrink(judge, heads | {added})
        if dropped == added or new_score <= score:
            return heads
        heads, score = (heads | {added}) - {dropped}, new_score
        show(judge, heads, f"{name([added])} for {name([dropped])}")


def leave_out(judge, heads, named):
    """The best of all sets of as many heads, out of these and the named ones, that leave out named ones."""
    union = heads | named
    sets = [union - set(out) for out in itertools.combinations(sorted(named), len(union) - len(heads))]
    scores = judge.scores(sets, judge.options.samples)
    ranked = sorted(zip(scores, sets), key=lambda pair: -pair[0])
    for _, chosen in ranked:
        show(judge, chosen, f"without {' '.join(name([h]) for h in sorted(union - chosen))}")
    return ranked[0][1]


def write_gates(path, start, judge, order):
    gates = [[min(gate, 0.9) for gate in row] for row in start]
    for (layer, head), gain in judge.gains.items():
        if gain > 0:
            gates[layer][head] = max(gates[layer][head], min(0.5 + gain / 100, 0.9))
    for rank, (layer, head) in enumerate(order):
        gates[layer][head] = 1 - 0.09 * rank / len(order)
    path.write_text("".join("\t".join(f"{gate:.3g}" for gate in row) + "\n" for row in gates))
    print(f"{path}: {' '.join(name([h]) for h in order)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the longhaul program")
    parser.add_argument("--start", type=pathlib.Path, required=True, help="gates to start from")
    parser.add_argument("--heads", type=int, required=True, help="full heads")
    parser.add_argument("--above", type=float, default=-1, help="try only heads whose starting gate is above this")
    parser.add_argument("--leave-out", metavar="LAYER.HEAD,...", help="compare sets without some of these")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="nano")
    parser.add_argument("--data", default=str(pathlib.Path(__file__).resolve().parents[1] / "data"))
    parser.add_argument("--tasks", default="variables=3,key-value=2,magic=1,multikey=1",
                        help="TASK=WEIGHT,..., the hardest first")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--first", type=int, default=6, help="prompts of a task for every candidate")
    parser.add_argument("--finalists", type=int, default=3, help="candidates that continue with all tasks")
    parser.add_argument("--samples", type=int, default=12, help="prompts of a task for those")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args()

    start = read_gates(options.start)
    everything = [(layer, head) for layer, row in enumerate(start) for head in range(len(row))]
    by_gate = sorted(everything, key=lambda h: -start[h[0]][h[1]])
    judge = Judge(options, [len(row) for row in start])
    heads = frozenset(by_gate[:options.heads])
    if options.leave_out:
        named = frozenset(tuple(int(x) for x in h.split(".")) for h in options.leave_out.split(","))
        heads = leave_out(judge, heads, named)
    else:
        heads = search(judge, heads, [h for h in everything if start[h[0]][h[1]] > options.above])
    show(judge, heads, "found")
    order = sorted(heads, key=lambda h: (judge.left.get(h, 0), by_gate.index(h)))
    write_gates(options.out / "found.tsv", start, judge, order)


if __name__ == "__main__":
    main()
