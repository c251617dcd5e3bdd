#!/usr/bin/env python3
"""The rooms of src/, read from the calls of longhaul_room() in CMakeLists.txt: the one list of them.

  rooms.py --changed [COMMIT]   the rooms that differ from COMMIT (HEAD~1) or are not committed, and all rooms above
                                them, one a line; all rooms if the build itself changed
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CALL = re.compile(r"^longhaul_room\((\w+)([^)]*)\)", re.MULTILINE)
PROGRAM = "cli"  # the room above all others; src/cli/CMakeLists.txt links it


def _read():
    depends, alone = {}, {}
    for name, rest in CALL.findall((ROOT / "CMakeLists.txt").read_text(encoding="utf-8")):
        words = rest.split()
        cut = words.index("ALONE") if "ALONE" in words else len(words)
        depends[name] = [word[3:] for word in words[:cut] if word.startswith("lh_")]
        alone[name] = set(words[cut + 1:])
    depends[PROGRAM] = list(depends)
    alone[PROGRAM] = set()
    return depends, alone


DEPENDS, ALONE = _read()
ROOMS = list(DEPENDS)  # bottom to top


def with_those_above(rooms):
    """These rooms and every room that is linked with one of them."""
    found = set(rooms)
    for room in ROOMS:  # bottom to top: one walk is enough
        if found & set(DEPENDS[room]):
            found.add(room)
    return [room for room in ROOMS if room in found]


def room_of(path):
    """The room of a file's sources or tests; None for files that no room is built from, "all" for the build's own."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] in ("src", "tests") and len(parts) > 2 and parts[1] in DEPENDS:
        return parts[1]
    if parts[0] in ("src", "tests", "cmake") or path in ("CMakeLists.txt", "CMakePresets.json"):
        return "all"
    return None


def changed_files(commit):
    def git(*arguments):
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"error: git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.splitlines()

    return git("diff", "--name-only", commit) + git("ls-files", "--others", "--exclude-standard")


def changed_rooms(commit):
    rooms = {room_of(path) for path in changed_files(commit)} - {None}
    return ROOMS if "all" in rooms else with_those_above(rooms)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] != ["--changed"] or len(arguments) > 2:
        sys.exit(__doc__)
    for room in changed_rooms(arguments[1] if len(arguments) == 2 else "HEAD~1"):
        print(room)


if __name__ == "__main__":
    main()
