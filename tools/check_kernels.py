#!/usr/bin/env python3
"""Compiles every CUDA kernel for all cards that Longhaul names and prints what the assembler reports: registers, stack,
spills and static shared memory. It fails on spills, on stack, and on serialised wgmma products, except for the
kernels in KNOWN, each of which has a bound and a reason.

    tools/check_kernels.py                       # all cards, all cores
    tools/check_kernels.py --arch 90a --only attend
    tools/check_kernels.py --json kernels.json

Needs nvcc and c++filt, but no GPU.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURES = ("80", "86", "89", "90a", "120")
FLAGS = ("-std=c++20", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", f"-I{ROOT / 'src'}", "-Xptxas", "-v", "-cubin")
# For each kernel (a pattern of its plain name): the maximum bytes of stack and of spills, and the
# reason.
KNOWN = {
    r"attend_few<256>": (192, "256 numbers a row leave no registers; at most 3 % of its loads"),
    r"attend_tile<64, 64>": (32, "two blocks a processor leave 128 registers a thread; on sm_90a alone"),
    r"choose_antidiagonals_kernel": (120, "two blocks a processor leave 32 registers a thread: 270 us instead of 317 with one"),
    r"matvec_kernel<.*MatvecForm<[48],": (272, "the sums of 4 or 8 rows are indexed while they are added up: a stack, once a block"),
    r"row_tile_kernel<": (320, "two blocks a processor leave 128 registers a thread: addresses, once for 256 columns"),
    r"UnitsQ3_K, MatvecForm<8,": (208, "the widest block type with the most rows, on sm_120 alone"),
    r"tile_maps_kernel<": (320, "keys and rows of a tile in registers; a few hundred bytes a tile of 128 rows"),
    r"choose_kernel<true>": (8, "one register on sm_80 alone"),
    r"add_directions<32>": (8, "one register on sm_120 alone"),
    r"gather_kernel$": (8, "one register on sm_120 alone"),
    r"span_scores_kernel<": (8, "one register on sm_120 alone"),
    r"logits_kernel": (8, "two registers on sm_120 alone"),
}
FUNCTION = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def compile_one(source: pathlib.Path, arch: str, nvcc: str) -> tuple[list[dict], str]:
    """The kernels of a source, and what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, *FLAGS, f"--generate-code=arch=compute_{arch},code=sm_{arch}",
                   "-x", "cu", str(source), "-o", f"{folder}/kernel.cubin"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [], f"{source.name} for sm_{arch}: {done.stderr.strip()[-400:]}"
    kernels: list[dict] = []
    for line in done.stderr.splitlines():
        if found := FUNCTION.search(line):
            kernels.append({"source": source.name, "name": found[1], "arch": arch, "serialised": False})
        elif not kernels:
            continue
        elif found := STACK.search(line):
            kernels[-1] |= dict(zip(("stack", "stores", "loads"), map(int, found.groups())))
        elif found := USED.search(line):
            kernels[-1] |= {"registers": int(found[1]), "shared": int(found[2] or 0)}
        if "wgmma" in line and "serialized" in line:
            kernels[-1]["serialised"] = True
    return kernels, ""


def plain_names(kernels: list[dict]) -> None:
    """Kernels' names without namespaces and parameters."""
    names = "\n".join(kernel["name"] for kernel in kernels)
    plain = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True).stdout.splitlines()
    for kernel, name in zip(kernels, plain):
        name = re.sub(r"\(anonymous namespace\)::|longhaul::cuda::|longhaul::|^void ", "", name)
        kernel["name"] = re.sub(r"\(.*", "", name)


def fault(kernel: dict) -> str:
    """What is wrong with a kernel; empty: nothing."""
    if kernel["serialised"]:
        return "its wgmma products were serialised"
    most = next((bound for pattern, (bound, _) in KNOWN.items() if re.search(pattern, kernel["name"])), 0)
    for what in ("stack", "stores", "loads"):
        if kernel.get(what, 0) > most:
            return f"{kernel['stack']} bytes of stack, {kernel['stores']} and {kernel['loads']} bytes of spills (most: {most})"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--arch", default=",".join(ARCHITECTURES), help="cards, separated by commas")
    parser.add_argument("--only", default="", help="sources whose names contain this")
    parser.add_argument("--nvcc", default=os.environ.get("NVCC", "nvcc"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, help="all kernels go to this file")
    options = parser.parse_args()

    sources = [s for s in sorted((ROOT / "src").rglob("*.cu")) if options.only in s.name]
    work = [(source, arch) for arch in options.arch.split(",") for source in sources]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda each: compile_one(*each, options.nvcc), work))
    kernels = [kernel for found, _ in results for kernel in found]
    errors = [error for _, error in results if error]
    if not kernels and not errors:
        errors.append("there is no kernel to check")
    if kernels:
        plain_names(kernels)
    errors += [f"{k['name']} for sm_{k['arch']}: {fault(k)}" for k in kernels if fault(k)]
    if options.json:
        options.json.write_text(json.dumps(kernels, indent=1) + "\n")
    for arch in options.arch.split(","):
        own = [k for k in kernels if k["arch"] == arch]
        if own:
            widest = max(own, key=lambda k: k["registers"])
            print(f"sm_{arch}: {len(own)} kernels, at most {widest['registers']} registers ({widest['name']})")
    for error in errors:
        print("error:", error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
