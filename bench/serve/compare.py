#!/usr/bin/env python3
"""Longhaul and llama-server in turn, on loopback; prints the tables of docs/lab/serving.md.

  compare.py PROGRAM --llama FOLDER [--nano FILE] [--smollm2 FILE] [-t 1] [--rounds 3] [--long 16384] [--parts a,b]

PROGRAM is longhaul of a build with tests (its --mock is used). FOLDER has llama-server and llama-batched-bench. Both
programs read the same GGUF files: --nano is models/nano in bf16 (bench/compare/forms.py makes it), --smollm2 is any
SmolLM2-135M. `wrk` makes the load of /health and /tokenize."""

import argparse
import asyncio
import json
import re
import select
import socket
import statistics
import subprocess
import tempfile
import time

import load
from servers import Programs, alternate, machine, percentile, spread, token_ids

SCHEMA = {"type": "array", "minItems": 20, "maxItems": 20, "items": {
    "type": "object", "additionalProperties": False, "required": ["name", "kind", "size", "done"],
    "properties": {"name": {"type": "string", "maxLength": 12}, "kind": {"enum": ["fish", "bird", "plant"]},
                   "size": {"type": "integer"}, "done": {"type": "boolean"}}}}


class Table:
    def __init__(self, title):
        print(f"\n{title}: {machine()}\n\n| subject | Longhaul | llama-server |\n|---|---|---|", flush=True)

    def row(self, subject, results, digits=1, unit=""):
        cells = [spread(results[name], digits, unit) if results.get(name) else "-"
                 for name in ("Longhaul", "llama-server")]
        print(f"| {subject} | {cells[0]} | {cells[1]} |", flush=True)


def each(results, pick):
    return {name: [pick(one) for one in values] for name, values in results.items()}


def wrk(server, path, body=None, seconds=4):
    """Requests per second of 32 connections."""
    script = f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [==[{body}]==]\n'
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script if body else "")
        file.flush()
        out = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", "-s", file.name,
                              f"http://127.0.0.1:{server.port}{path}"], capture_output=True, text=True, check=True)
    if "Non-2xx" in out.stdout:
        raise RuntimeError(out.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out.stdout)[1])


def http_part(options, programs):
    """Requests that cost the engine nothing, one after the other on one connection."""
    table = Table("HTTP")

    def times(server):
        body = {"prompt": "the grass is", "max_tokens": 1, "temperature": 0}

        async def ask():
            client, taken = await load.Client(server.port).open(), []
            for _ in range(2000):
                begin = time.perf_counter()
                await client.send("POST", "/v1/completions", body)
                await client.answer()
                taken.append((time.perf_counter() - begin) * 1000)
            client.close()
            return taken[100:]
        return asyncio.run(ask())

    mock = alternate(options.rounds, [lambda: programs.longhaul(options.nano, "--mock")], times)
    for part in (50, 99):
        table.row(f"completion of a mock engine, p{part}", each(mock, lambda t, p=part: percentile(t, p)), 3, " ms")
    text = json.dumps({"content": load.text_of(220, 1)})
    both = alternate(options.rounds, starts(options, programs, options.nano),
                     lambda s: (wrk(s, "/health"), wrk(s, "/tokenize", text)))
    table.row("GET /health", each(both, lambda r: r[0]), 0, "/s")
    table.row("POST /tokenize of 1 KiB", each(both, lambda r: r[1]), 0, "/s")


def starts(options, programs, model, context=32768, slots=8):
    return [lambda: programs.longhaul(model),
            lambda: programs.llama(model, *options.llama_flags, context=context, slots=slots)]


async def health_times(port, count=400, pause=0.005, limit=20):
    """Milliseconds of each answer. Ends with `limit` seconds if there is no answer in that time."""
    client, taken = await load.Client(port).open(), []
    for _ in range(count):
        begin = time.perf_counter()
        await client.send("GET", "/health")
        try:
            await asyncio.wait_for(client.answer(), limit)
        except asyncio.TimeoutError:
            return [limit * 1000]
        taken.append((time.perf_counter() - begin) * 1000)
        await asyncio.sleep(pause)
    client.close()
    return taken


