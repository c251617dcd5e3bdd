#!/usr/bin/env python3
"""Longhaul and llama-server in turn on one GPU, on loopback: 64 clients, and replies beside a long prompt.

  compare_gpu.py PROGRAM --llama FOLDER --model 8b.gguf [--rounds 2] [--parts clients,beside] [--long 131072]

The model is Llama 3.1 8B's shape with random weights in Q8_0 (tools/make_plain_random_gguf.py)."""

import argparse
import asyncio
import statistics
import time

import load
from compare import Table, each, one_reply
from servers import Programs, alternate, percentile, token_ids


def starts(options, programs, context, slots, kinds=((), ("--kv-unified",))):
    """Longhaul, and llama-server with and without a common KV cache."""
    all_starts = [lambda: programs.longhaul(options.model, "--device", "cuda", "--parallel", str(slots), "--queue", "200")]
    for kind in kinds:
        all_starts.append(lambda kind=kind: programs.llama(options.model, "-ngl", "99", *kind, context=context, slots=slots))
    return all_starts


def clients_part(options, programs):
    """All clients send at the same moment; a second wave measures the program when it is warm."""
    table = Table(f"{options.clients} clients, prompts of {options.prompt:,} tokens, replies of {options.reply}")

    def measure(server):
        async def wave(seed):
            result, begin = load.new_result(), time.perf_counter()
            await asyncio.gather(*(one_reply(server, token_ids(options.prompt, seed + i), options.reply, result)
                                   for i in range(options.clients)))
            return result, time.perf_counter() - begin

        async def run():
            await one_reply(server, token_ids(64, 9), 4)
            result, seconds = await wave(1000)
            first = max(result["first"], default=0)
            return (result["tokens"] / seconds, statistics.median(result["first"]),
                    percentile(result["gaps"], 99) * 1000, result["tokens"] / max(seconds - first, 1e-9), result["errors"])
        return asyncio.run(run())

    context = options.clients * (options.prompt + options.reply + 64)
    both = alternate(options.rounds, starts(options, programs, context, options.clients, options.kinds), measure)
    table.row("tokens/s, prompts included", each(both, lambda r: r[0]), 0)
    table.row("first token, median", each(both, lambda r: r[1]), 2, " s")
    table.row("between tokens, p99", each(both, lambda r: r[2]), 0, " ms")
    table.row("errors", each(both, lambda r: r[4]), 0)


def beside_part(options, programs):
    table = Table(f"{options.replies} replies beside a prompt of {options.long:,} tokens")

    def measure(server):
        async def run():
            async def prefill(seed):
                begin = time.perf_counter()
                await one_reply(server, token_ids(options.long, seed), 1)
                return time.perf_counter() - begin

            await one_reply(server, token_ids(64, 9), 4)
            alone = await prefill(1)
            result, reading = load.new_result(), True

            async def reply_on(i):
                turn = 0
                while reading:
                    turn += 1
                    await one_reply(server, token_ids(64, i * 1000 + turn), 512, result)

            replies = [asyncio.create_task(reply_on(i + 1)) for i in range(options.replies)]
            await asyncio.sleep(2)
            result["gaps"].clear()
            together = await prefill(2)
            gaps, reading = list(result["gaps"]), False
            await asyncio.gather(*replies)
            return gaps, alone, together
        return asyncio.run(run())

    context = 2 * options.long + 32768
    both = alternate(options.rounds, starts(options, programs, context, options.replies + 2, (("--kv-unified",),)), measure)
    table.row("between tokens, p50", each(both, lambda r: percentile(r[0], 50) * 1000), 1, " ms")
    table.row("between tokens, p99", each(both, lambda r: percentile(r[0], 99) * 1000), 1, " ms")
    table.row("longest", each(both, lambda r: max(r[0]) * 1000), 0, " ms")
    table.row("the prompt alone", each(both, lambda r: r[1]), 2, " s")
    table.row("the prompt beside the replies", each(both, lambda r: r[2]), 2, " s")


PARTS = {"clients": clients_part, "beside": beside_part}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--llama", required=True, metavar="FOLDER")
    parser.add_argument("--model", required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=2048)
    parser.add_argument("--reply", type=int, default=256)
    parser.add_argument("--replies", type=int, default=16)
    parser.add_argument("--long", type=int, default=131072)
    parser.add_argument("--parts", default="clients,beside")
    parser.add_argument("-t", "--threads", default="4")
    options = parser.parse_args()
    options.kinds = ((), ("--kv-unified",))
    programs = Programs(options.program, options.llama, options.threads)
    for part in options.parts.split(","):
        PARTS[part](options, programs)


if __name__ == "__main__":
    main()
