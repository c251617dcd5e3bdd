#!/usr/bin/env bash
# Runs clang-tidy over every source and, for each kernel, over one instruction set.
# check_tidy.sh --changed checks only sources that are new or that differ from the commit before the
# last, and at most the first 20 of them. For a header X.h it checks X.cc or X.isa.cc if there is
# one. It does not look for other sources that include X.h.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage="usage: check_tidy.sh [--changed]"
case ${1-} in
  "" | --changed) ;;
  --help | -h) echo "$usage"; exit 0 ;;
  *) echo "error: unknown argument '$1'; $usage" >&2; exit 2 ;;
esac
database=build/dev  # only configured, because the release build compiles sources in batches
cmake --preset dev >/dev/null
mkdir -p build/tidy

# Uncommitted files come first. A shallow clone lacks HEAD~1, and an unpacked archive lacks the
# whole repository.
changed_sources() {
  git ls-files --others --exclude-standard -- '*.cc' '*.h' || true
  git diff --relative --name-only HEAD -- '*.cc' '*.h' || true
  git diff --relative --name-only HEAD~1 -- '*.cc' '*.h' || true
}
if [ "${1-}" = --changed ]; then changed_sources >build/tidy/changed 2>/dev/null; fi

changed=()
if [ "${1-}" = --changed ]; then changed=(build/tidy/changed); fi
python3 tools/tidy_batches.py $database build/tidy "${changed[@]}"

# If a batch has a finding, clang-tidy runs again on each of its sources, so that the finding
# belongs to one source. Files put together repeat each other's includes and may define two things
# of one name.
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
  # Counts of warnings that are not shown.
  grep -v ' warnings\? generated\.$' build/tidy/log >&2 || true
  echo "error: clang-tidy found something" >&2
  exit 1
}
