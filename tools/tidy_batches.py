#!/usr/bin/env python3
"""tidy_batches.py DATABASE TARGET [CHANGED]: writes the runs of clang-tidy for tools/check_tidy.sh.

The tool reads DATABASE/compile_commands.json and writes TARGET/compile_commands.json with flags that clang accepts.
TARGET/work has a line for each run of clang-tidy: a source, or a batch and its sources. Most of a run goes into headers
(CLI11's take 25 seconds), so up to eight sources of a room are joined in one file. CHANGED holds names of files, one a
line: only their sources are checked, the first MOST_CHANGED of them. For a header X.h that is X.cc or X.isa.cc, if there
is one.
"""

import json
import pathlib
import re
import sys

MOST_CHANGED = 20
BATCH = 8
ENDS = {".h": [".cc", ".isa.cc"]}  # endings of a header's own sources
ROOT = pathlib.Path(__file__).resolve().parents[1]


def sources(database):
    """The database's entry of each source; of kernels that of one instruction set."""
    found = {}
    for entry in json.loads((database / "compile_commands.json").read_text()):
        level = re.search(r"-DLH_ISA=(\w+)", entry["command"])
        if level and level[1] != "avx512_bf16":
            continue
        path = pathlib.Path(entry["file"]).resolve()
        # Sources that the build writes are not checked. Sources that were deleted after the folder
        # was configured cannot be checked.
        if path in found or path.is_relative_to(ROOT / "build") or not path.exists():
            continue
        command = re.sub(r"^(\S*cmake -E env \S+ )?\S*ccache ", "", entry["command"])
        command = re.sub(r"-Winvalid-pch -include \S+|-fpch-preprocess", "", command)
        entry["command"] = re.sub(r"-Wno-(maybe-uninitialized|uninitialized|psabi)", "", command)
        found[path] = entry
    return found


def changed_of(names, found):
    paths = [pathlib.Path(name).resolve() for name in names]
    wanted = [path.with_suffix(end) for path in paths for end in ENDS.get(path.suffix, [path.suffix])]
    changed = [path for path in dict.fromkeys(wanted) if path in found]
    left = len(changed) - MOST_CHANGED
    print(f"{min(len(changed), MOST_CHANGED)} changed sources" + f"; {left} more are left to ./check --long" * (left > 0))
    return changed[:MOST_CHANGED]


def compiled_alone():
    """Sources with names of their own that others of the room have too: cmake/Unity.cmake."""
    text = "\n".join((ROOT / name).read_text() for name in ("CMakeLists.txt", "src/cli/CMakeLists.txt"))
    return set(" ".join(re.findall(r"ALONE ([^)$]*)\)", text)).split())


def batches(paths):
    """Sources of one room that may stand in one file, at most BATCH at a time."""
    alone = compiled_alone()
    rooms = {}
    for path in paths:
        own_flags = path.stem in alone or path.name.endswith(".isa.cc")
        rooms.setdefault(path if own_flags else path.parent, []).append(path)
    return [members[i:i + BATCH] for members in rooms.values() for i in range(0, len(members), BATCH)]


def main():
    database, target = map(pathlib.Path, sys.argv[1:3])
    found = sources(database)
    paths = list(found)
    if len(sys.argv) > 3:
        paths = changed_of(pathlib.Path(sys.argv[3]).read_text().splitlines(), found)
    entries, work = list(found.values()), []
    for number, batch in enumerate(batches(paths)):
        if len(batch) == 1:
            work.append(str(batch[0].relative_to(ROOT)))
            continue
        whole = target.resolve() / f"batch_{number}.cc"
        whole.write_text("".join(path.read_text() + "\n" for path in batch))
        entry = dict(found[batch[0]])
        entry["command"] = entry["command"].replace(entry["file"], str(whole))
        entry["file"] = str(whole)
        entries.append(entry)
        work.append(" ".join(str(path.relative_to(ROOT)) for path in [whole, *batch]))
    (target / "compile_commands.json").write_text(json.dumps(entries))
    (target / "work").write_text("".join(line + "\n" for line in work))


if __name__ == "__main__":
    main()
