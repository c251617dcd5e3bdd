#!/usr/bin/env bash
# check_fuzz.sh [SECONDS]: every fuzz target for a minute (or so many seconds), from its seeds, as
# many at a time as there are cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
tools/build.sh fuzz

fuzz_one() {
  local program=$1 seconds=$2
  local name work
  name=$(basename "$program" _fuzz)
  work=build/fuzz/work/$name
  mkdir -p "$work/found"
  if "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$work/" "$work/found" "fuzz/corpus/$name" >"$work/log" 2>&1; then
    echo "-- $name: $(awk '/number_of_executed_units/ {print $2}' "$work/log") inputs"
  else
    tail -n 40 "$work/log" >&2
    return 1
  fi
}
export -f fuzz_one
printf '%s\n' build/fuzz/fuzz/*_fuzz |
  xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'fuzz_one "$1" "$2"' _ {} "$seconds"
