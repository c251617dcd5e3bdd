#!/usr/bin/env python3
"""Runs tests of kernels that were built with sanitizers, in parallel shards, and reports results and instruction sets.

usage: run_sanitized.py PROGRAMS OUT [SECONDS [WORKERS]]
  PROGRAMS  folder of longhaul_*_test
  OUT       folder for summary.json and failures.log
  SECONDS   limit of the whole run (300)
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

SHARDS = 48
ROOMS = ("ops", "kv", "attention")
COUNTS = ("tests", "failed", "bad_shards")
# The sanitizer's own allocations would be counted, too.
LEFT_OUT = "-Allocations.*"
PROOF = "SanitizedKernels.*"  # checks which levels ran and that a deliberate error is found


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        flags = next(line for line in info if line.startswith("flags")).split()
    return [flag for flag in flags if flag.startswith(("avx512", "amx"))]


def run_shard(program, shard, end, folder, shards=SHARDS, chosen=LEFT_OUT):
    """(what one shard's tests came to, its output if something failed)"""
    report = folder / f"{program.name}-{shard}.json"
    env = {**os.environ, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard % shards),
           "GTEST_BRIEF": "1", "LD_LIBRARY_PATH": "lib", "ASAN_OPTIONS": "detect_leaks=0"}
    left = end - time.monotonic()
    if left < 1:
        return {}, f"{program.name} shard {shard}: not begun\n"
    try:
        done = subprocess.run([program, f"--gtest_filter={chosen}", f"--gtest_output=json:{report}"],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=left)
    except subprocess.TimeoutExpired as late:
        return {}, f"{program.name} shard {shard}: not finished\n" + (late.stdout or b"").decode()[-4000:]
    found = json.loads(report.read_text()) if report.exists() else {}
    text = done.stdout.decode(errors="replace")
    return found, "" if done.returncode == 0 else f"{program.name} shard {shard}:\n{text[-40_000:]}\n"


def add(summary, room, found):
    for suite in found.get("testsuites", []):
        for test in suite["testsuite"]:
            summary[room]["tests"] += test["status"] == "RUN"
            summary[room]["failed"] += bool(test.get("failures"))
            if suite["name"] == "SanitizedKernels":
                summary["levels"] = {name: test[name] for name in
                                     ("generic", "avx2", "avx512", "avx512_bf16", "amx") if name in test}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    begun = time.monotonic()
    end = begun + (int(sys.argv[3]) if len(sys.argv) > 3 else 300)
    workers = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    out.mkdir(parents=True, exist_ok=True)
    summary = {"cpu": cpu_flags(), "levels": {}, **{room: dict.fromkeys(COUNTS, 0) for room in ROOMS}}
    failures = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        def begin(room, *more):
            return room, pool.submit(run_shard, programs / f"longhaul_{room}_test", *more)

        reports = pathlib.Path(folder)
        shards = [begin("ops", SHARDS, end, reports, 1, PROOF)]
        shards += [begin(room, shard, end, reports) for room in ROOMS for shard in range(SHARDS)]
        for room, shard in shards:
            found, text = shard.result()
            add(summary, room, found)
            summary[room]["bad_shards"] += bool(text)
            failures += [text] if text else []
    summary["seconds"] = round(time.monotonic() - begun)
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    (out / "failures.log").write_text("".join(failures)[:9_000_000])
    print(json.dumps(summary, indent=1))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
