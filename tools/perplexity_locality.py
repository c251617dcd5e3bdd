#!/usr/bin/env python3
"""TriangleMix's perplexity analysis (section 2.3, table 1) for any model that `longhaul perplexity` reads. How long does it
show when rows in the middle of a prompt do not see its middle?

Rows 512 to 1,023 of each window see only the first --sink tokens and the last tokens before them, in all layers or in
half of them (the layers of the model's trianglemix profile, else the upper half). All other rows see everything. The 128
tokens right behind those rows, 1,024 to 1,151, and 128 tokens far behind them, 1,920 to 2,047, are decoded one at a time
and scored. The output is the perplexity and its difference from dense attention. If the influence of the middle is
local, only the first grows.

    tools/perplexity_locality.py build/release/src/cli/longhaul book.txt [-- -m models/nano --threads 1]
"""
import argparse
import json
import subprocess

FIRST, END, SCORED, WINDOW = 512, 1024, 128, 2048


def perplexity(options, begin, method):
    """Of the tokens [begin, begin + SCORED) of each window. The rows between END and `begin` are the prompt's last
    ones, which see everything."""
    flags = ["--ctx", str(begin + SCORED), "--prefill", str(begin), "--stride", str(begin + SCORED)]
    command = [options.program, "perplexity", options.text, *flags, "--attention", method, "--json", "-q", *options.flags]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["perplexity"], found["windows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("text", help="a text file")
    parser.add_argument("--sink", type=int, default=8)
    parser.add_argument("--layers", type=int, default=12, help="number of layers of the model")
    parser.add_argument("flags", nargs="*", help="flags of longhaul perplexity, after --")
    options = parser.parse_args()
    every = "/".join(str(layer) for layer in range(options.layers))
    print(f"{'tokens':>12}  {'windows':>7}  {'dense':>8}  {'half of the layers':>18}  {'all layers':>18}")
    for begin in (END, WINDOW - SCORED):
        # Rows before FIRST see their whole past through the window.
        triangle = f"trianglemix:sink={options.sink},window={FIRST - options.sink},last={begin - END}"
        dense, windows = perplexity(options, begin, "dense")
        line = f"{begin:5,}-{begin + SCORED:<6,}  {windows:7}  {dense:8.2f}"
        for method in (triangle, f"{triangle},layers={every}"):
            found = perplexity(options, begin, method)[0]
            line += f"  {found:8.2f} ({found - dense:+.2f})".rjust(20)
        print(line, flush=True)


if __name__ == "__main__":
    main()
