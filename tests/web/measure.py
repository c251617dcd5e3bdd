#!/usr/bin/env python3
"""Measures the page: python3 tests/web/measure.py [PROGRAM]

Sizes of the files, the first paint from loopback (with PROGRAM: of the server itself), and scrolling, a jump and the
memory with a text of 1,000,000 tokens. Prints one line for each. The machine has to be quiet."""

import gzip
import os
import pathlib
import random
import statistics
import sys
import time

from browser import Page, need_browser
from stand_in import WEB, StandIn

need_browser()
TOKENS = 1_000_000
SCROLL = """
const done = arguments[arguments.length - 1];
const text = document.querySelector('.text');
const frames = [];
const begin = performance.now();
let last = begin;
function step(now) {
  frames.push(now - last);
  last = now;
  text.scrollTop += 240;
  if (now - begin < 5000) requestAnimationFrame(step); else done(frames.slice(2));
}
requestAnimationFrame(step);
"""
# Clicks a source, and waits until its passage is marked and drawn.
JUMP = """
const done = arguments[arguments.length - 1];
const cites = document.querySelectorAll('.cite');
const begin = performance.now();
cites[arguments[0] % cites.length].click();
const drawn = () => (document.querySelector('mark.active') ? requestAnimationFrame(() => done(performance.now() - begin)) : setTimeout(drawn, 1));
drawn();
"""


def words(tokens):
    """A text of about so many tokens, in sentences and paragraphs of different lengths."""
    random.seed(7)
    names = ("harbor", "window", "letter", "river", "captain", "garden", "winter", "morning", "answer", "bridge", "station", "summer")
    parts = []
    size = 0
    while size < tokens * 44 // 10:
        sentence = "The " + " of the ".join(random.choices(names, k=random.randint(3, 9))) + f" has number {random.randint(1000, 9999)}. "
        parts.append(sentence + ("\n\n" if random.random() < 0.2 else ""))
        size += len(parts[-1])
    return "".join(parts)


def renderer_bytes(driver):
    """Private memory of the processes that draw pages of this browser."""
    mine, sizes = driver.service.process.pid, []
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    for pid in parents:
        at = pid
        while at not in (mine, 0, 1):
            at = parents.get(at, 0)
        try:
            if at == mine and b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                sizes.append(sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")) * 1024)
        except OSError:
            continue
    return max(sizes, default=0)


def first_paints(page, url):
    times = []
    for _ in range(7):
        page.driver.get("about:blank")
        page.driver.get(url)
        times.append(page.until(lambda: page.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"), "the first paint"))
    return times


def show(name, values, unit):
    values = sorted(values)
    print(f"{name}: median {statistics.median(values):.1f} {unit}, {values[0]:.1f} to {values[-1]:.1f} ({len(values)} times)")


def main():
    files = sorted(WEB.iterdir())
    print(f"files: {len(files)}, {sum(f.stat().st_size for f in files):,} bytes, {sum(len(gzip.compress(f.read_bytes(), 9)) for f in files):,} bytes compressed")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    text = words(TOKENS)
    page = Page()
    try:
        if len(sys.argv) > 1:
            sys.path.insert(0, str(WEB.parent / "tests/serve"))
            from server_process import ServerProcess
            with ServerProcess(sys.argv[1], "-q") as server:
                show("first paint, longhaul serve", first_paints(page, f"http://127.0.0.1:{server.port}/"), "ms")
        with StandIn(speed=1e9, pause=0) as server:
            show("first paint, stand-in", first_paints(page, server.url), "ms")
            empty = renderer_bytes(page.driver)
            document = server.store.add(text, "long.txt")
            print(f"text: {server.store.documents[document]['document']['tokens']:,} tokens, {server.store.documents[document]['document']['characters']:,} characters")
            page.open(f"{server.url}#/d/{document}")
            page.until(lambda: page.all(".document-head button"), "the document")
            page.ask("Where?")
            page.answered()
            begin = time.monotonic()
            page.run("document.querySelector('.cite').click()")
            page.one("mark.active")
            print(f"the text is there and the passage marked after {time.monotonic() - begin:.2f} s")
            frames = page.driver.execute_async_script(SCROLL)
            print(f"scroll: {1000 / statistics.mean(frames):.0f} frames/s, longest frame {max(frames):.0f} ms, {sum(f > 34 for f in frames)} of {len(frames)} longer than 34 ms")
            show("jump to a passage", [page.driver.execute_async_script(JUMP, i) for i in range(1, 16)], "ms")
            print(f"blocks in the page: {len(page.all('.block'))}")
            page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            heap = {m["name"]: m["value"] for m in (page.driver.execute_cdp_cmd("Performance.enable", {}), page.driver.execute_cdp_cmd("Performance.getMetrics", {}))[1]["metrics"]}
            print(f"memory of the page: {renderer_bytes(page.driver) / 1e6:.0f} MB private, empty page {empty / 1e6:.0f} MB; heap of its scripts {heap['JSHeapUsedSize'] / 1e6:.1f} MB")
    finally:
        page.close()


if __name__ == "__main__":
    main()
