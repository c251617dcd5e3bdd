#!/usr/bin/env python3
"""Packs the fuzz targets, or the tests of kernels under sanitizers, for a machine without compiler, libraries and network. The
archive has the programs without debug information, the libraries with their loader, and the data. There run
./run_fuzz.sh SECONDS CORES OUT [WALL], or ./run_asan.sh OUT [SECONDS [PROCESSES]].

usage: pack_checks.py fuzz|asan OUT.tar.xz
  fuzz  build/fuzz (tools/build.sh fuzz fuzz_targets)
  asan  build/asan, configured with -DLONGHAUL_TEST_ROOT=. (longhaul_ops_test, longhaul_kv_test,
        longhaul_attention_test)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOADER = b"/lib64/ld-linux-x86-64.so.2"
# Relative to the pack's folder, in which programs are started.
OWN_LOADER = b"lib/ld-linux-x86-64.so.2"
KINDS = {
    "fuzz": {
        "programs": lambda: sorted((ROOT / "build/fuzz/fuzz").glob("*_fuzz")),
        "data": ["fuzz/corpus", "tests/data/tiny_models/llama_linear", "tests/data/tiny_models/mistral",
                 "models/nano"],
        "runner": "fuzz_all.py",
        "start": 'exec nice -n 19 python3 tools/fuzz_all.py "$1" --cores "$2" --results "$out" '
                 '--programs bin --work work ${4:+--wall "$4"}',
        "out": "$3",
    },
    "asan": {
        "programs": lambda: [ROOT / f"build/asan/tests/longhaul_{room}_test"
                             for room in ("ops", "kv", "attention")],
        "data": ["tests/data/dequantize", "tests/data/minference", "models/nano"],
        "runner": "run_sanitized.py",
        "start": 'exec python3 tools/run_sanitized.py bin "$out" ${2:-300} ${3:-8}',
        "out": "$1",
    },
}


def libraries_of(program):
    for line in subprocess.run(["ldd", program], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if "=> /" in line:
            yield pathlib.Path(line.split("=> ")[1].split(" (")[0])


def take_program(program, pack):
    to = pack / "bin" / program.name
    subprocess.run(["strip", "-o", to, program], check=True)
    content = to.read_bytes()
    to.write_bytes(content.replace(LOADER, OWN_LOADER.ljust(len(LOADER), b"\0"), 1))
    for library in libraries_of(program):
        if not (pack / "lib" / library.name).exists():
            shutil.copy(library.resolve(), pack / "lib" / library.name)


def fill(kind, pack):
    for folder in ("bin", "lib", "tools"):
        (pack / folder).mkdir()
    for program in kind["programs"]():
        take_program(program, pack)
    loader = pathlib.Path(LOADER.decode())
    shutil.copy(loader.resolve(), pack / "lib" / loader.name)
    for name in kind["data"]:
        shutil.copytree(ROOT / name, pack / name, ignore=shutil.ignore_patterns("model-0*"))
    shutil.copy(ROOT / "tools" / kind["runner"], pack / "tools")


def write_start(name, kind, pack):
    script = pack / f"run_{name}.sh"
    script.write_text(f"""#!/usr/bin/env bash
set -euo pipefail
mkdir -p "{kind['out']}"
out=$(realpath "{kind['out']}")
cd "$(dirname "$(realpath "${{BASH_SOURCE[0]}}")")"
export LONGHAUL_SOURCE=$PWD
{kind['start']}
""")
    script.chmod(0o755)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    kind = KINDS[sys.argv[1]]
    out = pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        pack = pathlib.Path(folder) / f"longhaul-{sys.argv[1]}"
        pack.mkdir()
        fill(kind, pack)
        write_start(sys.argv[1], kind, pack)
        subprocess.run(["tar", "-C", folder, "-cJf", out, pack.name], check=True,
                       env={**os.environ, "XZ_OPT": "-T1 --x86 --lzma2=preset=6,dict=256MiB"})
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
