#!/usr/bin/env python3
"""Compares `longhaul bench` with llama.cpp and Hugging Face transformers on this machine.

Every measurement is its own process, so that peak memory is that engine's alone. Engines alternate
round by round; the table gives medians over rounds. llama.cpp runs with flash attention on and off
and with batches of 512 and 2048 in the first round. Each test counts its best variant, and only
variants that were best somewhere run again. Tests disturbed by other processes are repeated.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys

import forms
import measure
from table import markdown

HERE = pathlib.Path(__file__).resolve().parent


def variants(text):
    """"1:512,0:2048" as [(1, 512), (0, 2048)]."""
    return [tuple(int(number) for number in variant.split(":")) for variant in text.split(",")]


def parse_options():
    parser = measure.parse_plan(__doc__)
    parser.add_argument("--longhaul", default="build/release/src/cli/longhaul", help="the longhaul program")
    parser.add_argument("--engines", default="longhaul,llama.cpp,transformers")
    parser.add_argument("--variants", type=variants, default=variants("1:512,1:2048,0:512,0:2048"),
                        help="variants of llama.cpp, flash attention (1 or 0) and batch; by default all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--attempts", type=int, default=4, help="runs of one test until undisturbed")
    parser.add_argument("--disturbance", type=float, default=0.05,
                        help="CPU seconds a second that other processes may use")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait for quiet cores before each process")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("build/compare"),
                        help="folder for the model in the peers' formats")
    parser.add_argument("--json", type=pathlib.Path, help="file for all measurements")
    return parser.parse_args()


def joined(lengths):
    return ",".join(str(length) for length in lengths)


def plan_arguments(options, model, prompt, depth):
    return ["-m", str(model), "--prompt", joined(prompt), "--depth", joined(depth),
            "--gen", str(options.gen)]


class Engine:
    """One engine in one variant: the commands that measure it, and the samples so far."""

    def __init__(self, name, variant, command, splits):
        self.name, self.variant, self.command = name, variant, command
        self.splits = splits  # whether the engine accepts an empty list of prompts or depths
        self.samples = {}  # (test, length) -> [(tokens per second, CPU taken by others)]
        self.peak, self.facts = 0, {}

    def run(self, options, prompt, depth):
        measure.wait_for_quiet(options.disturbance, options.patience)
        others = measure.Interference()
        done = subprocess.run(self.command(prompt, depth), capture_output=True, text=True)
        disturbed = others.value()
        if done.returncode != 0:
            sys.exit(f"{self.name} {self.variant}: exit {done.returncode}\n{done.stderr[-2000:]}")
        reply = json.loads(done.stdout[done.stdout.index("{"):])
        self.peak = max(self.peak, reply["peak_rss_bytes"])
        self.facts = {key: value for key, value in reply.items()
                      if key not in ("results", "peak_rss_bytes")}
        for result in reply["results"]:
            if result.get("attention", "dense") != "dense":
                continue
            length = result["prompt"] if result["test"] == "prefill" else result["depth"]
            self.samples.setdefault((result["test"], length), []).append(
                (result["tokens_per_second"]["median"], result.get("others_cpu", disturbed)))
        print(f"{self.name} {self.variant} prompt {joined(prompt)} depth {joined(depth)}: other "
              f"processes took {disturbed:.2f} CPU", file=sys.stderr)

    def run_round(self, options, wanted):
        """Measures every wanted test once more, again and again while others disturb it."""
        before = {test: len(self.samples.get(test, [])) for test in wanted}
        for _ in range(options.attempts):
            open_tests = [test for test in wanted if not any(
                others <= options.disturbance
                for _, others in self.samples.get(test, [])[before[test]:])]
            if not open_tests:
                return
            tests = open_tests if self.splits else wanted
            self.run(options, [length for test, length in tests if test == "prefill"],
                     [length for test, length in tests if test == "decode"])

    def quiet_samples(self, test, limit):
        """Undisturbed rates; when there is none, the least disturbed one."""
        samples = self.samples.get(test, [])
        quiet = [rate for rate, others in samples if others <= limit]
        return quiet or [min(samples, key=lambda sample: sample[1])[0]] if samples else []

    def median(self, test, limit):
        rates = self.quiet_samples(test, limit)
        return statistics.median(rates) if rates else None


def make_engines(options):
    wanted = options.engines.split(",")
    engines = []
    if "longhaul" in wanted:
        engines.append(Engine("longhaul", "", lambda prompt, depth: [
            options.longhaul, "bench", *plan_arguments(options, options.model, prompt, depth),
            "--threads", str(options.threads), "--repeat", str(options.repeat), "--no-machine",
            "--json"], splits=False))
    if "llama.cpp" in wanted:
        gguf = forms.gguf_file(options.model, options.cache)
        for flash, batch in options.variants:
            engines.append(Engine(
                "llama.cpp", f"fa={flash} batch={batch}",
                lambda prompt, depth, flags=("--flash-attention", str(flash), "--batch", str(batch)): [
                    sys.executable, str(HERE / "llama_cpp_worker.py"),
                    *plan_arguments(options, gguf, prompt, depth),
                    "--threads", str(options.threads), *flags], splits=True))
    if "transformers" in wanted:
        folder = forms.hf_folder(options.model, options.cache)
        engines.append(Engine("transformers", "", lambda prompt, depth: [
            sys.executable, str(HERE / "transformers_worker.py"),
            *plan_arguments(options, folder, prompt, depth), "--threads", str(options.threads)],
            splits=True))
    return engines


def best_of(engines, test, limit):
    """The fastest variant of one engine for one test."""
    measured = [engine for engine in engines if engine.median(test, limit)]
    return max(measured, key=lambda engine: engine.median(test, limit), default=None)


def winners(engines, tests, limit):
    names = dict.fromkeys(engine.name for engine in engines)
    groups = [[engine for engine in engines if engine.name == name] for name in names]
    best = {id(best_of(group, test, limit)) for group in groups for test in tests}
    return [engine for engine in engines if id(engine) in best]


def processor():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].split("\n"))
    facts = {key.strip(): value.strip() for key, value in lines.items()}
    sets = [flag for flag in facts["flags"].split() if flag in (
        "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8")]
    return f"{facts['model name']}, {' '.join(sets)}, {platform.machine()}"


def main():
    options = parse_options()
    tests = [("prefill", length) for length in options.prompt]
    tests += [("decode", depth) for depth in options.depth]
    engines = make_engines(options)
    running = engines
    for _ in range(options.rounds):
        for engine in running:
            engine.run_round(options, tests)
        running = winners(engines, tests, options.disturbance)
    print(markdown(options, processor(), engines, tests, best_of))
    if options.json:
        options.json.write_text(json.dumps({
            "processor": processor(), "threads": options.threads, "model": options.model,
            "engines": [{
                "name": engine.name, "variant": engine.variant, "peak_rss_bytes": engine.peak,
                **engine.facts,
                "samples": [{"test": test, "length": length, "tokens_per_second": rate,
                             "others_cpu": others}
                            for (test, length), rates in engine.samples.items()
                            for rate, others in rates]} for engine in engines]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