def streams_part(options, programs):
    """200 streams of which 8 are computed; the others wait. 20,000 ms stand for no answer in that time. Addresses
    127.0.0.2 and 3 share the connections. 8 replies before them make the buffers that all streams share."""
    table = Table("200 open streams")
    body = {"prompt": token_ids(16, 1), "max_tokens": 4000, "stream": True, "ignore_eos": True, "temperature": 0}

    def measure(server):
        async def open_all():
            await asyncio.gather(*(one_reply(server, token_ids(16, 300 + i), 8) for i in range(8)))
            before = server.rss() - kv_bytes(server)
            clients = []
            for i in range(200):
                client = load.Client(server.port)
                client.reader, client.writer = await asyncio.open_connection(
                    "127.0.0.1", server.port, local_addr=(f"127.0.0.{2 + i % 2}", 0))
                await client.send("POST", "/v1/completions", body)
                clients.append(client)
            await asyncio.sleep(1)
            times = await health_times(server.port)
            grown = server.rss() - kv_bytes(server) - before
            for client in clients:
                client.close()
            return percentile(times, 99), grown / 200 / 1024
        return asyncio.run(open_all())

    both = alternate(options.rounds,
                     [lambda: programs.longhaul(options.nano, "--queue", "400"),
                      lambda: programs.llama(options.nano, *options.llama_flags)], measure)
    table.row("GET /health meanwhile, p99", each(both, lambda r: r[0]), 2, " ms")
    table.row("memory per stream, without keys and values of Longhaul", each(both, lambda r: r[1]), 1, " KiB")


def kv_bytes(server):
    """Bytes of keys and values that the server reports; llama-server reports none, and has its own from the start."""
    if server.name != "Longhaul":
        return 0
    text = server.ask("GET", "/metrics")[1]
    states = dict(re.findall(r'longhaul_kv_bytes{state="(\w+)"} ([\d.e+]+)', text))
    return float(states["live"]) + float(states["cached"])


async def one_reply(server, prompt, reply, result=None, **more):
    result = result or load.new_result()
    body = {"prompt": prompt, "max_tokens": reply, "temperature": 0, "stream": True, "ignore_eos": True,
            "stream_options": {"include_usage": True}, **more}
    arguments = argparse.Namespace(port=server.port)
    await load.one_stream(arguments, body, time.perf_counter(), result)
    if result["errors"]:
        raise RuntimeError(f"{server.name} has not answered a prompt of {len(prompt)} tokens")


def gaps_beside(server, replies, long, reply_tokens):
    """Gaps between tokens of replies while a prompt of `long` tokens is read, and its seconds alone and beside them."""
    async def run():
        async def prefill(seed):
            begin = time.perf_counter()
            await one_reply(server, token_ids(long, seed), 1)
            return time.perf_counter() - begin

        await one_reply(server, token_ids(64, 9), 4)  # the first request of a server loads more than later ones
        alone = await prefill(1)
        result, reading = load.new_result(), True

        async def reply_on(i):
            turn = 0
            while reading:
                turn += 1
                await one_reply(server, token_ids(64, i * 1000 + turn), reply_tokens, result)

        tasks = [asyncio.create_task(reply_on(i + 1)) for i in range(replies)]
        await asyncio.sleep(2)
        result["gaps"].clear()
        together = await prefill(2)
        gaps, reading = list(result["gaps"]), False
        await asyncio.gather(*tasks)
        return gaps, alone, together
    return asyncio.run(run())


def gap_rows(table, results, name=""):
    table.row(f"{name}between tokens, p50", each(results, lambda r: percentile(r[0], 50) * 1000), 0, " ms")
    table.row(f"{name}between tokens, p99", each(results, lambda r: percentile(r[0], 99) * 1000), 0, " ms")
    table.row(f"{name}longest", each(results, lambda r: max(r[0]) * 1000), 0, " ms")
    table.row(f"{name}the prompt alone", each(results, lambda r: r[1]), 1, " s")
    table.row(f"{name}the prompt beside the replies", each(results, lambda r: r[2]), 1, " s")


