#!/usr/bin/env python3
"""Longhaul and llama-server in turn on one GPU, on loopback: 64 clients, and replies beside a long prompt.

  compare_gpu.py PROGRAM --llama FOLDER --model 8b.gguf [--rounds 2] [--parts clients,beside] [--long 131072]

The model is Llama 3.1 8B's shape with random weights in Q8_0 (tools/make_plain_random_gguf.py)."""

import argparse
import asyncio
import statistics
import time

import load
from compare import Table, each, gap_rows, gaps_beside, one_reply
from servers import Programs, alternate, percentile, token_ids


def starts(options, programs, context, slots, kinds=((), ("--kv-unified",))):
    """Longhaul, and llama-server with and without a common KV cache."""
    all_starts = [lambda: programs.longhaul(options.model, "--device", "cuda", "--parallel", str(slots), "--queue", "200")]
    for kind in kinds:
        all_starts.append(lambda kind=kind: programs.llama(options.model, "-ngl", "99", *kind, context=context, slots=slots))
    return all_starts


def clients_part(options, programs):
    """All clients send at the same moment."""
    table = Table(f"{options.clients} clients, prompts of {options.prompt:,} tokens, replies of {options.reply}")

    def measure(server):
        async def run():
            await one_reply(server, token_ids(64, 9), 4)
            result, begin = load.new_result(), time.perf_counter()
            await asyncio.gather(*(one_reply(server, token_ids(options.prompt, 1000 + i), options.reply, result)
                                   for i in range(options.clients)))
            seconds = time.perf_counter() - begin
            return (result["tokens"] / seconds, statistics.median(result["first"]),
                    percentile(result["gaps"], 99) * 1000, result["errors"])
        return asyncio.run(run())

    context = options.clients * (options.prompt + options.reply + 64)
    both = alternate(options.rounds, starts(options, programs, context, options.clients), measure)
    table.row("tokens/s, prompts included", each(both, lambda r: r[0]), 0)
    table.row("first token, median", each(both, lambda r: r[1]), 2, " s")
    table.row("between tokens, p99", each(both, lambda r: r[2]), 0, " ms")
    table.row("errors", each(both, lambda r: r[3]), 0)


def beside_part(options, programs):
    table = Table(f"{options.replies} replies beside a prompt of {options.long:,} tokens")
    context = 2 * options.long + 32768
    both = alternate(options.rounds, starts(options, programs, context, options.replies + 2, (("--kv-unified",),)),
                     lambda server: gaps_beside(server, options.replies, options.long, 512))
    gap_rows(table, both)


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
    programs = Programs(options.program, options.llama, options.threads)
    for part in options.parts.split(","):
        PARTS[part](options, programs)


if __name__ == "__main__":
    main()
