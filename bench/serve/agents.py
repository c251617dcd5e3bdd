#!/usr/bin/env python3
"""What agents do, at Longhaul and (with --llama FOLDER) llama-server in turn, on loopback.

  agents.py PROGRAM MODEL [--llama FOLDER] [--parts forms,trace,first,tools] [--rounds 3] [--flags ...] [--llama-flags ...]

forms: replies that are held to a JSON schema beside as many free ones (--clients), in one server.
trace: a conversation in the manner of Claude Code (tests/serve/agents/claude_code.json) that grows from --from to --to
  tokens in --turns turns through Messages, beside one prefill of the last prompt. --volatile changes the first system
  block in each turn, as Claude Code does; llama-server then prefills everything again.
first: the first byte and the first progress of a stream of Messages for a prompt of --to tokens.
tools: the cases of tests/serve/agents/tool_cases.json with a demanded and with a free choice of the function.

On a GPU: agents.py PROGRAM 8b.gguf --clients 64 --flags='--device cuda' --llama-flags='-ngl 99'"""

import argparse
import asyncio
import copy
import http.client
import json
import pathlib
import random
import shlex
import time

import load
from compare import SCHEMA, Table, each, one_reply
from servers import Programs, alternate, token_ids

AGENTS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "serve" / "agents"


def starts(options, programs, context, slots):
    flags = ["--ctx", str(context), *options.flags]
    all_starts = [lambda: programs.longhaul(options.model, *flags, "--parallel", str(slots), "--queue", "200")]
    if options.llama:
        all_starts.append(lambda: programs.llama(options.model, "--jinja", *options.llama_flags, context=slots * context,
                                                 slots=slots))
    return all_starts


def forms_part(options, programs):
    table = Table(f"{options.clients} replies of {options.reply} tokens, prompts of 64")

    def measure(server):
        async def tokens_per_second(seed, **more):
            result, begin, used = load.new_result(), time.perf_counter(), server.cpu_seconds()
            await asyncio.gather(*(one_reply(server, token_ids(64, seed + i), options.reply, result, **more)
                                   for i in range(options.clients)))
            return result["tokens"] / (time.perf_counter() - begin), result["tokens"] / (server.cpu_seconds() - used)

        async def run():
            form = {"json_schema": SCHEMA} if server.name == "Longhaul" else \
                {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
            for more in ({}, form):  # the first requests load more than later ones
                await one_reply(server, token_ids(64, 9), 4, **more)
            free, held = [], []
            for turn in range(options.rounds):
                free.append(await tokens_per_second(1000 + 200 * turn))
                held.append(await tokens_per_second(1100 + 200 * turn, **form))
            return free, held
        return asyncio.run(run())

    both = alternate(1, starts(options, programs, 64 + options.reply + 64, options.clients), measure)
    for name, place in (("free, tokens/s", 0), ("with a schema, tokens/s", 1)):
        table.row(name, {server: [rate for rate, _ in values[0][place]] for server, values in both.items()}, 0)
    for name, kind in (("with a schema / free", 0), ("the same per second of processor time", 1)):
        table.row(name, {server: [h[kind] / f[kind] for f, h in zip(*values[0])] for server, values in both.items()}, 3)


class Trace:
    """The prompts of a conversation. Texts are random words, of which the model's tokenizer makes many tokens."""

    def __init__(self, server, first, last, turns, volatile):
        self.request = json.loads((AGENTS / "claude_code.json").read_text())["request"]
        self.random, self.volatile = random.Random(7), volatile
        per_word = self.count(server, self.words(4000)) / 4000
        begun = self.count(server)
        self.request["messages"][0]["content"].insert(0, {"type": "text", "text": self.words(max(1, int((first - begun) / per_word)))})
        self.step = int((last - first) / (turns - 1) / per_word)
        self.turns = turns

    def words(self, count):
        return " ".join("".join(self.random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(4)) for _ in range(count))

    def count(self, server, extra=""):
        body = copy.deepcopy(self.request)
        body["messages"][0]["content"].append({"type": "text", "text": extra or "x"})
        status, answer = server.ask("POST", "/v1/messages/count_tokens", body)
        if status != 200:
            raise RuntimeError(f"{status} {answer}")
        return answer["input_tokens"]

    def prompts(self):
        request = copy.deepcopy(self.request)
        request.update(max_tokens=1, stream=False)
        for turn in range(self.turns):
            if self.volatile:
                request["system"][0]["text"] = f"x-anthropic-billing-header: cc_version=2.0.61; cc_entrypoint=cli; cch={turn * 7919 % 99991:05d};"
            yield copy.deepcopy(request)
            call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "Bash", "input": {"command": f"sed -n {turn}p a.cc"}}
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": self.words(self.step),
                      "cache_control": {"type": "ephemeral"}}
            request["messages"] += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def trace_part(options, programs):
    table = Table(f"agent through Messages, {options.turns} turns from {options.first:,} to {options.last:,} tokens")
    prompts = []

    def send(server, body):
        begin = time.perf_counter()
        status, answer = server.ask("POST", "/v1/messages", body)
        if status != 200:
            raise RuntimeError(f"{server.name}: {status} {answer}")
        usage = answer["usage"]
        return time.perf_counter() - begin, usage["input_tokens"] + usage.get("cache_creation_input_tokens", 0), \
            sum(usage.get(key) or 0 for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))

    def measure(server):
        if not prompts:
            prompts.extend(Trace(server, options.first, options.last, options.turns, options.volatile).prompts())
        used = server.cpu_seconds()
        turns = [send(server, body) for body in prompts]
        return (sum(t[0] for t in turns), sum(t[1] for t in turns), turns[-1][2], max(t[0] for t in turns[1:]),
                server.cpu_seconds() - used)

    def once(server):
        used = server.cpu_seconds()
        return send(server, prompts[-1])[0], server.cpu_seconds() - used

    context = options.last + 4096
    grown = alternate(1, starts(options, programs, context, 1), measure)
    last = alternate(1, starts(options, programs, context, 1), once)
    table.row("tokens of the last prompt", each(grown, lambda r: r[2]), 0)
    table.row("tokens prefilled in all turns", each(grown, lambda r: r[1]), 0)
    table.row("all turns", each(grown, lambda r: r[0]), 1, " s")
    table.row("longest turn after the first", each(grown, lambda r: r[3]), 2, " s")
    table.row("one prefill of the last prompt", each(last, lambda r: r[0]), 1, " s")
    for row, of_turns, of_one in (("all turns / one prefill", 0, 0), ("the same in processor time", 4, 1)):
        table.row(row, {name: [values[0][of_turns] / last[name][0][of_one]] for name, values in grown.items()}, 3)


