#!/usr/bin/env bash
# clang-tidy over every source that the release build compiles; one instruction set of each kernel.
# check_tidy.sh --changed: only over those that are new, or that differ from the commit before the
# last, the first 20 of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage="usage: check_tidy.sh [--changed]"
case ${1-} in
  "" | --changed) ;;
  --help | -h) echo "$usage"; exit 0 ;;
  *) echo "error: unknown argument '$1'; $usage" >&2; exit 2 ;;
esac
database=build/release
[ -f $database/compile_commands.json ] || cmake --preset release >/dev/null
mkdir -p build/tidy

# What is not committed comes first. A shallow clone lacks HEAD~1, an unpacked archive all of it.
changed_sources() {
  git ls-files --others --exclude-standard -- '*.cc' || true
  git diff --relative --name-only HEAD -- '*.cc' || true
  git diff --relative --name-only HEAD~1 -- '*.cc' || true
}
if [ "${1-}" = --changed ]; then changed_sources >build/tidy/changed 2>/dev/null; fi

# Flags that only GCC knows would be warnings, and warnings are errors.
python3 - $database build/tidy "${1-}" <<'PYTHON'
import json, pathlib, re, sys
source, target = map(pathlib.Path, sys.argv[1:3])
MOST_CHANGED = 20
entries, seen = [], {}
for entry in json.loads((source / "compile_commands.json").read_text()):
    levels = re.search(r"-DLH_ISA=(\w+)", entry["command"])
    if levels and levels[1] != "avx512_bf16":
        continue
    path = pathlib.Path(entry["file"]).resolve()
    if path in seen:
        continue
    seen[path] = entry["file"]
    entry["command"] = re.sub(r"^\S*ccache ", "", entry["command"])
    entry["command"] = re.sub(r"-Wno-(maybe-uninitialized|uninitialized|psabi)", "", entry["command"])
    entries.append(entry)
(target / "compile_commands.json").write_text(json.dumps(entries))
files = sorted(seen.values())
if sys.argv[3] == "--changed":
    paths = [pathlib.Path(name).resolve() for name in (target / "changed").read_text().splitlines()]
    changed = [seen[path] for path in dict.fromkeys(paths) if path in seen]
    files = changed[:MOST_CHANGED]
    left = len(changed) - len(files)
    print(f"{len(files)} changed sources" + f"; {left} more are left to ./check --long" * (left > 0))
(target / "files").write_text("".join(file + "\n" for file in files))
PYTHON
xargs -r -a build/tidy/files -P "${JOBS:-$(nproc)}" -n 4 clang-tidy -p build/tidy --quiet 2>build/tidy/log ||
  { echo "error: clang-tidy found something" >&2; exit 1; }
