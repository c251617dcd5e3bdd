"""Shared by the workers: the measured plan, rates, and the peak memory of this process."""

import argparse
import json
import os
import resource
import statistics
import time


def parse_plan(description):
    """The arguments every worker takes; lengths are token counts."""
    lengths = lambda text: [int(part) for part in text.split(",") if part]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--prompt", type=lengths, default=[512, 2048, 8192])
    parser.add_argument("--depth", type=lengths, default=[0, 512, 8192])
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    return parser


def prompt_tokens(count, vocabulary):
    """A fixed sequence without structure: dense attention does the same work on any tokens."""
    return [(index * 7919 + 13) % vocabulary for index in range(count)]


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rates(tokens, seconds):
    """Tokens per second over repeated runs, in the shape that `longhaul bench --json` prints."""
    each = [tokens / value for value in seconds]
    return {"median": statistics.median(each), "min": min(each), "max": max(each)}


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts KiB


class Interference:
    """CPU seconds that other processes took per second while a test ran; spinning threads suffer most."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system = (int(value) for value in file.readline().split()[1:4])
        own = os.times()
        busy = (user + nice + system) / os.sysconf("SC_CLK_TCK")
        mine = own.user + own.system + own.children_user + own.children_system
        return time.perf_counter(), busy - mine

    def value(self):
        clock, busy = self.now()
        return round(max(0.0, (busy - self.start[1]) / max(clock - self.start[0], 0.01)), 3)


def wait_for_quiet(limit, patience):
    """Waits until other processes leave the cores alone for two seconds, or for `patience` seconds."""
    deadline = time.perf_counter() + patience
    while time.perf_counter() < deadline:
        others = Interference()
        time.sleep(2)
        if others.value() <= limit:
            return


def run_plan(plan, prefill, decode):
    """prefill(n) returns seconds; decode(depth, gen, repeat) yields seconds, one per repetition."""
    results = []
    for length in plan.prompt:
        others = Interference()
        seconds = [prefill(length) for _ in range(plan.repeat)]
        results.append({"attention": "dense", "test": "prefill", "prompt": length,
                        "tokens_per_second": rates(length, seconds), "others_cpu": others.value()})
    for depth in plan.depth:
        others = Interference()
        seconds = list(decode(depth, plan.gen, plan.repeat))
        results.append({"attention": "dense", "test": "decode", "depth": depth,
                        "tokens_per_second": rates(plan.gen, seconds), "others_cpu": others.value()})
    return results


def report(results, **facts):
    print(json.dumps({"results": results, "peak_rss_bytes": peak_rss_bytes(), **facts}))
