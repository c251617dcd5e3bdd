#!/usr/bin/env python3
"""Runs every fuzz target that was built and reports the results.

The tool needs no compiler: tools/pack_checks.py packs the programs and their seeds for another machine. Corpora stay in
WORK, where the next run continues. WORK/fuzz.json sums up the time of each target, and the least tested target is
first. A target that breaks continues with the remaining time. The tool fails if one broke.

usage: fuzz_all.py SECONDS [--cores N] [--wall SECONDS] [--only TARGET...] [--programs DIR]
                   [--seeds DIR] [--work DIR] [--results DIR]
  SECONDS    time of each target
  --wall     limit of the whole run
  --programs folder of the *_fuzz programs (build/fuzz/fuzz)
  --seeds    folder with a folder of seeds for each target (fuzz/corpus)
  --work     logs, grown corpora and inputs that broke a target (build/fuzz/work)
  --results  folder for fuzz.json and found.tar.xz at the end (corpora, logs, breaking inputs; below 10 MB).
             An empty WORK is filled from it
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FINDINGS = ("crash-", "oom-", "timeout-", "leak-")
MOST_RESULT_BYTES = 9_000_000


def environment(programs):
    """Of a program that was packed with its libraries: those, for it alone."""
    libraries = programs.resolve().parent / "lib"
    return {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if libraries.is_dir() else None


def findings(work):
    return sorted(p for p in work.glob("*-*") if p.name.startswith(FINDINGS))


class Target:
    """One program: its folders, and its line of fuzz.json."""

    def __init__(self, program, args, table):
        self.program = program
        self.name = program.name.removesuffix("_fuzz")
        self.work = args.work / self.name
        self.seeds = args.seeds / self.name
        self.environment = environment(args.programs)
        self.found = self.work / "found"
        self.found.mkdir(parents=True, exist_ok=True)
        self.sums = table.setdefault(
            self.name, {"seconds": 0, "cpu_seconds": 0, "executions": 0, "edges": 0})
        self.ended = 0  # how often the target ended before its time was up

    def mended(self):
        """What broke it once and no longer does is a seed."""
        for path in findings(self.work):
            if subprocess.run([self.program, "-timeout=25", "-rss_limit_mb=4096", path],
                              env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                path.rename(self.found / path.name)

    def run(self, seconds):
        """So many seconds, begun anew after each input that breaks it, 20 times at most."""
        end = time.monotonic() + seconds
        for _ in range(20):
            left = round(end - time.monotonic())
            if left < 1 or self.run_once(left) == 0:
                return

    def run_once(self, seconds):
        log = self.work / f"log-{time.time_ns()}"
        command = [self.program, f"-max_total_time={seconds}", "-rss_limit_mb=4096", "-timeout=25",
                   "-print_final_stats=1", f"-artifact_prefix={self.work}/", self.found, self.seeds]
        begun = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.sums["seconds"] += time.monotonic() - begun
        self.sums["cpu_seconds"] += used.ru_utime + used.ru_stime
        self.read(log, process.returncode)
        return process.returncode

    def read(self, log, code):
        text = log.read_text(errors="replace")
        for line in text.splitlines():
            if line.startswith("stat::number_of_executed_units:"):
                self.sums["executions"] += int(line.split()[1])
            elif " cov: " in line:
                self.sums["edges"] = max(self.sums["edges"], int(line.split(" cov: ")[1].split()[0]))
        if code == 0:
            log.unlink()
        else:
            self.ended += 1
            log.write_text(text[-20_000:])


def pieces_for(targets, cores, seconds):
    """Into how many pieces each target's time is cut, so that no core waits at the end."""
    def rounds(pieces):
        return -(-targets * pieces // cores) / pieces
    choices = range(1, max(1, min(8, seconds // 60)) + 1)
    best = min(rounds(pieces) for pieces in choices)
    return next(pieces for pieces in choices if rounds(pieces) <= 1.02 * best)


class Run:
    """A queue of pieces for several workers."""

    def __init__(self, args, targets, table):
        self.args, self.targets, self.table = args, targets, table
        pieces = pieces_for(len(targets), args.cores, args.seconds)
        self.piece = args.seconds / pieces
        # Targets with the least CPU time so far come first. Among equals the largest program comes
        # first.
        order = sorted(targets, key=lambda t: (t.sums["cpu_seconds"], -t.program.stat().st_size))
        self.queue = order * pieces
        self.end = time.monotonic() + (args.wall or float("inf"))
        self.lock = threading.Lock()
        self.busy = set()

    def take(self):
        """The next piece of a target that no other worker runs."""
        with self.lock:
            for i, target in enumerate(self.queue):
                if target not in self.busy:
                    self.busy.add(target)
                    return self.queue.pop(i)
        return None

    def work(self):
        while (left := self.end - time.monotonic()) >= 2:
            target = self.take()
            if target is None:
                return
            target.run(min(self.piece, left))
            with self.lock:
                self.busy.remove(target)
                self.save()

    def save(self):
        for target in self.targets:
            target.sums["corpus"] = len(os.listdir(target.found))
            target.sums["broke"] = len(findings(target.work))
        part = self.args.work / "fuzz.json.part"
        part.write_text(json.dumps(self.table, indent=1, sort_keys=True))
        part.rename(self.args.work / "fuzz.json")

    def all(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.args.cores)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.save()


def worth_keeping(args, most):
    """Logs, what broke a target, and of each corpus the smallest inputs, `most` bytes of each."""
    for work in sorted(path for path in args.work.iterdir() if path.is_dir()):
        yield from (path for path in sorted(work.iterdir()) if path.is_file())
        left = most
        for size, path in sorted((path.stat().st_size, path) for path in (work / "found").iterdir()):
            left -= size + 512  # 512 bytes: the archive's header
            if left < 0:
                break
            yield path


def write_results(args):
    args.results.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.work / "fuzz.json", args.results)
    archive = args.results / "found.tar.xz"
    most = 2 << 20
    while True:
        with tarfile.open(archive, "w:xz", preset=1) as out:
            for path in worth_keeping(args, most):
                out.add(path, path.relative_to(args.work), recursive=False)
        if archive.stat().st_size <= MOST_RESULT_BYTES or most < 4096:
            return
        most //= 4


def read_results(args):
    args.work.mkdir(parents=True, exist_ok=True)
    if args.results is None or (args.work / "fuzz.json").exists():
        return
    if (args.results / "fuzz.json").exists():
        shutil.copy(args.results / "fuzz.json", args.work)
    if (args.results / "found.tar.xz").exists():
        subprocess.run(["tar", "-xJf", args.results / "found.tar.xz", "-C", args.work], check=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--wall", type=int)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/fuzz/fuzz")
    parser.add_argument("--seeds", type=pathlib.Path, default=ROOT / "fuzz/corpus")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/fuzz/work")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    return parser.parse_args()


def main():
    args = parse()
    read_results(args)
    programs = [p for p in sorted(args.programs.glob("*_fuzz"))
                if not args.only or p.name.removesuffix("_fuzz") in args.only]
    if not programs:
        sys.exit(f"error: no *_fuzz in {args.programs}")
    path = args.work / "fuzz.json"
    table = json.loads(path.read_text()) if path.exists() else {}
    targets = [Target(program, args, table) for program in programs]
    for target in targets:
        target.mended()
    Run(args, targets, table).all()
    if args.results is not None:
        write_results(args)
    print(f"{'target':22} {'cpu s':>8} {'executions':>14} {'per s':>8} {'edges':>7} {'corpus':>7} broke")
    for target in targets:
        s = target.sums
        print(f"{target.name:22} {s['cpu_seconds']:8.0f} {s['executions']:14} "
              f"{s['executions'] / max(1, s['cpu_seconds']):8.0f} {s['edges']:7} {s['corpus']:7} "
              f"{s['broke']:5}")
    if any(target.sums["broke"] or target.ended for target in targets):
        sys.exit(f"error: what broke them lies in {args.work}")


if __name__ == "__main__":
    main()
