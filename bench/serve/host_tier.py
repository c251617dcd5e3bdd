#!/usr/bin/env python3
"""Evictions to host memory and back on a GPU: python3 bench/serve/host_tier.py PROGRAM MODEL

Two prompts take turns on a device whose prefix cache has room for one of them. Prints the seconds and
GB/s of the copies each way, the time until the first token of a question about the first prompt (cold,
warm, and after its keys and values were on the host), and the time between two tokens of other replies
without copies, during a copy to the host, and during a copy back."""

import argparse
import http.client
import json
import pathlib
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from servers import Programs, machine, percentile, token_ids  # noqa: E402


class Replies:
    """Replies that are streamed beside the copies, and the times of their tokens."""

    def __init__(self, port, count, tokens):
        self.times = [[] for _ in range(count)]
        self.ending = False
        self.threads = [threading.Thread(target=self.read, args=(port, i, tokens), daemon=True) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def read(self, port, index, tokens):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        body = {"prompt": token_ids(64, 900 + index), "n_predict": tokens, "stream": True, "ignore_eos": True,
                "temperature": 0, "cache_prompt": False}
        connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        while not self.ending:
            line = answer.readline()
            if not line:
                return
            if line.startswith(b"data:"):
                self.times[index].append(time.perf_counter())
        connection.close()

    def end(self):
        self.ending = True
        for thread in self.threads:
            thread.join()

    def gaps(self, begin, end):
        """Milliseconds between two tokens of a reply that overlap with a period."""
        return [1000 * (b - a) for times in self.times for a, b in zip(times, times[1:]) if b >= begin and a <= end]


def metric(server, name, labels=""):
    text = server.ask("GET", "/metrics")[1]
    found = re.findall(rf"^{re.escape(name + labels)} ([0-9.e+-]+)$", text, re.M)
    return sum(map(float, found))


def copied(server, to):
    labels = '{to="%s"}' % to
    return (metric(server, "longhaul_host_copied_bytes_total", labels),
            metric(server, "longhaul_host_copy_seconds_total", labels))


def await_copies(server, to, least, seconds=30):
    """Waits until `least` bytes have been copied in all."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if copied(server, to)[0] >= least:
            return True
        time.sleep(0.004)
    return False


def ask(server, prompt):
    began = time.perf_counter()
    reply = server.complete(prompt=prompt, n_predict=1)
    cache = reply["longhaul"]["cache"]
    return (f"{1000 * (time.perf_counter() - began):8,.0f} ms to the first token, prefilled "
            f"{reply['timings']['prompt_n']:,}, reused {cache['reused']:,}")


def describe(name, gaps):
    if not gaps:
        return print(f"between tokens {name}: no token")
    print(f"between tokens {name}: p50 {percentile(gaps, 50):.1f} ms, p99 {percentile(gaps, 99):.1f} ms, "
          f"most {max(gaps):.1f} ms, {len(gaps)} gaps")


def speed(name, before, after):
    size, seconds = after[0] - before[0], after[1] - before[1]
    rate = f"{size / seconds / 1e9:.1f} GB/s" if seconds > 0 else "no copy"
    print(f"{name}: {size / 2**30:.2f} GiB in {seconds:.3f} s, {rate}")


def measure(server, given):
    first, second = token_ids(given.tokens, 1), token_ids(given.tokens, 2)
    print("cold           ", ask(server, first))
    print("warm           ", ask(server, first + token_ids(40, 10)))
    size = metric(server, "longhaul_kv_bytes", '{state="cached"}')
    replies = Replies(server.port, given.replies, given.reply_tokens)
    time.sleep(3)
    now = time.perf_counter()
    quiet = replies.gaps(now - 2, now)
    for round_ in range(given.rounds):
        out, back = copied(server, "host"), copied(server, "device")
        other = second if round_ == 0 else token_ids(given.tokens, 20 + round_)
        print("another prompt ", ask(server, other))
        began = time.perf_counter()
        left = await_copies(server, "host", out[0] + 0.5 * size)
        time.sleep(0.05)
        during_out = replies.gaps(began, time.perf_counter())
        speed("to the host" if left else "to the host (not complete)", out, copied(server, "host"))
        time.sleep(1)
        for prompt in (first, other):  # the cache chooses which of them has moved
            began = time.perf_counter()
            answer = ask(server, prompt + token_ids(40, 30 + round_))
            if copied(server, "device")[0] > back[0]:
                break
        print("after a trip   ", answer)
        during_back = replies.gaps(began, time.perf_counter())
        speed("to the device", back, copied(server, "device"))
        describe("without copies", quiet)
        describe("during the copy to the host", during_out)
        describe("during the copy to the device", during_back)
        time.sleep(2)
    replies.end()
    for line in server.ask("GET", "/metrics")[1].splitlines():
        if re.match(r"longhaul_(kv_bytes|evicted_bytes|host_cop|cache_evict|prompt_tokens)", line):
            print(" ", line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=65_536, help="of a prompt; 8 GiB for the shape of an 8B model")
    parser.add_argument("--cache-memory", default="9GiB", help="room for one prompt and a half")
    parser.add_argument("--cache-host", default="40GiB")
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--reply-tokens", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--flags", default="", help="further flags of the server")
    given = parser.parse_args()
    print(machine())
    programs = Programs(given.program, "", 4)
    with programs.longhaul(given.model, "--device", given.device, "--cache-memory", given.cache_memory,
                           "--cache-host", given.cache_host, *given.flags.split()) as server:
        measure(server, given)


main()
