#!/usr/bin/env bash
# clang-tidy over every source that the release build compiles; one instruction set of each kernel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
database=build/release
[ -f $database/compile_commands.json ] || cmake --preset release >/dev/null

# Flags that only GCC knows would be warnings, and warnings are errors.
mkdir -p build/tidy
python3 - $database build/tidy <<'PYTHON'
import json, pathlib, re, sys
source, target = map(pathlib.Path, sys.argv[1:])
entries, seen = [], set()
for entry in json.loads((source / "compile_commands.json").read_text()):
    levels = re.search(r"-DLH_ISA=(\w+)", entry["command"])
    if levels and levels[1] != "avx512_bf16":
        continue
    if entry["file"] in seen:
        continue
    seen.add(entry["file"])
    entry["command"] = re.sub(r"^\S*ccache ", "", entry["command"])
    entry["command"] = re.sub(r"-Wno-(maybe-uninitialized|uninitialized|psabi)", "", entry["command"])
    entries.append(entry)
(target / "compile_commands.json").write_text(json.dumps(entries))
print("\n".join(sorted(seen)), file=open(target / "files", "w"))
PYTHON
xargs -a build/tidy/files -P "${JOBS:-$(nproc)}" -n 4 clang-tidy -p build/tidy --quiet 2>build/tidy/log ||
  { echo "error: clang-tidy found something" >&2; exit 1; }
