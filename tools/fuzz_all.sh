#!/usr/bin/env bash
# Runs every fuzz target that was built and says what came of it. Needs no compiler: the programs and
# their seeds can be taken to another machine (libraries that it lacks: into PROGRAMS/../lib).
# fuzz_all.sh SECONDS [WORKERS [PROGRAMS [CORPUS [OUT]]]]
#   SECONDS   for each target
#   WORKERS   processes at a time, as many as cores; where there are more than targets, each target
#             gets several, which share what they find
#   PROGRAMS  folder of the *_fuzz programs (build/fuzz/fuzz)
#   CORPUS    folder of a folder of seeds for each target (fuzz/corpus)
#   OUT       where results go (build/fuzz/work): summary.json, and per target logs, the corpus that
#             grew and each input that broke it (crash-*, oom-*, timeout-*, leak-*)
# A target that breaks goes on with the time that is left. Fails if one did.
set -euo pipefail
usage="usage: fuzz_all.sh SECONDS [WORKERS [PROGRAMS [CORPUS [OUT]]]]"
[[ ${1-} =~ ^[0-9]+$ && ${2-1} =~ ^[1-9][0-9]*$ ]] || { echo "$usage" >&2; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export FUZZ_SECONDS=$1
workers=${2:-$(nproc)}
programs=${3:-$root/build/fuzz/fuzz}
export FUZZ_CORPUS=${4:-$root/fuzz/corpus}
export FUZZ_OUT=${5:-$root/build/fuzz/work}
shopt -s nullglob
targets=("$programs"/*_fuzz)
[ ${#targets[@]} -gt 0 ] || { echo "error: no *_fuzz in $programs" >&2; exit 2; }
if [ -d "$programs/../lib" ]; then export LD_LIBRARY_PATH=$programs/../lib; fi

# One process of a target, begun anew after each input that breaks it (20 times at most).
run_one() {
  local program=$1 number=$2
  local name work end left round
  name=$(basename "$program" _fuzz)
  work=$FUZZ_OUT/$name
  end=$((SECONDS + FUZZ_SECONDS))
  for round in {1..20}; do
    left=$((end - SECONDS))
    [ "$left" -ge 1 ] || break
    ! "$program" -max_total_time="$left" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
      -reload=10 -artifact_prefix="$work/" "$work/found" "$FUZZ_CORPUS/$name" \
      >"$work/log-$number-$round" 2>&1 || break
  done
}
export -f run_one

# One line of JSON: what the logs of a target say.
summary_of() {
  local name=$1
  local work=$FUZZ_OUT/$name
  local broke=("$work"/{crash,oom,timeout,leak}-*)
  local corpus=("$work"/found/*)
  cat "$work"/log-* | awk -v name="$name" -v seconds="$FUZZ_SECONDS" -v processes="$each" \
    -v corpus="${#corpus[@]}" -v broke="${#broke[@]}" '
    / cov: / { for (i = 1; i < NF; ++i) if ($i == "cov:" && $(i + 1) > edges) edges = $(i + 1) }
    /^stat::number_of_executed_units:/ { runs += $2 }
    END { printf "{\"target\": \"%s\", \"seconds\": %d, \"processes\": %d, \"executions\": %.0f, ",
                 name, seconds, processes, runs
          printf "\"executions_per_second\": %.0f, \"edges\": %d, ", runs / (seconds ? seconds : 1), edges
          printf "\"corpus\": %d, \"broke\": %d}\n", corpus, broke }'
}

each=$((workers / ${#targets[@]}))
[ $each -ge 1 ] || each=1
for target in "${targets[@]}"; do  # what broke it last time is tried first
  work=$FUZZ_OUT/$(basename "$target" _fuzz)
  mkdir -p "$work/found"
  rm -f "$work"/log-*
  earlier=("$work"/{crash,oom,timeout,leak}-*)
  [ ${#earlier[@]} -eq 0 ] || mv "${earlier[@]}" "$work/found"
done
for target in "${targets[@]}"; do
  for ((number = 1; number <= each; ++number)); do printf '%s\0%s\0' "$target" $number; done
done | xargs -0 -n 2 -P "$workers" bash -c 'run_one "$1" "$2"' _

lines=()
for target in "${targets[@]}"; do lines+=("$(summary_of "$(basename "$target" _fuzz)")"); done
{
  echo "["
  printf '%s\n' "${lines[@]}" | sed '$!s/$/,/'
  echo "]"
} >"$FUZZ_OUT/summary.json"
printf '%s\n' "${lines[@]}" | awk -F'[:,}]' '
  BEGIN { printf "%-22s %14s %8s %7s %7s %6s\n", "target", "executions", "per s", "edges", "corpus", "broke" }
  { gsub(/[" ]/, "", $2)
    printf "%-22s %14d %8d %7d %7d %6d\n", $2, $8, $10, $12, $14, $16
    bad += $16 }
  END { exit bad > 0 }' || {
  echo "error: what broke them lies in $FUZZ_OUT" >&2
  exit 1
}