def beside_part(options, programs):
    """Gaps between tokens of 4 replies while a long prompt is read, and what they cost the prompt."""
    table = Table(f"4 replies beside a prompt of {options.long:,} tokens")
    for name, model in models(options):
        context = 2 * options.long + 8192
        both = alternate(options.rounds, [
            lambda m=model: programs.longhaul(m),
            lambda m=model: programs.llama(m, "--kv-unified", context=context, slots=6)],
            lambda server: gaps_beside(server, 4, options.long, 64))
        gap_rows(table, both, f"{name}: ")


def models(options):
    return [(name, model) for name, model in (("nano bf16", options.nano), ("SmolLM2-135M", options.smollm2)) if model]


def clients_part(options, programs):
    table = Table("8 clients, prompts of 512 tokens, replies of 128")

    def measure(server):
        async def run():
            await one_reply(server, token_ids(64, 9), 4)
            result, begin = load.new_result(), time.perf_counter()
            await asyncio.gather(*(one_reply(server, token_ids(512, i), 128, result) for i in range(8)))
            return result["tokens"] / (time.perf_counter() - begin), statistics.median(result["first"])
        return asyncio.run(run())

    for name, model in models(options):
        both = alternate(options.rounds, starts(options, programs, model, context=8 * 1024), measure)
        table.row(f"{name}: tokens/s", each(both, lambda r: r[0]))
        table.row(f"{name}: first token, median", each(both, lambda r: r[1]), 2, " s")


