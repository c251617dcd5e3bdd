#!/usr/bin/env bash
# clang-tidy over every source; one instruction set of each kernel.
# check_tidy.sh --changed: only over those that are new, or that differ from the commit before the
# last, the first 20 of them. For a header X.h that is X.cc or X.isa.cc, where there is one: it is
# not looked for in everything that includes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage="usage: check_tidy.sh [--changed]"
case ${1-} in
  "" | --changed) ;;
  --help | -h) echo "$usage"; exit 0 ;;
  *) echo "error: unknown argument '$1'; $usage" >&2; exit 2 ;;
esac
database=build/dev  # configured, not built: the release build compiles sources in batches
cmake --preset dev >/dev/null
mkdir -p build/tidy

# What is not committed comes first. A shallow clone lacks HEAD~1, an unpacked archive all of it.
changed_sources() {
  git ls-files --others --exclude-standard -- '*.cc' '*.h' || true
  git diff --relative --name-only HEAD -- '*.cc' '*.h' || true
  git diff --relative --name-only HEAD~1 -- '*.cc' '*.h' || true
}
if [ "${1-}" = --changed ]; then changed_sources >build/tidy/changed 2>/dev/null; fi

# Flags that only GCC knows would be warnings, and warnings are errors.
python3 - $database build/tidy "${1-}" <<'PYTHON'
import json, pathlib, re, sys
source, target = map(pathlib.Path, sys.argv[1:3])
MOST_CHANGED = 20
ENDS = {".h": [".cc", ".isa.cc"]}  # of a header's own sources
build = pathlib.Path("build").resolve()
entries, seen = [], {}
for entry in json.loads((source / "compile_commands.json").read_text()):
    levels = re.search(r"-DLH_ISA=(\w+)", entry["command"])
    if levels and levels[1] != "avx512_bf16":
        continue
    path = pathlib.Path(entry["file"]).resolve()
    # What the build writes is nobody's to tidy; what has gone since the folder was configured cannot be.
    if path in seen or path.is_relative_to(build) or not path.exists():
        continue
    seen[path] = entry["file"]
    entry["command"] = re.sub(r"^(\S*cmake -E env \S+ )?\S*ccache ", "", entry["command"])
    entry["command"] = re.sub(r"-Winvalid-pch -include \S+|-fpch-preprocess", "", entry["command"])
    entry["command"] = re.sub(r"-Wno-(maybe-uninitialized|uninitialized|psabi)", "", entry["command"])
    entries.append(entry)
(target / "compile_commands.json").write_text(json.dumps(entries))
files = sorted(seen.values())
if sys.argv[3] == "--changed":
    paths = [pathlib.Path(name).resolve() for name in (target / "changed").read_text().splitlines()]
    sources = [path.with_suffix(end) for path in paths for end in ENDS.get(path.suffix, [path.suffix])]
    changed = [seen[path] for path in dict.fromkeys(sources) if path in seen]
    files = changed[:MOST_CHANGED]
    left = len(changed) - len(files)
    print(f"{len(files)} changed sources" + f"; {left} more are left to ./check --long" * (left > 0))
(target / "files").write_text("".join(file + "\n" for file in files))
PYTHON
xargs -r -d '\n' -a build/tidy/files -P "${JOBS:-$(nproc)}" -n 4 \
  clang-tidy -p build/tidy --quiet 2>build/tidy/log || {
  grep -v ' warnings\? generated\.$' build/tidy/log >&2 || true  # those that are not shown
  echo "error: clang-tidy found something" >&2
  exit 1
}
