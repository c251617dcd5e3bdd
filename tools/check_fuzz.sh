#!/usr/bin/env bash
# check_fuzz.sh [SECONDS]: every fuzz target for a minute (or so many seconds), from its seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
tools/build.sh fuzz
for program in build/fuzz/fuzz/*_fuzz; do
  name=$(basename "$program" _fuzz)
  echo "-- $name"
  work=build/fuzz/work/$name
  mkdir -p "$work/found"
  "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$work/" "$work/found" "fuzz/corpus/$name" >"$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; exit 1; }
done
