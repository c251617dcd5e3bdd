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

changed=()
if [ "${1-}" = --changed ]; then changed=(build/tidy/changed); fi
python3 tools/tidy_batches.py $database build/tidy "${changed[@]}"

# A batch that has a finding is looked at source by source, so that what is said is true of one:
# files put together repeat each other's includes, and may have two things of one name.
tidy() {
  local whole=$1
  shift
  if [ $# -gt 0 ]; then
    clang-tidy -p build/tidy --quiet --checks=-readability-duplicate-include "$whole" >/dev/null 2>&1 || clang-tidy -p build/tidy --quiet "$@"
  else
    clang-tidy -p build/tidy --quiet "$whole"
  fi
}
export -f tidy
xargs -r -a build/tidy/work -P "${JOBS:-$(nproc)}" -L 1 bash -c 'tidy "$@"' _ 2>build/tidy/log || {
  grep -v ' warnings\? generated\.$' build/tidy/log >&2 || true  # those that are not shown
  echo "error: clang-tidy found something" >&2
  exit 1
}