def first_part(options, programs):
    """Longhaul only; llama-server's stream begins after the prefill."""
    table = Table(f"stream of Messages, {options.last:,} tokens")

    def measure(server):
        body = {"model": None, "max_tokens": 8, "stream": True,
                "messages": [{"role": "user", "content": "turn 000 " + "word " * options.last}]}
        body["model"] = server.ask("GET", "/v1/models")[1]["data"][0]["id"]
        text, taken = json.dumps(body).encode(), []
        for turn in range(options.rounds):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
            begin = time.perf_counter()
            connection.request("POST", "/v1/messages", text.replace(b"turn 000", b"turn %03d" % (turn + 1)), {"Content-Type": "application/json"})
            answer, first, progress = connection.getresponse(), None, None
            for line in answer if answer.status == 200 else []:
                if b"message_start" in line and first is None:
                    first = time.perf_counter() - begin
                if b'"ping"' in line:
                    progress = time.perf_counter() - begin
                    break
            if progress is None:
                raise RuntimeError(f"no stream: {answer.status} {answer.read()[:300]}")
            connection.close()
            taken.append((first * 1000, progress * 1000))
            time.sleep(1)
        return taken

    taken = alternate(1, starts(options, programs, options.last * 2, 1)[:1], measure)["Longhaul"][0]
    table.row("message_start", {"Longhaul": [t[0] for t in taken]}, 0, " ms")
    table.row("first progress", {"Longhaul": [t[1] for t in taken]}, 0, " ms")


def tools_part(options, programs):
    cases = json.loads((AGENTS / "tool_cases.json").read_text())
    tools = [{"type": "function", "function": tool} for tool in cases["tools"]]
    table = Table(f"tool calls, {len(cases['cases'])} cases")

    def right(call, case):
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (ValueError, TypeError):
            return 0, 0
        named = call["function"]["name"] == case["function"]
        wanted = case["arguments"]
        same = isinstance(arguments, dict) and all(str(arguments.get(k)).strip().lower() == str(v).lower() for k, v in wanted.items())
        return int(named), int(named and same)

    def measure(server):
        sums = {choice: [0, 0, 0] for choice in options.choices.split(",")}
        for case in cases["cases"]:
            for choice, total in sums.items():
                demanded = {"type": "function", "function": {"name": case["function"]}} if choice == "named" else choice
                offered = [t for t in tools if t["function"]["name"] in case["offered"]] if choice != "named" else \
                    [t for t in tools if t["function"]["name"] == case["function"]]
                if choice == "named" and server.name != "Longhaul":
                    demanded = "required"  # llama-server has no choice by name; one function is offered
                status, answer = server.ask("POST", "/v1/chat/completions", {
                    "messages": [{"role": "user", "content": case["question"]}], "tools": offered, "tool_choice": demanded,
                    "temperature": 0, "max_tokens": 128})
                calls = answer["choices"][0]["message"].get("tool_calls") if status == 200 else None
                if calls:
                    name, both = right(calls[0], case)
                    total[0], total[1], total[2] = total[0] + 1, total[1] + name, total[2] + both
        return sums

    both = alternate(1, starts(options, programs, 4096, 1), measure)
    for choice in options.choices.split(","):
        for place, what in enumerate(("calls", "right function", "right function and arguments")):
            table.row(f"{choice}: {what}", each(both, lambda r, c=choice, p=place: r[c][p]), 0)


PARTS = {"forms": forms_part, "trace": trace_part, "first": first_part, "tools": tools_part}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--llama", metavar="FOLDER")
    parser.add_argument("--parts", default="forms,trace,first")
    parser.add_argument("--choices", default="named,required,auto", help="of tools")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--reply", type=int, default=192)
    parser.add_argument("--from", dest="first", type=int, default=20_000)
    parser.add_argument("--to", dest="last", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--volatile", action="store_true")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("--flags", type=shlex.split, default=[], help="of Longhaul, as one argument")
    parser.add_argument("--llama-flags", type=shlex.split, default=[])
    options = parser.parse_args()
    programs = Programs(options.program, options.llama, options.threads)
    for part in options.parts.split(","):
        PARTS[part](options, programs)


if __name__ == "__main__":
    main()