def batch_part(options, programs):
    """longhaul bench beside llama-batched-bench."""
    table = Table("decode of 1 and 8 sequences at depth 512, tokens/s")
    for name, model in models(options):
        results = {1: {}, 8: {}}
        for _ in range(options.rounds):
            out = subprocess.run([options.program, "bench", "-m", model, "-t", programs.threads, "--sessions", "1,8",
                                  "--depth", "512", "--gen", "64", "--repeat", "1", "--json", "--no-machine"],
                                 capture_output=True, text=True, check=True).stdout
            for row in find_rows(json.loads(out)):
                results[row["sessions"]].setdefault("Longhaul", []).append(row["rate"])
            out = subprocess.run([f"{programs.llama_folder}/llama-batched-bench", "-m", model, "-npp", "512", "-ntg",
                                  "64", "-npl", "1,8", "-c", "8192", "-fa", "on", "-t", programs.threads],
                                 capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                cells = [cell.strip() for cell in line.split("|")]
                if len(cells) > 8 and cells[1] == "512":
                    results[int(cells[3])].setdefault("llama-server", []).append(float(cells[8]))
        for count, of_count in results.items():
            table.row(f"{name}: {count}", of_count)


def find_rows(report):
    """Rows of `bench --sessions --json`."""
    return [{"sessions": row["sessions"], "rate": row["tokens_per_second"]["median"]}
            for row in report["results"] if row["test"] == "batch"]


def begin_long_prompt(server, client, count, seed):
    """Sends a prompt and returns once the engine works on it."""
    body = json.dumps({"prompt": token_ids(count, seed), "n_predict": 4}).encode()
    client.sendall(b"POST /completion HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(body) + body)
    end, received = time.perf_counter() + 20, b""
    while not server.busy():
        if select.select([client], [], [], 0.002)[0]:
            received += client.recv(4096)  # the header of a stream may come before the work begins
        if b"error" in received or b"stop" in received or time.perf_counter() > end:
            raise RuntimeError(f"{server.name} does not read the prompt: {received[-300:]}")


def cancel_part(options, programs):
    """The prompts are so long that both programs read them for seconds. 60,000 ms stand for a longer time. The replies
    are no streams, because llama-server notices the end of a stream's client only at its next event."""
    table = Table("after a client has gone")

    def measure(server):
        times = []
        for i in range(3):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.settimeout(5)
                begin_long_prompt(server, client, options.long, i)
                time.sleep(0.3)
                if not server.busy():
                    raise RuntimeError(f"{server.name} has read the prompt within 0.3 s: make --long larger")
            begin = time.perf_counter()
            try:
                while server.busy(timeout=60) and time.perf_counter() - begin < 60:
                    time.sleep(0.001)
            except TimeoutError:  # GET /slots waits for the engine of llama-server
                pass
            times.append(min(60, time.perf_counter() - begin) * 1000)
            if times[-1] == 60_000:
                return times[-1]
        return statistics.median(times)

    both = alternate(options.rounds, starts(options, programs, options.nano, context=8 * (options.long + 1024)), measure)
    table.row(f"time until the engine is free (prompt of {options.long:,} tokens)", both, 0, " ms")


def idle_part(options, programs):
    table = Table("idle, nano, 10 s")

    def measure(server):
        time.sleep(1)
        before = server.cpu_seconds()
        time.sleep(10)
        return server.seconds_to_ready * 1000, server.whole_rss() / 2**20, server.rss() / 2**20, \
            (server.cpu_seconds() - before) * 10

    both = alternate(options.rounds, starts(options, programs, options.nano, context=8 * 4096), measure)
    table.row("start until /health is 200", each(both, lambda r: r[0]), 0, " ms")
    table.row("RSS", each(both, lambda r: r[1]), 1, " MiB")
    table.row("RSS without pages of files", each(both, lambda r: r[2]), 1, " MiB")
    table.row("CPU", each(both, lambda r: r[3]), 2, " %")


def traces_part(options, programs):
    """Prompts that begin as earlier ones did: tokens that are prefilled, and seconds."""
    table = Table("library (8 documents of 2,000 tokens, 200 questions of 40) and agent (40 turns, 1,000 to 4,900 tokens)")

    def measure(server):
        def read(prompt):
            timing = server.complete(prompt=prompt, n_predict=1)["timings"]
            return timing["prompt_n"], timing["prompt_ms"] / 1000

        texts = [token_ids(2000, 100 + i) for i in range(8)]
        order = load.random.Random(5)
        library = [read((texts[i] if i < 8 else order.choice(texts)) + token_ids(40, 1000 + i)) for i in range(200)]
        prompt, agent = token_ids(1000, 7), []
        for turn in range(40):
            agent.append(read(prompt))
            prompt = prompt + token_ids(100, 2000 + turn) if turn < 39 else prompt
        return [sum(n for n, _ in library), sum(s for _, s in library), sum(n for n, _ in agent),
                sum(s for _, s in agent)]

    both = alternate(options.rounds, [
        lambda: programs.longhaul(options.nano),
        lambda: programs.llama(options.nano, "--cache-ram", "16384", "--ctx-checkpoints", "32", context=4 * 8192,
                               slots=4)], measure)
    for i, (subject, digits, unit) in enumerate((("library: tokens prefilled", 0, ""), ("library: prefill", 1, " s"),
                                                 ("agent: tokens prefilled", 0, ""), ("agent: prefill", 1, " s"))):
        table.row(subject, each(both, lambda r, i=i: r[i]), digits, unit)


def grammar_part(options, programs):
    table = Table("decode with a JSON schema, one reply")

    def measure(server):
        rates = []
        for more in ({}, {"json_schema": SCHEMA}):
            server.complete(prompt="A list of things:\n", n_predict=8, **more)
            timing = server.complete(prompt="A list of animals:\n", n_predict=192, **more)["timings"]
            rates.append(timing["predicted_n"] / timing["predicted_ms"] * 1000)
        return rates

    for name, model in models(options):
        both = alternate(options.rounds, starts(options, programs, model), measure)
        table.row(f"{name}: free, tokens/s", each(both, lambda r: r[0]))
        table.row(f"{name}: with the schema, tokens/s", each(both, lambda r: r[1]))


PARTS = {"http": http_part, "streams": streams_part, "idle": idle_part, "cancel": cancel_part, "clients": clients_part,
         "batch": batch_part, "grammar": grammar_part, "traces": traces_part, "beside": beside_part}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--llama", required=True, metavar="FOLDER")
    parser.add_argument("--nano", required=True, metavar="FILE")
    parser.add_argument("--smollm2", metavar="FILE")
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, default=16384)
    parser.add_argument("--llama-flags", nargs="*", default=[])
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    programs = Programs(options.program, options.llama, options.threads)
    for part in options.parts.split(","):
        PARTS[part](options, programs)


if __name__ == "__main__":
    main()
