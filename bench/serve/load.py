#!/usr/bin/env python3
"""Load for a server on loopback, as an open loop: requests leave at given times whatever the answers do, and latency
counts from the intended time.

  load.py health  --port P [--requests 20000] [--connections 32]     requests/s of GET /health
  load.py tokenize --port P [--requests 5000]                        requests/s of POST /tokenize with 1 KiB
  load.py chat    --port P --rate 2 --requests 40 [--prompt 512] [--reply 128]
  load.py beside  --port P --replies 4 --prompt 100000               gaps between tokens beside one long prompt
  load.py chaos   --port P --requests 200                            clients that go at random moments

Every run is bounded by --requests and --seconds. Works with any server that has OpenAI's /v1/completions.
"""

import argparse
import asyncio
import json
import random
import time

WORDS = "the grass is green and the sky is blue while a ferry crosses the bay at noon".split()


def text_of(tokens, seed):
    """About this many tokens of plain words."""
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(tokens))


def percentiles(values, unit=1000):
    if not values:
        return "no samples"
    ordered = sorted(values)
    at = {p: ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))] * unit for p in (50, 90, 99)}
    return f"p50 {at[50]:.2f} ms, p90 {at[90]:.2f} ms, p99 {at[99]:.2f} ms, most {ordered[-1] * unit:.2f} ms"


class Client:
    """One keep-alive connection."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    def close(self):
        self.writer.close()

    async def send(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.writer.write((f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
                           f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n").encode() + data)
        await self.writer.drain()

    async def header(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:] if line)}
        return int(lines[0].split()[1]), fields

    async def answer(self):
        status, fields = await self.header()
        body = await self.reader.readexactly(int(fields.get("content-length", 0)))
        if fields.get("connection") == "close":  # a connection has a limit of requests
            self.close()
            await self.open()
        return status, body

    async def events(self):
        """Data of the events of a stream."""
        status, fields = await self.header()
        if fields.get("transfer-encoding") != "chunked":
            body = await self.reader.readexactly(int(fields.get("content-length", 0)))
            raise RuntimeError(f"{status} {body[:200]}")
        rest = b""
        while True:
            size = int(await self.reader.readline(), 16)
            rest += await self.reader.readexactly(size)
            await self.reader.readexactly(2)
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data: "):
                    yield line[6:]
            if size == 0:
                return


def completion(args, prompt, reply, seed, **more):
    return {"prompt": text_of(prompt, seed), "max_tokens": reply, "temperature": 0, "stream": True, "ignore_eos": True,
            "stream_options": {"include_usage": True}, **more}


async def closed_loop(args, method, path, body):
    left = args.requests
    times = []

    async def work():
        nonlocal left
        client = await Client(args.port).open()
        while left > 0 and time.perf_counter() < args.end:
            left -= 1
            begin = time.perf_counter()
            await client.send(method, path, body)
            status, _ = await client.answer()
            assert status == 200, status
            times.append(time.perf_counter() - begin)
        client.close()

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(args.connections)))
    seconds = time.perf_counter() - begin
    print(f"{len(times)} requests, {len(times) / seconds:.0f}/s; {percentiles(times)}")


async def one_stream(args, body, intended, result):
    """Streams one reply and notes first token, gaps and tokens."""
    client = await Client(args.port).open()
    try:
        await client.send("POST", "/v1/completions", body)
        last = None
        async for data in client.events():
            if data == b"[DONE]":
                break
            event = json.loads(data)
            if "error" in event:
                result["errors"] += 1
                return
            if event.get("usage"):
                result["tokens"] += event["usage"]["completion_tokens"]
            if not event["choices"] or not event["choices"][0].get("text"):
                continue
            now = time.perf_counter()
            if last is None:
                result["first"].append(now - intended)
            else:
                result["gaps"].append(now - last)
            last = now
    except (RuntimeError, asyncio.IncompleteReadError, ConnectionError):
        result["errors"] += 1
    finally:
        client.close()


def new_result():
    return {"first": [], "gaps": [], "tokens": 0, "errors": 0}


def report(result, seconds):
    print(f"{len(result['first'])} replies, {result['errors']} errors, {result['tokens'] / seconds:.1f} tokens/s\n"
          f"  first token   {percentiles(result['first'])}\n  between tokens {percentiles(result['gaps'])}")


async def chat(args):
    result = new_result()
    begin = time.perf_counter()
    tasks = []
    for i in range(args.requests):
        intended = begin + (i / args.rate if args.rate > 0 else 0)
        await asyncio.sleep(max(0, intended - time.perf_counter()))
        if time.perf_counter() > args.end:
            break
        body = completion(args, args.prompt, args.reply, seed=i)
        tasks.append(asyncio.create_task(one_stream(args, body, intended, result)))
    await asyncio.gather(*tasks)
    report(result, time.perf_counter() - begin)


async def beside(args):
    """Replies alone, then beside one long prompt; and the long prompt alone."""
    async def prefill(seed):
        begin = time.perf_counter()
        await one_stream(args, completion(args, args.prompt, 1, seed=seed), begin, new_result())
        return time.perf_counter() - begin

    alone = await prefill(1000)
    result = new_result()
    stop = False

    async def keep_replying(i):
        turn = 0
        while not stop and time.perf_counter() < args.end:
            turn += 1
            await one_stream(args, completion(args, 64, 64, seed=i * 1000 + turn), time.perf_counter(), result)

    replies = [asyncio.create_task(keep_replying(i)) for i in range(args.replies)]
    await asyncio.sleep(2)
    result["gaps"].clear()
    begin = time.perf_counter()
    together = await prefill(2000)
    report(result, time.perf_counter() - begin)
    stop = True
    await asyncio.gather(*replies)
    print(f"  the long prompt {alone:.1f} s alone, {together:.1f} s beside {args.replies} replies")


async def chaos(args):
    draw = random.Random(1)

    async def one(i):
        client = await Client(args.port).open()
        await client.send("POST", "/v1/completions", completion(args, draw.randint(10, 2000), 50, seed=i))
        try:
            await asyncio.wait_for(client.reader.read(), draw.random() * 2)
        except asyncio.TimeoutError:
            pass
        client.close()

    for start in range(0, args.requests, 16):
        await asyncio.gather(*(one(i) for i in range(start, min(args.requests, start + 16))))
    client = await Client(args.port).open()
    await client.send("POST", "/v1/completions", {"prompt": "the grass is", "max_tokens": 2})
    status, _ = await client.answer()
    print(f"{args.requests} clients went; the next request got {status}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["health", "tokenize", "chat", "beside", "chaos"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=0, help="requests/s; 0: all at once")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--reply", type=int, default=128)
    parser.add_argument("--replies", type=int, default=4)
    args = parser.parse_args()
    args.end = time.perf_counter() + args.seconds
    work = {"health": lambda: closed_loop(args, "GET", "/health", None),
            "tokenize": lambda: closed_loop(args, "POST", "/tokenize", {"content": text_of(220, 1)}),
            "chat": lambda: chat(args), "beside": lambda: beside(args), "chaos": lambda: chaos(args)}
    asyncio.run(work[args.kind]())


if __name__ == "__main__":
    main()
