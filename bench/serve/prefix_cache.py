#!/usr/bin/env python3
"""Figures of docs/serving.md, "Prefix cache": python3 bench/serve/prefix_cache.py BINARY [-m nano] [-t 1]

Starts servers of its own. Prompts are token ids drawn at random, so that their lengths are exact."""

import argparse
import pathlib
import random
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/serve"))
from server_process import ServerProcess  # noqa: E402


def tokens(count, seed):
    draw = random.Random(seed)
    return [draw.randrange(300, 3300) for _ in range(count)]


class Bench(ServerProcess):
    def read(self, prompt, **more):
        """The timings and cache report of a prompt with one token of reply."""
        status, reply = self.post("/completion", {"prompt": prompt, "n_predict": 1, "ignore_eos": True, **more})
        if status != 200:
            sys.exit(f"{status}: {reply}")
        return reply["timings"], reply["longhaul"]["cache"]

    def metric(self, name):
        _, text = self.ask("GET", "/metrics")
        return sum(float(value) for value in re.findall(rf"^{re.escape(name)}[ {{].*?([0-9.e+]+)$", text, re.M))


def first_token(bench, length, rounds=5):
    document = tokens(length, 1)
    cold, _ = bench.read(document + tokens(40, 2))
    warm = [bench.read(document + tokens(40, 3 + i)) for i in range(rounds)]
    times = [timing["prompt_ms"] for timing, _ in warm]
    assert all(cache["reused"] == length and cache["exact"] for _, cache in warm), warm[0]
    print(f"question of 40 tokens about {length:,} tokens: cold {cold['prompt_ms']:,.0f} ms, then "
          f"{statistics.median(times):,.0f} ms (from {min(times):,.0f} to {max(times):,.0f})")


def library(bench, documents, length, questions):
    texts = [tokens(length, 100 + i) for i in range(documents)]
    draw = random.Random(5)
    before, asked = 0, 0
    for i in range(questions):
        text = texts[i % documents] if i < documents else draw.choice(texts)
        timing, _ = bench.read(text + tokens(40, 1000 + i))
        before += timing["prompt_n"]
        asked += 40
    first = documents * length
    print(f"library of {documents} documents of {length:,} tokens, {questions} questions of 40: {before:,} tokens "
          f"prefilled; the documents have {first:,}, the questions {asked:,}")


def agent(bench, turns, begin, step):
    prompt, total, read = tokens(begin, 7), 0.0, 0
    for turn in range(turns):
        timing, _ = bench.read(prompt)
        total += timing["prompt_ms"]
        read += timing["prompt_n"]
        if turn + 1 < turns:
            prompt = prompt + tokens(step, 2000 + turn)
    once, _ = bench.read(prompt, cache_prompt=False)
    print(f"agent of {turns} turns, {begin:,} to {len(prompt):,} tokens: {read:,} tokens prefilled in {total:,.0f} ms, "
          f"{total / once['prompt_ms']:.2f} times one prefill of the last prompt ({once['prompt_ms']:,.0f} ms)")


def branches(bench, length, count):
    document = tokens(length, 11)
    again = []
    for i in range(count):
        timing, _ = bench.read(document + tokens(40, 3000 + i))
        again.append(timing["prompt_n"] - 40)
    print(f"{count} conversations from one document of {length:,} tokens, one after the other: prefilled of the "
          f"document {again[0]:,}, then {again[1]}, then {max(again[2:])}")
    print(f"  keys and values of all: {bench.metric('longhaul_kv_bytes'):,.0f} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("-m", "--model", default="nano")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("--lengths", default="16384,32768")
    given = parser.parse_args()
    flags = ["-t", given.threads, "--quiet"]
    for length in map(int, given.lengths.split(",")):
        with Bench(given.binary, *flags, model=given.model) as bench:
            first_token(bench, length)
    with Bench(given.binary, *flags, model=given.model) as bench:
        library(bench, 8, 2000, 200)
    with Bench(given.binary, *flags, model=given.model) as bench:
        agent(bench, 40, 1000, 100)
    with Bench(given.binary, *flags, model=given.model) as bench:
        branches(bench, 4000, 16)


main()
