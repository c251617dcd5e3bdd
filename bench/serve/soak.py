#!/usr/bin/env python3
"""Mixed traffic for a long time: memory, descriptors, threads and latency must not grow.

  soak.py PROGRAM -m MODEL [--minutes 30] [--workers 6] [-t 1]

Workers draw among chats, completions, streams, Anthropic's messages, clients that leave, documents (added, asked about,
deleted) and small pages. Latency is that of chats, completions and whole streams. The server keeps 64 MiB of prompts, so
that its cache is full early. The first tenth of the time is not part of the slope of memory."""

import argparse
import asyncio
import collections
import json
import random
import time

import load
from servers import Programs, machine, percentile

KINDS = {"chat": 5, "completion": 5, "stream": 5, "messages": 2, "leaves": 4, "document": 1, "page": 3}


class Soak:
    def __init__(self, server, options):
        self.server, self.end, self.seconds = server, time.perf_counter() + options.minutes * 60, options.minutes * 60
        self.counts, self.problems = collections.Counter(), collections.Counter()
        self.latencies, self.samples = [], []  # (seconds since the start, seconds); (requests, bytes, fds, threads)
        self.began = time.perf_counter()

    def left(self):
        return self.end - time.perf_counter()

    async def post(self, path, body, wanted=200):
        client = await load.Client(self.server.port).open()
        try:
            await client.send("POST", path, body)
            status, data = await client.answer()
        finally:
            client.close()
        if status != wanted:
            self.problems[f"{path} {status} {data[:80]}"] += 1
        return json.loads(data)

    async def plain(self, method, path):
        client = await load.Client(self.server.port).open()
        await client.send(method, path)
        status, data = await client.answer()
        client.close()
        return status, data

    async def chat(self, draw):
        text = load.text_of(draw.randint(5, 300), draw.randrange(1 << 30))
        await self.post("/v1/chat/completions", {"messages": [{"role": "user", "content": text}],
                                                 "max_tokens": draw.randint(1, 24), "temperature": draw.choice([0, 1])})

    async def completion(self, draw):
        await self.post("/v1/completions", {"prompt": load.text_of(draw.randint(5, 300), draw.randrange(1 << 30)),
                                            "max_tokens": draw.randint(1, 24), "n": draw.choice([1, 1, 2]),
                                            "temperature": 0})

    async def messages(self, draw):
        text = load.text_of(draw.randint(5, 200), draw.randrange(1 << 30))
        await self.post("/v1/messages", {"messages": [{"role": "user", "content": text}], "max_tokens": 8,
                                         "temperature": 0})

    def stream_body(self, draw):
        return {"prompt": load.text_of(draw.randint(5, 300), draw.randrange(1 << 30)), "stream": True,
                "max_tokens": draw.randint(1, 48), "temperature": 0, "ignore_eos": True}

    async def stream(self, draw):
        client = await load.Client(self.server.port).open()
        try:
            await client.send("POST", "/v1/completions", self.stream_body(draw))
            last = None
            async for last in client.events():
                pass
            if last != b"[DONE]":
                self.problems[f"stream ended with {last[:80]}"] += 1
        finally:
            client.close()

    async def leaves(self, draw):
        client = await load.Client(self.server.port).open()
        await client.send("POST", "/v1/completions", {**self.stream_body(draw), "max_tokens": 400})
        try:
            await asyncio.wait_for(client.reader.read(64), draw.random() * 0.5)
        except asyncio.TimeoutError:
            pass
        client.close()

    async def document(self, draw):
        added = await self.post("/v1/documents", {"text": load.text_of(draw.randint(50, 1500), draw.randrange(1 << 30))},
                                202)
        await self.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "What is said about the ferry?"}], "documents": [added["id"]],
            "max_tokens": 8, "temperature": 0})
        await self.plain("DELETE", "/v1/documents/" + added["id"])

    async def page(self, draw):
        await self.plain("GET", draw.choice(["/health", "/metrics", "/props", "/slots", "/v1/models"]))

    async def work(self, number):
        draw = random.Random(number)
        kinds, weights = list(KINDS), list(KINDS.values())
        while self.left() > 0:
            kind = draw.choices(kinds, weights)[0]
            begin = time.perf_counter()
            try:
                await getattr(self, kind)(draw)
            except (RuntimeError, OSError, asyncio.IncompleteReadError) as problem:
                self.problems[f"{kind}: {problem!r}"[:120]] += 1
            self.counts[kind] += 1
            if kind in ("chat", "completion", "stream"):
                self.latencies.append((begin - self.began, time.perf_counter() - begin))

    async def watch(self):
        while self.left() > 0:
            await asyncio.sleep(min(5, self.seconds / 60))
            self.samples.append((sum(self.counts.values()), self.server.rss(), *self.server.counts()))

    async def run(self, workers):
        await asyncio.gather(self.watch(), *(self.work(i) for i in range(workers)))


def slope(points):
    """Of the line with the least squares."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0


def report(soak, before, after):
    late = soak.samples[len(soak.samples) // 10:]
    growth = slope([(sample[0] / 1000, sample[1] / 2**20) for sample in late])
    tenth = soak.seconds / 10
    first = [seconds for at, seconds in soak.latencies if at < tenth]
    last = [seconds for at, seconds in soak.latencies if at >= soak.seconds - tenth]
    requests = sum(soak.counts.values())
    print(f"{machine()}: {requests:,} requests in {soak.seconds / 60:.1f} min: "
          + ", ".join(f"{count:,} {kind}" for kind, count in soak.counts.most_common()))
    print(f"resident memory without files: {late[0][1] / 2**20:.1f} MiB at first, {late[-1][1] / 2**20:.1f} MiB at last, "
          f"at most {max(sample[1] for sample in late) / 2**20:.1f} MiB; slope {growth:+.3f} MiB per 1,000 requests")
    print(f"idle before and after: descriptors {before[0]}, {after[0]}; threads {before[1]}, {after[1]}; "
          f"most while busy: {max(s[2] for s in late)}, {max(s[3] for s in late)}")
    p99 = percentile(first, 99), percentile(last, 99)
    print(f"p99 of chats, completions and streams: first tenth {p99[0]:.2f} s ({len(first)}), last tenth {p99[1]:.2f} s "
          f"({len(last)}), ratio {p99[1] / p99[0]:.2f}; p50 {percentile(first, 50):.2f}, {percentile(last, 50):.2f} s")
    print(f"unexpected answers: {sum(soak.problems.values())} {dict(soak.problems.most_common(5)) or ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("-t", "--threads", type=int, default=1)
    options = parser.parse_args()
    programs = Programs(options.program, None, options.threads)
    with programs.longhaul(options.model, "--cache-memory", "64M", "--memory-limit", "1G") as server:
        warm = Soak(server, argparse.Namespace(minutes=0.05))
        asyncio.run(warm.run(options.workers))
        time.sleep(2)
        before = server.counts()
        soak = Soak(server, options)
        asyncio.run(soak.run(options.workers))
        time.sleep(3)
        report(soak, before, server.counts())


if __name__ == "__main__":
    main()
