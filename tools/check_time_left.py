#!/usr/bin/env python3
"""Checks the time left that `longhaul run` shows during prefill.

    python3 tools/check_time_left.py LONGHAUL MODEL TEXT TOKENS... [--attention METHOD]

The tool runs the beginning of TEXT with about TOKENS tokens in a terminal of its own. At each tenth of the way it compares
the forecast of the whole time with the final time, in per cent (90: the forecast was too short). The first number is by
the clock, the second by processor time, which other programs change less. The exit status is 1 if a forecast by processor
time is off by more than 15 %.
"""
import argparse
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

BAR = re.compile(r"prefill \[[#.]*\] ([\d,]+) / ([\d,]+) tokens, ([\d.]+) tokens/s, "
                 r"(?:(\d+) h )?(?:(\d+) min )?(?:([\d.]+) (s|ms) )?left")
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def state_of(found):
    """(share read, seconds so far, seconds left), as a bar tells them."""
    done, total = (int(found.group(i).replace(",", "")) for i in (1, 2))
    hours, minutes, seconds, unit = found.group(4, 5, 6, 7)
    left = 3600 * int(hours or 0) + 60 * int(minutes or 0) + float(seconds or 0) * (0.001 if unit == "ms" else 1)
    return done / total, done / float(found.group(3)), left


def watch(command):
    """Every state of the bar, with the processor's seconds since the reading began."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    told, history, text = [], [], ""
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.02)
        history.append((time.monotonic(), processor_seconds(pid)))
        if not ready:
            continue
        try:
            text += os.read(terminal, 65536).decode("utf-8", "replace")
        except OSError:  # the program has ended
            break
        for found in BAR.finditer(text):
            told.append((*state_of(found), *history[-1]))
        text = text[text.rfind("\r"):]
        if told and told[-1][0] == 1:
            break
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    os.waitpid(pid, 0)
    if not told or told[-1][0] < 1:
        sys.exit("the bar was not seen to its end: give more tokens")
    begun = told[0][3] - told[0][1]
    before = max((used for at, used in history if at <= begun), default=0)
    return [(share, seconds, left, used - before) for share, seconds, left, _, used in told]


def check(command, tokens):
    told = watch(command)
    _, whole, _, used_whole = told[-1]
    worst, line = 0, []
    for tenth in range(1, 10):
        _, seconds, left, used = next(t for t in told if t[0] >= tenth / 10)
        clock = (seconds + left) / whole
        processor = (used / used_whole) / (seconds / (seconds + left))
        worst = max(worst, abs(processor - 1))
        line.append(f"{100 * clock:.0f}/{100 * processor:.0f}")
    print(f"{tokens:>7,} tokens, {whole:.1f} s, {used_whole:.1f} s of the processor: {' '.join(line)}", flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longhaul")
    parser.add_argument("model")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("tokens", type=int, nargs="+")
    parser.add_argument("--attention", default="dense")
    parser.add_argument("--threads", default="0")
    args = parser.parse_args()
    text = args.text.read_text(encoding="utf-8")
    count = subprocess.run([args.longhaul, "tokenize", "-m", args.model, "-f", args.text, "--count"],
                           capture_output=True, text=True, check=True).stdout
    letters = len(text) / int(re.sub(r"\D", "", count.split()[0]))  # letters per token
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder) / "part.txt"
        for tokens in args.tokens:
            part.write_text(text[:int(letters * tokens)], encoding="utf-8")
            command = [args.longhaul, "run", "-m", args.model, "--attention", args.attention, "-t", args.threads,
                       "-f", str(part), "-p", "What is this?", "-n", "1", "--temp", "0"]
            worst = max(worst, check(command, tokens))
    print(f"the furthest off, by the processor's time: {100 * worst:.0f} %")
    return 1 if worst > 0.15 else 0


if __name__ == "__main__":
    sys.exit(main())
